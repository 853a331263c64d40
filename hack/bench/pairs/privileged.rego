package privileged

violation[{"msg": "privileged"}] { input.review.object.spec.containers[_].securityContext.privileged }
