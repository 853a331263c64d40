package review

type tree = map[string]any
