package evenkeel.security.privileged_containers_test

import data.evenkeel.security.privileged_containers
import rego.v1

judged(kind, container) := {"object": {"kind": kind}, "pod": {"spec": {"initContainers": [container]}}}

test_a_container_without_the_field_is_clean if {
	every context in [{}, null, {"privileged": null}] {
		container := {"securityContext": context}
		count(privileged_containers.deny) == 0 with input as judged("Pod", container)
		count(privileged_containers.remediation) == 0 with input as judged("Deployment", container)
	}
}

test_false_and_no_context_are_clean if {
	count(privileged_containers.deny) == 0 with input as judged("Pod", {})
	count(privileged_containers.deny) == 0 with input as judged("Pod", {"securityContext": {"privileged": false}})
}

test_a_privileged_container_is_named_with_its_path if {
	privileged_containers.deny == {{
		"msg": `init container "a" is privileged: remove securityContext.privileged, or set it to false`,
		"path": "/spec/initContainers/0/securityContext/privileged",
	}} with input as judged("Pod", {"name": "a", "securityContext": {"privileged": true}})
}

test_a_value_of_the_wrong_type_is_no_pass if {
	count(privileged_containers.deny) == 1 with input as judged("Pod", {"securityContext": {"privileged": "false"}})
}

test_the_fix_sets_false if {
	privileged_containers.remediation == {{"action": "patch", "ops": [{
		"op": "replace",
		"path": "/spec/initContainers/0/securityContext/privileged",
		"value": false,
	}]}} with input as judged("Deployment", {"securityContext": {"privileged": true}})
}

test_no_fix_for_a_bare_pod if {
	count(privileged_containers.remediation) == 0 with input as judged("Pod", {"securityContext": {"privileged": true}})
}
