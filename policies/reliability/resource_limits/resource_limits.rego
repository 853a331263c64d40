# METADATA
# scope: package
# title: Containers must request and limit CPU and memory
# description: |
#   Without requests the scheduler places pods blindly, and without limits one program starves its neighbours on the
#   node. Set requests and limits of cpu and memory for each container, or for the pod as a whole. A request that is
#   left out is the limit, as Kubernetes has it. Ephemeral containers can't have resources and are left out. The fix
#   adds the values of parameters.defaults where there is none, never changes one that is there, and is offered only if
#   it fixes the whole pod and no default limit is below a request that is already set. A default that is too small
#   for a program shows at the canary.
# organizations:
#   - platform-reliability
# related_resources:
#   - ref: https://evenkeel.dev/docs/policies/resource-limits
#     description: Runbook
# custom:
#   id: resource-limits
#   severity: Medium
#   admission: {action: Warn}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
#     excludedNamespaces: [kube-system]
#   parameters:
#     defaults:
#       requests: {cpu: 50m, memory: 64Mi}
#       limits: {cpu: 500m, memory: 512Mi}
#   remediation:
#     mode: DryRun
package evenkeel.reliability.resource_limits

import data.evenkeel.lib.patch
import data.evenkeel.lib.pods
import rego.v1

nouns := {"requests": "request", "limits": "limit"}

deny contains {"msg": msg, "path": path} if {
	some lack in lacks
	path := patch.pointer(array.concat(lack.container.at, ["resources", lack.sort, lack.resource]))
	msg := sprintf("%s has no %s %s: set resources.%s.%s", [
		lack.container.label,
		lack.resource,
		nouns[lack.sort],
		lack.sort,
		lack.resource,
	])
}

remediation contains patch.action(ops) if {
	pods.rolled_out
	every lack in lacks {
		curable(lack)
	}
	ops := {op |
		some container in resourced
		missing := additions(container)
		count(missing) > 0
		some op in patch.merge(input.pod, container.at, {"resources": missing})
	}
	count(ops) > 0
}

lacks contains {"container": container, "sort": sort, "resource": resource} if {
	some container in resourced
	some sort, resources in missing_amounts(container)
	some resource in resources
}

resourced contains container if {
	some container in pods.containers
	container.field != "ephemeralContainers"
}

# missing_amounts are the resources for which nothing holds, by sort. A container is asked for its own alone: the cost
# of the whole grows with the number of containers, no faster.
missing_amounts(container) := {sort: resources |
	some sort in ["requests", "limits"]
	resources := {resource | some resource in ["cpu", "memory"]; amount(container, sort, resource) == null}
	count(resources) > 0
}

# amount is what holds for the container: its own value, the pod's, for a request the limit, or null.
amount(container, sort, resource) := own(container, sort, resource) if {
	own(container, sort, resource) != null
} else := value if {
	value := stated(input.pod, ["spec", "resources", sort, resource])
	value != null
} else := amount_of_limit(container, resource) if {
	sort == "requests"
} else := null

amount_of_limit(container, resource) := own(container, "limits", resource) if {
	own(container, "limits", resource) != null
} else := stated(input.pod, ["spec", "resources", "limits", resource])

own(container, sort, resource) := stated(container.spec, ["resources", sort, resource])

# An empty text is no amount.
stated(holder, path) := value if {
	value := object.get(holder, path, null)
	value != ""
} else := null

# Where the request is lacking so is the limit, and a limit fixes both.
curable(lack) if default_amount("limits", lack.resource) >= requested(lack)

requested(lack) := 0 if {
	amount(lack.container, "requests", lack.resource) == null
} else := quantity(lack.resource, amount(lack.container, "requests", lack.resource))

default_amount(sort, resource) := quantity(resource, input.parameters.defaults[sort][resource])

additions(container) := {sort: values |
	some sort, resources in missing_amounts(container)
	values := {resource: input.parameters.defaults[sort][resource] | some resource in resources}
	count(values) > 0
}

# quantity reads the common spellings; it is undefined for the others, and what can't be compared isn't fixed.
quantity("cpu", text) := units.parse(sprintf("%v", [text])) if {
	regex.match(`^[0-9]+(\.[0-9]+)?m?$`, sprintf("%v", [text]))
}

quantity("memory", text) := units.parse_bytes(sprintf("%v", [text])) if {
	regex.match(`^[0-9]+(\.[0-9]+)?([KMGT]i|[kMGT])?$`, sprintf("%v", [text]))
}
