# METADATA
# scope: package
# title: Nobody opens a shell, a stream or a port into protected namespaces
# description: |
#   exec, attach, port-forward and the API server's proxy reach into a running Pod past its Service, its network
#   policies and its logs: what is done there stands in no manifest. Namespaces with the label of
#   match.namespaceSelector refuse all four. To look at a Pod there, read its logs, or name in parameters.groups who
#   may; the audit log of the API server says who did. Debugging with an ephemeral container is an update of the Pod,
#   which other policies judge.
# organizations:
#   - platform-security
# related_resources:
#   - ref: https://evenkeel.dev/docs/policies/no-exec
#     description: Runbook
# custom:
#   id: no-exec
#   severity: High
#   admission: {action: Deny, operations: [CONNECT]}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
#         subresources: [exec, attach, portforward, proxy]
#     namespaceSelector:
#       matchLabels:
#         evenkeel.dev/interactive-access: denied
#   parameters:
#     groups: []
package evenkeel.security.no_exec

import rego.v1

deny contains {"msg": msg} if {
	not allowed
	msg := sprintf(
		"%s into Pods of namespace %s is refused: read their logs, or ask to be let in through parameters.groups",
		[input.request.subResource, input.request.namespace],
	)
}

allowed if {
	some group in input.parameters.groups
	group in input.request.userInfo.groups
}
