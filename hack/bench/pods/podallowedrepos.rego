package podallowedrepos

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
	allowed := [good | repo := input.parameters.repos[_]; good := startswith(c.image, repo)]
	not any(allowed)
	msg := sprintf("container <%v> has an invalid image <%v>, allowed repositories are %v", [c.name, c.image, input.parameters.repos])
}
