package podseccomp

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
	profile := profile_of(c)
	not allowed(profile)
	msg := sprintf("seccomp profile <%v> of container <%v> isn't allowed, allowed are %v", [profile, c.name, input.parameters.profiles])
}

profile_of(c) = profile { profile := c.securityContext.seccompProfile.type }

profile_of(c) = profile {
	not c.securityContext.seccompProfile.type
	profile := input.review.object.spec.securityContext.seccompProfile.type
}

profile_of(c) = profile {
	not c.securityContext.seccompProfile.type
	not input.review.object.spec.securityContext.seccompProfile.type
	profile := object.get(input.review.object.metadata, ["annotations", sprintf("container.seccomp.security.alpha.kubernetes.io/%v", [c.name])], "none")
}

allowed(profile) { input.parameters.profiles[_] == profile }
