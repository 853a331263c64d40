package podcapabilities

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
	has_disallowed(c)
	msg := sprintf("container <%v> has a disallowed capability, allowed are %v", [c.name, object.get(input.parameters, "allowed", [])])
}

violation[{"msg": msg}] {
	c := containers[_]
	not exempt(c)
	missing := missing_drops(c)
	count(missing) > 0
	msg := sprintf("container <%v> doesn't drop all of %v, missing are %v", [c.name, input.parameters.requiredDrop, missing])
}

has_disallowed(c) {
	allowed := {a | a := lower(input.parameters.allowed[_])}
	not allowed["*"]
	added := {a | a := lower(c.securityContext.capabilities.add[_])}
	count(added - allowed) > 0
}

missing_drops(c) = missing {
	dropped := {d | d := lower(c.securityContext.capabilities.drop[_])}
	all := {x | x := "all"; dropped.all}
	count(all) == 0
	missing := {d | d := lower(input.parameters.requiredDrop[_])} - dropped
}
