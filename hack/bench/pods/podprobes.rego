package podprobes

probe_types := {type | type := input.parameters.probeTypes[_]}

violation[{"msg": msg}] {
	c := input.review.object.spec.containers[_]
	probe := input.parameters.probes[_]
	missing(c, probe)
	msg := sprintf("container <%v> of your %v <%v> has no <%v>", [c.name, input.review.kind.kind, input.review.object.metadata.name, probe])
}

missing(c, probe) { not c[probe] }

missing(c, probe) {
	fields := {f | c[probe][f]}
	count(probe_types - fields) == count(probe_types)
}
