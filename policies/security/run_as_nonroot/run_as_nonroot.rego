# METADATA
# scope: package
# title: Containers must run as non-root under a seccomp profile
# description: |
#   A process that is root in its container is root for the kernel too, and without a seccomp profile it may try every
#   system call there is: most ways out of a container begin so. Set runAsNonRoot to true and seccompProfile.type to
#   RuntimeDefault (or Localhost) for the pod, or for each container, and let no container run as user 0. Windows pods
#   need no seccomp profile. The fix sets the pod's fields, where every offending container takes them from the pod. A
#   container with a wrong setting of its own, and user 0, are somebody's choice that only its owner can change. An
#   image that runs as root doesn't start after the fix; the canary finds that out, and is rolled back.
# organizations:
#   - platform-security
# related_resources:
#   - ref: https://evenkeel.dev/docs/policies/run-as-nonroot
#     description: Runbook
# custom:
#   id: run-as-nonroot
#   severity: High
#   admission: {action: Deny}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
#     excludedNamespaces: [kube-system]
#   remediation:
#     mode: DryRun
package evenkeel.security.run_as_nonroot

import data.evenkeel.lib.patch
import data.evenkeel.lib.pods
import rego.v1

resolves := {
	"runAsNonRoot": {"runAsNonRoot": true},
	"seccompProfile": {"seccompProfile": {"type": "RuntimeDefault"}},
}

deny contains {"msg": msg, "path": path} if {
	some offence in offences
	msg := sprintf("%s %s", [offence.container.label, offence.msg])
	path := patch.pointer(array.concat(offence.container.at, ["securityContext", offence.field]))
}

remediation contains patch.action(patch.merge(input.pod, ["spec"], {"securityContext": fields})) if {
	pods.rolled_out
	count(offences) > 0
	every offence in offences {
		curable(offence)
	}
	fields := object.union_n([resolves[offence.field] | some offence in offences])
}

curable(offence) if {
	offence.field in object.keys(resolves)
	pods.own_security_setting(offence.container, offence.field) == null
}

offences contains {"container": container, "field": "runAsNonRoot", "msg": msg} if {
	some container in pods.containers
	pods.security_setting(container, "runAsNonRoot") != true
	msg := "may run as root: set securityContext.runAsNonRoot to true for it or for the pod"
}

offences contains {"container": container, "field": "runAsUser", "msg": msg} if {
	some container in pods.containers
	pods.security_setting(container, "runAsUser") == 0
	msg := "runs as user 0, which is root: set securityContext.runAsUser to another user, or leave it to the image"
}

offences contains {"container": container, "field": "seccompProfile", "msg": msg} if {
	not pods.windows
	some container in pods.containers
	not confined(container)
	msg := "has no seccomp profile: set securityContext.seccompProfile.type to RuntimeDefault for it or for the pod"
}

confined(container) if {
	pods.security_setting(container, "seccompProfile").type in {"RuntimeDefault", "Localhost"}
}
