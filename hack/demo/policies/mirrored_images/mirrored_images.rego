# METADATA
# scope: package
# title: Images come through the mirror
# description: |
#   A policy that does harm, for the demo: the rule reads well and its fix is valid, but the mirror has none of the
#   images, so that pods never become ready after the fix. (The local control plane keeps pods unready whose image has
#   "unready" as a part of its path.)
# organizations:
#   - platform-supply-chain
# related_resources:
#   - ref: https://evenkeel.dev/docs/demo/mirrored-images
#     description: Runbook
# custom:
#   id: mirrored-images
#   severity: Medium
#   admission: {action: Warn}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
#     namespaces: [media, payments, search, shop]
#   remediation:
#     mode: Automatic
#     strategyRef: {name: mirrored-images}
package evenkeel.demo.mirrored_images

import rego.v1

registry := "docker.example.com/"

mirror := "mirror.example.com/unready/"

deny contains {"msg": msg, "path": sprintf("/spec/containers/%d/image", [i])} if {
	some i, container in unmirrored
	msg := sprintf("image %s isn't pulled through the mirror: use %s", [container.image, mirrored(container.image)])
}

remediation contains {"action": "patch", "ops": ops} if {
	input.object.kind == "Deployment"
	count(unmirrored) > 0
	ops := [op |
		some i, container in unmirrored
		path := sprintf("/spec/containers/%d/image", [i])
		op := {"op": "replace", "path": path, "value": mirrored(container.image)}
	]
}

unmirrored[i] := container if {
	some i, container in input.pod.spec.containers
	startswith(container.image, registry)
}

mirrored(image) := concat("", [mirror, trim_prefix(image, registry)])
