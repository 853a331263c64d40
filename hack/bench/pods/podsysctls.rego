package podsysctls

violation[{"msg": msg}] {
	sysctl := input.review.object.spec.securityContext.sysctls[_].name
	forbidden(sysctl)
	msg := sprintf("sysctl %v isn't allowed, forbidden are %v", [sysctl, input.parameters.forbidden])
}

forbidden(sysctl) { input.parameters.forbidden[_] == "*" }
forbidden(sysctl) { input.parameters.forbidden[_] == sysctl }

forbidden(sysctl) {
	pattern := input.parameters.forbidden[_]
	endswith(pattern, "*")
	startswith(sysctl, trim_suffix(pattern, "*"))
}
