# METADATA
# scope: package
# title: Memory has a limit
# organizations:
#   - bench
# related_resources:
#   - ref: https://example.com/bench-memory-limit
# custom:
#   id: bench-memory-limit
#   severity: High
#   admission: {action: Deny}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
package bench.bench_memory_limit

import rego.v1

deny contains {"msg": msg, "path": path} if {
	some list in ["containers", "initContainers"]
	some i, container in input.pod.spec[list]
	not container.resources.limits.memory
	path := sprintf("/spec/%s/%d/resources", [list, i])
	msg := sprintf("%s %s/%s: container %s has no memory limit", [input.object.kind, input.object.metadata.namespace, input.object.metadata.name, container.name])
}
