package podhostnetwork

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
	uses_host_network(input.review.object.spec)
	msg := sprintf("pod %v uses the host's network or a host port that isn't between %v and %v", [input.review.object.metadata.name, input.parameters.min, input.parameters.max])
}

uses_host_network(spec) {
	not input.parameters.hostNetwork
	spec.hostNetwork
}

uses_host_network(spec) {
	port := containers[_].ports[_].hostPort
	port < input.parameters.min
}

uses_host_network(spec) {
	port := containers[_].ports[_].hostPort
	port > input.parameters.max
}
