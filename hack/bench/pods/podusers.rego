package podusers

containers[c] { c := input.review.object.spec.containers[_] }
containers[c] { c := input.review.object.spec.initContainers[_] }
containers[c] { c := input.review.object.spec.ephemeralContainers[_] }

exempt(c) {
	image := object.get(input, ["parameters", "exemptImages"], [])[_]
	matches_image(image, c.image)
}

matches_image(pattern, image) {
	not endswith(pattern, "*")
	image == pattern
}

matches_image(pattern, image) {
	endswith(pattern, "*")
	startswith(image, trim_suffix(pattern, "*"))
}

violation[{"msg": msg}] {
	field := ["runAsUser", "runAsGroup"][_]
	c := containers[_]
	not exempt(c)
	id := id_of(field, c)
	not in_ranges(input.parameters[field], id)
	msg := sprintf("container %v runs with %v %v, allowed are %v", [c.name, field, id, input.parameters[field].ranges])
}

violation[{"msg": msg}] {
	c := containers[_]
	not exempt(c)
	not non_root(c)
	not id_of("runAsUser", c)
	msg := sprintf("container %v has neither runAsUser nor runAsNonRoot", [c.name])
}

id_of(field, c) = id { id := c.securityContext[field] }

id_of(field, c) = id {
	not has(c, field)
	id := input.review.object.spec.securityContext[field]
}

has(c, field) { _ = c.securityContext[field] }

non_root(c) { c.securityContext.runAsNonRoot }
non_root(c) { input.review.object.spec.securityContext.runAsNonRoot }

in_ranges(rule, id) {
	range := rule.ranges[_]
	range.min <= id
	range.max >= id
}
