package podtolerations

violation[{"msg": msg}] {
	toleration := input.review.object.spec.tolerations[_]
	forbidden := input.parameters.forbidden[_]
	tolerates(toleration, forbidden)
	msg := sprintf("toleration %v isn't allowed", [json.marshal(toleration)])
}

tolerates(toleration, forbidden) {
	toleration.key == forbidden.key
	effect(toleration, forbidden)
}

tolerates(toleration, forbidden) {
	not toleration.key
	toleration.operator == "Exists"
	effect(toleration, forbidden)
}

effect(toleration, forbidden) { not toleration.effect }
effect(toleration, forbidden) { toleration.effect == forbidden.effect }
