package evenkeel.security.host_namespaces_test

import data.evenkeel.security.host_namespaces
import rego.v1

judged(kind, spec) := {"object": {"kind": kind}, "pod": {"spec": spec}}

test_a_pod_without_the_fields_is_clean if {
	every spec in [{}, {"hostNetwork": false, "hostPID": null}] {
		count(host_namespaces.deny) == 0 with input as judged("Deployment", spec)
		count(host_namespaces.remediation) == 0 with input as judged("Deployment", spec)
	}
}

test_each_namespace_is_a_violation_of_its_own if {
	every field, noun in {"hostNetwork": "network", "hostPID": "process", "hostIPC": "IPC"} {
		host_namespaces.deny == {{
			"msg": sprintf("the pod shares the node's %s namespace: remove %s, or set it to false", [noun, field]),
			"path": concat("/", ["/spec", field]),
		}} with input as judged("Pod", {field: true})
	}
}

test_a_value_of_the_wrong_type_is_no_pass if {
	count(host_namespaces.deny) == 1 with input as judged("Pod", {"hostPID": "no"})
}

test_the_fix_removes_the_fields if {
	host_namespaces.remediation == {{"action": "patch", "ops": [
		{"op": "remove", "path": "/spec/hostIPC"},
		{"op": "remove", "path": "/spec/hostNetwork"},
	]}} with input as judged("DaemonSet", {"hostNetwork": true, "hostIPC": true, "hostPID": false})
}

test_no_fix_for_a_bare_pod if {
	count(host_namespaces.remediation) == 0 with input as judged("Pod", {"hostNetwork": true})
}
