package validation

type tree = map[string]any
