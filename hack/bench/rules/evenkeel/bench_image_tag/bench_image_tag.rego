# METADATA
# scope: package
# title: No image by the tag latest, or by none
# organizations:
#   - bench
# related_resources:
#   - ref: https://example.com/bench-image-tag
# custom:
#   id: bench-image-tag
#   severity: High
#   admission: {action: Deny}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
package bench.bench_image_tag

import rego.v1

deny contains {"msg": msg, "path": path} if {
	some list in ["containers", "initContainers"]
	some i, container in input.pod.spec[list]
	floats(container.image)
	path := sprintf("/spec/%s/%d/image", [list, i])
	msg := sprintf("%s %s/%s: container %s floats: %s", [input.object.kind, input.object.metadata.namespace, input.object.metadata.name, container.name, container.image])
}

floats(image) if endswith(image, ":latest")

floats(image) if not contains(image, ":")
