# METADATA
# scope: package
# title: Pods must not use the node's namespaces
# description: |
#   With hostNetwork, hostPID or hostIPC a pod leaves its isolation: it reaches the node's own network and so evades
#   network policies, sees and signals the node's processes, or reads other programs' shared memory. Leave the three
#   fields out. The fix removes them. An agent that does need the node fails then; the canary finds that out, and is
#   rolled back.
# organizations:
#   - platform-security
# related_resources:
#   - ref: https://evenkeel.dev/docs/policies/host-namespaces
#     description: Runbook
# custom:
#   id: host-namespaces
#   severity: Critical
#   admission: {action: Deny}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
#     excludedNamespaces: [kube-system]
#   remediation:
#     mode: DryRun
package evenkeel.security.host_namespaces

import data.evenkeel.lib.patch
import data.evenkeel.lib.pods
import rego.v1

namespaces := {
	"hostNetwork": "network",
	"hostPID": "process",
	"hostIPC": "IPC",
}

deny contains {"msg": msg, "path": patch.pointer(["spec", field])} if {
	some field in shared
	msg := sprintf("the pod shares the node's %s namespace: remove %s, or set it to false", [namespaces[field], field])
}

remediation contains patch.action({patch.remove(["spec", field]) | some field in shared}) if {
	pods.rolled_out
	count(shared) > 0
}

# Whatever isn't plainly "no" counts as shared; a field that is absent or null is Kubernetes's "no".
shared contains field if {
	some field, _ in namespaces
	not object.get(input.pod, ["spec", field], false) in {false, null}
}
