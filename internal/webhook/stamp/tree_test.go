package stamp

type tree = map[string]any
