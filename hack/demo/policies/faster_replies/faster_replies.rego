# METADATA
# scope: package
# title: Replies are compressed by brotli
# description: |
#   A policy that does harm which no probe sees, for the demo: every pod stays ready, and requests fail all the same.
# organizations:
#   - platform-media
# related_resources:
#   - ref: https://evenkeel.dev/docs/demo/faster-replies
#     description: Runbook
# custom:
#   id: faster-replies
#   severity: Critical
#   admission: {action: Warn}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
#     namespaces: [media]
#   remediation:
#     mode: Automatic
#     strategyRef: {name: faster-replies}
package evenkeel.demo.faster_replies

import rego.v1

slow if input.pod.metadata.annotations.compression != "brotli"

deny contains {"msg": "replies aren't compressed by brotli", "path": "/metadata/annotations/compression"} if slow

remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/metadata/annotations/compression", "value": "brotli"}]} if {
	input.object.kind == "Deployment"
	slow
}
