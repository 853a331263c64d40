package host

violation[{"msg": "host"}] { input.review.object.spec.hostPID }
violation[{"msg": "host"}] { input.review.object.spec.hostNetwork }
