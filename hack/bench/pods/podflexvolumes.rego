package podflexvolumes

violation[{"msg": msg}] {
	volume := flex_volumes[_]
	not allowed(volume)
	msg := sprintf("FlexVolume %v isn't allowed, allowed drivers are %v", [volume.name, input.parameters.drivers])
}

flex_volumes[v] {
	v := input.review.object.spec.volumes[_]
	v.flexVolume
}

allowed(volume) { input.parameters.drivers[_].driver == volume.flexVolume.driver }
