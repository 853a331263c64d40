package evenkeel.reliability.resource_limits_test

import data.evenkeel.reliability.resource_limits
import rego.v1

full := {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": 1, "memory": "1Gi"}}

parameters := {"defaults": {
	"requests": {"cpu": "50m", "memory": "64Mi"},
	"limits": {"cpu": "500m", "memory": "512Mi"},
}}

judged(resources) := {
	"object": {"kind": "Deployment"},
	"parameters": parameters,
	"pod": {"spec": {"containers": [{"name": "app", "resources": resources}]}},
}

paths := {trim_prefix(violation.path, "/spec/containers/0/resources/") | some violation in resource_limits.deny}

ops := [op | some action in resource_limits.remediation; some op in action.ops]

test_a_full_set_is_clean if {
	paths == set() with input as judged(full)
	ops == [] with input as judged(full)
}

test_nothing_at_all_is_four_violations_and_one_operation if {
	paths == {"requests/cpu", "requests/memory", "limits/cpu", "limits/memory"} with input as judged({})
	ops == [{
		"op": "add",
		"path": "/spec/containers/0/resources",
		"value": parameters.defaults,
	}] with input as judged(null)
}

test_null_and_the_empty_text_are_no_amount if {
	every amount in [null, ""] {
		paths == {"limits/cpu"} with input as judged(json.patch(full, [{
			"op": "replace",
			"path": "/limits/cpu",
			"value": amount,
		}]))
	}
}

test_a_violation_names_what_to_set if {
	resource_limits.deny == {{
		"msg": `container "app" has no memory limit: set resources.limits.memory`,
		"path": "/spec/containers/0/resources/limits/memory",
	}} with input as judged(json.remove(full, ["limits/memory"]))
}

test_a_missing_request_is_the_limit if paths == set() with input as judged(json.remove(full, ["requests"]))

test_the_pods_own_resources_count if {
	paths == set() with input as judged({}) with input.pod.spec.resources as full
	paths == set() with input as judged({}) with input.pod.spec.resources as json.remove(full, ["requests"])
}

test_ephemeral_containers_are_left_out if {
	paths == set() with input as judged(full) with input.pod.spec.ephemeralContainers as [{"name": "debug"}]
}

test_the_fix_adds_only_what_is_missing if {
	ops == [{
		"op": "add",
		"path": "/spec/containers/0/resources/limits",
		"value": {"memory": "512Mi"},
	}] with input as judged({"requests": {"cpu": "50m", "memory": "64Mi"}})
		with input.pod.spec.resources as {"limits": {"cpu": "2"}}
}

test_the_fix_keeps_silent_of_requests_without_default if {
	ops == [{
		"op": "add",
		"path": "/spec/containers/0/resources/limits",
		"value": {"cpu": "500m", "memory": "512Mi"},
	}] with input as judged({"requests": {}})
		with input.parameters as {"defaults": {"limits": parameters.defaults.limits}}
}

test_no_fix_without_a_default_limit if {
	ops == [] with input as judged({}) with input.parameters as {}
	ops == [] with input as judged({}) with input.parameters as {"defaults": {"requests": parameters.defaults.requests}}
}

test_no_fix_below_a_request if {
	ops == [] with input as judged({"requests": {"cpu": "2"}})
	ops == [] with input as judged({"requests": {"memory": "1Gi"}})
}

test_no_fix_where_the_request_can_not_be_compared if {
	ops == [] with input as judged({"requests": {"cpu": "1e1"}})
	ops == [] with input as judged({"requests": {"memory": "1000m"}})
}

test_no_fix_for_a_bare_pod if ops == [] with input as judged({}) with input.object.kind as "Pod"
