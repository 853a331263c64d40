package podenvironment

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
	env := c.env[_]
	secret_name(env.name)
	env.value
	msg := sprintf("variable %v of container %v looks like a secret: take it from a Secret", [env.name, c.name])
}

secret_name(name) {
	pattern := input.parameters.patterns[_]
	contains(upper(name), pattern)
}
