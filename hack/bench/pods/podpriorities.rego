package podpriorities

violation[{"msg": msg}] {
	class := input.review.object.spec.priorityClassName
	not allowed(class)
	msg := sprintf("priority class %v isn't for namespace %v", [class, input.review.namespace])
}

allowed(class) {
	rule := input.parameters.classes[_]
	rule.name == class
	glob(rule.namespaces[_], input.review.namespace)
}

glob(pattern, name) { pattern == name }

glob(pattern, name) {
	endswith(pattern, "*")
	startswith(name, trim_suffix(pattern, "*"))
}
