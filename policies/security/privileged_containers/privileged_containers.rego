# METADATA
# scope: package
# title: Containers must not be privileged
# description: |
#   A privileged container has every capability and every device of its node: who breaks out of it, or into it, owns the
#   node and all that runs there. Leave securityContext.privileged out, or set it to false, and add the single
#   capabilities that the program needs. The fix sets privileged to false. A program that does need the node fails then;
#   the canary finds that out, and is rolled back.
# organizations:
#   - platform-security
# related_resources:
#   - ref: https://evenkeel.dev/docs/policies/privileged-containers
#     description: Runbook
# custom:
#   id: privileged-containers
#   severity: Critical
#   admission: {action: Deny}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
#     excludedNamespaces: [kube-system]
#   remediation:
#     mode: DryRun
package evenkeel.security.privileged_containers

import data.evenkeel.lib.patch
import data.evenkeel.lib.pods
import rego.v1

deny contains {"msg": msg, "path": patch.pointer(array.concat(container.at, ["securityContext", "privileged"]))} if {
	some container in offenders
	msg := sprintf("%s is privileged: remove securityContext.privileged, or set it to false", [container.label])
}

remediation contains patch.action(ops) if {
	pods.rolled_out
	ops := {op |
		some container in offenders
		some op in patch.merge(input.pod, container.at, {"securityContext": {"privileged": false}})
	}
	count(ops) > 0
}

# Whatever isn't plainly "no" counts as privileged; a field that is absent or null is Kubernetes's "no".
offenders contains container if {
	some container in pods.containers
	not pods.own_security_setting(container, "privileged") in {false, null}
}
