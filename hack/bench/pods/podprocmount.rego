package podprocmount

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
	mount := object.get(c, ["securityContext", "procMount"], "Default")
	lower(mount) != lower(input.parameters.procMount)
	msg := sprintf("container <%v> has procMount <%v>, allowed is %v", [c.name, mount, input.parameters.procMount])
}
