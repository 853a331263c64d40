package podallowescalation

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

violation[{"msg": msg, "details": {}}] {
	c := containers[_]
	not exempt(c)
	escalates(c)
	msg := sprintf("privilege escalation is not allowed: %v", [c.name])
}

escalates(c) { not has_field(c, "securityContext") }
escalates(c) { has_field(c, "securityContext"); not c.securityContext.allowPrivilegeEscalation == false }

has_field(o, f) = true { o[f] }
