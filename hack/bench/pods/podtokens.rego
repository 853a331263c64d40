package podtokens

violation[{"msg": msg}] {
	obj := input.review.object
	mounts(obj.spec)
	msg := sprintf("automounting of a service account token isn't allowed, pod: %v", [obj.metadata.name])
}

mounts(spec) { spec.automountServiceAccountToken == true }

mounts(spec) {
	not has_key(spec, "automountServiceAccountToken")
	"/var/run/secrets/kubernetes.io/serviceaccount" == spec.containers[_].volumeMounts[_].mountPath
}

has_key(x, k) { _ = x[k] }
