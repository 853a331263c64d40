package podfsgroup

violation[{"msg": msg}] {
	group := input.review.object.spec.securityContext.fsGroup
	not in_ranges(group)
	msg := sprintf("fsGroup %v isn't in %v", [group, input.parameters.ranges])
}

in_ranges(group) {
	range := input.parameters.ranges[_]
	group >= range.min
	group <= range.max
}
