# METADATA
# scope: package
# title: No privileged containers
# organizations:
#   - bench
# related_resources:
#   - ref: https://example.com/bench-privileged
# custom:
#   id: bench-privileged
#   severity: High
#   admission: {action: Deny}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
package bench.bench_privileged

import rego.v1

deny contains {"msg": msg, "path": path} if {
	some list in ["containers", "initContainers"]
	some i, container in input.pod.spec[list]
	container.securityContext.privileged == true
	path := sprintf("/spec/%s/%d/securityContext/privileged", [list, i])
	msg := sprintf("%s %s/%s: container %s is privileged", [input.object.kind, input.object.metadata.namespace, input.object.metadata.name, container.name])
}
