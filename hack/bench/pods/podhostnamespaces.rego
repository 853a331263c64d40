package podhostnamespaces

violation[{"msg": msg}] {
	shares(input.review.object.spec)
	msg := sprintf("pod %v must not share the host's process or IPC namespace", [input.review.object.metadata.name])
}

shares(spec) { spec.hostPID }
shares(spec) { spec.hostIPC }
