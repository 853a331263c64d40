package memory

violation[{"msg": "memory"}] {
	c := input.review.object.spec.containers[_]
	not c.resources.limits.memory
}
