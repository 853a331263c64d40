# METADATA
# scope: package
# title: No host network
# organizations:
#   - bench
# related_resources:
#   - ref: https://example.com/bench-host-network
# custom:
#   id: bench-host-network
#   severity: High
#   admission: {action: Deny}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
package bench.bench_host_network

import rego.v1

deny contains {"msg": msg, "path": "/spec/hostNetwork"} if {
	input.pod.spec.hostNetwork == true
	msg := sprintf("%s %s/%s: it shares the host's network", [input.object.kind, input.object.metadata.namespace, input.object.metadata.name])
}
