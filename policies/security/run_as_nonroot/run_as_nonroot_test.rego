package evenkeel.security.run_as_nonroot_test

import data.evenkeel.security.run_as_nonroot
import rego.v1

good := {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}

judged(pod_context, container_context) := {
	"object": {"kind": "Deployment"},
	"pod": {"spec": {
		"securityContext": pod_context,
		"containers": [{"name": "app", "securityContext": container_context}],
	}},
}

paths := {violation.path | some violation in run_as_nonroot.deny}

ops := [op | some action in run_as_nonroot.remediation; some op in action.ops]

context_path := "/spec/containers/0/securityContext/"

test_settings_of_the_pod_or_the_container_are_clean if {
	paths == set() with input as judged(good, {})
	paths == set() with input as judged({}, good)
	paths == set() with input as judged({"runAsNonRoot": false, "runAsUser": 0}, object.union(good, {"runAsUser": 1}))
	paths == set() with input as judged(good, {"seccompProfile": {"type": "Localhost"}})
}

test_a_clean_pod_has_no_fix if ops == [] with input as judged(good, {})

test_missing_settings_are_two_violations_with_one_fix if {
	both := {concat("", [context_path, field]) | some field in ["runAsNonRoot", "seccompProfile"]}
	every context in [{}, null] {
		paths == both with input as judged(context, null)
	}
	ops == [{"op": "add", "path": "/spec/securityContext", "value": good}] with input as judged(null, null)
}

test_messages_name_the_container_and_the_fix if {
	run_as_nonroot.deny == {{
		"msg": `container "app" may run as root: set securityContext.runAsNonRoot to true for it or for the pod`,
		"path": concat("", [context_path, "runAsNonRoot"]),
	}} with input as judged({"seccompProfile": {"type": "RuntimeDefault"}}, {})
}

test_the_fix_touches_only_what_is_wrong if {
	ops == [{
		"op": "replace",
		"path": "/spec/securityContext/runAsNonRoot",
		"value": true,
	}] with input as judged(object.union(good, {"runAsNonRoot": false}), {})
	ops == [{
		"op": "replace",
		"path": "/spec/securityContext/seccompProfile/type",
		"value": "RuntimeDefault",
	}] with input as judged(object.union(good, {"seccompProfile": {"type": "Unconfined"}}), {})
}

test_a_wrong_setting_of_the_container_is_a_violation_without_fix if {
	every context in [{"runAsNonRoot": false}, {"runAsUser": 0}, {"seccompProfile": {"type": "Unconfined"}}] {
		count(paths) == 1 with input as judged(good, context)
		ops == [] with input as judged(good, context)
	}
}

test_user_0_of_the_pod_is_a_violation_without_fix if {
	paths == {concat("", [context_path, "runAsUser"])} with input as judged(object.union(good, {"runAsUser": 0}), {})
	ops == [] with input as judged({"runAsUser": 0}, {})
}

test_windows_needs_no_seccomp_profile if {
	paths == {concat("", [context_path, "runAsNonRoot"])} with input as judged({}, {})
		with input.pod.spec.os.name as "windows"
}

test_no_fix_for_a_bare_pod if {
	ops == [] with input as judged({}, {}) with input.object.kind as "Pod"
}
