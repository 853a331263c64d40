# METADATA
# scope: package
# title: Images must come from an allowed registry
# description: |
#   What runs in the cluster must come from a registry that scans, signs and keeps what it serves. Name images by a
#   registry of parameters.registries, each a host or a host with a path; nginx stands for docker.io/library/nginx.
#   While the list is empty no image is allowed. The fix rewrites an image only where parameters.mirrors maps the start
#   of its name to the same content elsewhere, and only if that fixes the whole pod: Evenkeel can't know whether two
#   registries hold the same image, you can.
# organizations:
#   - platform-supply-chain
# related_resources:
#   - ref: https://evenkeel.dev/docs/policies/allowed-registries
#     description: Runbook
# custom:
#   id: allowed-registries
#   severity: High
#   admission: {action: Deny}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
#     excludedNamespaces: [kube-system]
#   parameters:
#     registries: [registry.k8s.io, registry.example.com]
#     mirrors: {}
#   remediation:
#     mode: DryRun
package evenkeel.supplychain.allowed_registries

import data.evenkeel.lib.images
import data.evenkeel.lib.patch
import data.evenkeel.lib.pods
import rego.v1

deny contains {"msg": msg, "path": patch.pointer(image_path(container))} if {
	some container in offenders
	msg := sprintf("%s uses image %q, which no allowed registry serves: use one of [%s]", [
		container.label,
		image(container),
		concat(", ", registries),
	])
}

remediation contains patch.action(ops) if {
	pods.rolled_out
	count(offenders) > 0
	every container in offenders {
		mirrored(image(container))
	}
	ops := {op |
		some container in offenders
		op := {"op": "replace", "path": patch.pointer(image_path(container)), "value": mirrored(image(container))}
	}
}

offenders contains container if {
	some container in pods.containers
	not allowed(image(container))
}

image(container) := object.get(container.spec, "image", "")

image_path(container) := array.concat(container.at, ["image"])

allowed(reference) if {
	some registry in registries
	images.within(images.parse(reference).name, registry)
}

# mirrored is the same image by its mirror's name. The longest prefix decides.
mirrored(reference) := copy if {
	parts := images.parse(reference)
	longest := max({[count(prefix), prefix] | some prefix, _ in mirrors; images.within(parts.name, prefix)})[1]
	rest := trim_prefix(parts.name, trim_suffix(longest, "/"))
	copy := concat("", [trim_suffix(mirrors[longest], "/"), rest, images.suffix(parts)])
	allowed(copy)
}

registries := object.get(input.parameters, "registries", [])

mirrors := object.get(input.parameters, "mirrors", {})
