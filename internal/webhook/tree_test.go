package webhook

type tree = map[string]any
