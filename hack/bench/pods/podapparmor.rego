package podapparmor

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
	msg := sprintf("AppArmor profile %v of container %v isn't allowed, allowed are %v", [profile, c.name, input.parameters.profiles])
}

profile_of(c) = out { out := input.review.object.metadata.annotations[sprintf("container.apparmor.security.beta.kubernetes.io/%v", [c.name])] }

profile_of(c) = out {
	not input.review.object.metadata.annotations[sprintf("container.apparmor.security.beta.kubernetes.io/%v", [c.name])]
	out := "runtime/default"
}

allowed(profile) { input.parameters.profiles[_] == profile }
