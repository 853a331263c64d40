package podephemeralstorage

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
	c := containers[_]
	not exempt(c)
	not c.resources.limits["ephemeral-storage"]
	msg := sprintf("container <%v> has no ephemeral-storage limit", [c.name])
}

violation[{"msg": msg}] {
	c := containers[_]
	not exempt(c)
	size := units.parse_bytes(c.resources.limits["ephemeral-storage"])
	size > units.parse_bytes(input.parameters.most)
	msg := sprintf("container <%v> may use %v of ephemeral storage, the most is %v", [c.name, c.resources.limits["ephemeral-storage"], input.parameters.most])
}
