package podports

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
	some i, j
	all := [p | c := containers[_]; p := {"container": c.name, "port": c.ports[_]}]
	a := all[i]
	b := all[j]
	i < j
	a.port.containerPort == b.port.containerPort
	object.get(a.port, "protocol", "TCP") == object.get(b.port, "protocol", "TCP")
	msg := sprintf("containers %v and %v both listen on %v", [a.container, b.container, a.port.containerPort])
}

violation[{"msg": msg}] {
	c := containers[_]
	not exempt(c)
	port := c.ports[_]
	port.containerPort < 1024
	msg := sprintf("container %v listens on the privileged port %v", [c.name, port.containerPort])
}
