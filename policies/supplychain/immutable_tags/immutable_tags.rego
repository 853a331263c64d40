# METADATA
# scope: package
# title: Images must have a fixed tag or a digest
# description: |
#   An image without a tag, or with a tag that moves, is another program tomorrow: nodes run different versions, a roll
#   back brings back nothing, and nobody can say what ran. Give a digest, or a tag that isn't moved: neither latest nor
#   one of parameters.floatingTags. There is no fix: which version the workload needs isn't written anywhere in the
#   object, and a guess would be a change of version that nobody tested.
# organizations:
#   - platform-supply-chain
# related_resources:
#   - ref: https://evenkeel.dev/docs/policies/immutable-tags
#     description: Runbook
# custom:
#   id: immutable-tags
#   severity: Medium
#   admission: {action: Warn}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
#     excludedNamespaces: [kube-system]
#   parameters:
#     floatingTags: [stable, main, master, edge, nightly]
package evenkeel.supplychain.immutable_tags

import data.evenkeel.lib.images
import data.evenkeel.lib.patch
import data.evenkeel.lib.pods
import rego.v1

deny contains {"msg": msg, "path": patch.pointer(array.concat(container.at, ["image"]))} if {
	some container in pods.containers
	image := object.get(container.spec, "image", "")
	not fixed(image)
	msg := sprintf("%s uses image %q, which can change under its name: give a version tag or a digest", [
		container.label,
		image,
	])
}

fixed(image) if images.parse(image).digest != ""

fixed(image) if {
	tag := images.parse(image).tag
	tag != ""
	not tag in floating_tags
}

floating_tags contains "latest"

floating_tags contains tag if some tag in input.parameters.floatingTags
