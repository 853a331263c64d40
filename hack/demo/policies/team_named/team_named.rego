# METADATA
# scope: package
# title: Pods name their team
# description: |
#   A policy whose fix waits for a person, for the demo: who is on call is found by the label.
# organizations:
#   - platform-search
# related_resources:
#   - ref: https://evenkeel.dev/docs/demo/team-named
#     description: Runbook
# custom:
#   id: team-named
#   severity: High
#   admission: {action: Warn}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
#     namespaces: [search]
#   remediation:
#     mode: Manual
#     strategyRef: {name: team-named}
package evenkeel.demo.team_named

import rego.v1

unnamed if not input.pod.metadata.labels.team

deny contains {"msg": "the label team is missing: name who is on call", "path": "/metadata/labels"} if unnamed

remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/metadata/labels/team", "value": "search"}]} if {
	input.object.kind == "Deployment"
	unnamed
}
