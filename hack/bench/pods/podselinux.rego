package podselinux

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
	options := options_of(c)
	not allowed(options)
	msg := sprintf("SELinux options %v of container %v aren't allowed", [options, c.name])
}

options_of(c) = o { o := c.securityContext.seLinuxOptions }

options_of(c) = o {
	not c.securityContext.seLinuxOptions
	o := input.review.object.spec.securityContext.seLinuxOptions
}

allowed(options) {
	wanted := input.parameters.allowed[_]
	wrong := {k | v := options[k]; wanted[k] != v}
	count(wrong) == 0
}
