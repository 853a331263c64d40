package poddisallowedtags

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
	bad := [true | tag := input.parameters.tags[_]; endswith(c.image, concat(":", ["", tag]))]
	any(bad)
	msg := sprintf("container <%v> uses a disallowed tag <%v>, disallowed are %v", [c.name, c.image, input.parameters.tags])
}

violation[{"msg": msg}] {
	c := containers[_]
	not exempt(c)
	not contains(c.image, "@")
	parts := split(c.image, "/")
	last := parts[count(parts) - 1]
	not contains(last, ":")
	msg := sprintf("container <%v> uses an image without a tag <%v>", [c.name, c.image])
}
