package podvolumetypes

violation[{"msg": msg}] {
	types := {type | input.review.object.spec.volumes[_][type]; type != "name"}
	type := types[_]
	not allowed(type)
	msg := sprintf("volume type %v isn't allowed, allowed are %v", [type, input.parameters.volumes])
}

allowed(type) { input.parameters.volumes[_] == "*" }
allowed(type) { input.parameters.volumes[_] == type }
