package podhostfilesystem

violation[{"msg": msg}] {
	volume := host_volumes[_]
	allowed_paths := object.get(input.parameters, "allowedHostPaths", [])
	forbidden(allowed_paths, volume)
	msg := sprintf("hostPath volume %v isn't allowed, allowed are %v", [volume.name, allowed_paths])
}

host_volumes[v] {
	v := input.review.object.spec.volumes[_]
	v.hostPath
}

forbidden(allowed, volume) { count(allowed) == 0 }

forbidden(allowed, volume) {
	count(allowed) > 0
	not permitted(allowed, volume)
}

permitted(allowed, volume) {
	path := allowed[_]
	prefix_of(path.pathPrefix, volume.hostPath.path)
	not writes(path, volume)
}

writes(path, volume) {
	path.readOnly
	mount := input.review.object.spec.containers[_].volumeMounts[_]
	mount.name == volume.name
	not mount.readOnly
}

prefix_of(prefix, path) {
	a := split(trim(prefix, "/"), "/")
	b := split(trim(path, "/"), "/")
	count(a) <= count(b)
	same := [i | a[i] == b[i]]
	count(same) == count(a)
}
