package evenkeel.security.readonly_root_filesystem_test

import data.evenkeel.security.readonly_root_filesystem
import rego.v1

mounted(mount) := {
	"object": {"kind": "Deployment"},
	"parameters": {"scratchPaths": ["/tmp/"]},
	"pod": {"spec": {
		"volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "settings", "configMap": {"name": "settings"}}],
		"containers": [{"name": "app", "volumeMounts": [mount]}],
	}},
}

scratch := {"name": "scratch", "mountPath": "/tmp"}

ops := [op | some action in readonly_root_filesystem.remediation; some op in action.ops]

test_only_true_is_clean if {
	every value in [false, null, "true"] {
		count(readonly_root_filesystem.deny) == 1 with input as mounted(scratch)
			with input.pod.spec.containers as [{"securityContext": {"readOnlyRootFilesystem": value}}]
	}
	count(readonly_root_filesystem.deny) == 0 with input as mounted(scratch)
		with input.pod.spec.containers as [{"securityContext": {"readOnlyRootFilesystem": true}}]
}

test_the_pods_context_does_not_count if {
	count(readonly_root_filesystem.deny) == 1 with input as mounted(scratch)
		with input.pod.spec.securityContext as {"readOnlyRootFilesystem": true}
}

test_a_violation_names_the_container_and_the_fix if {
	readonly_root_filesystem.deny == {{
		"msg": `container "app" can write to its root file system: set securityContext.readOnlyRootFilesystem to true`,
		"path": "/spec/containers/0/securityContext/readOnlyRootFilesystem",
	}} with input as mounted(scratch)
}

test_windows_is_left_out if {
	count(readonly_root_filesystem.deny) == 0 with input as mounted(scratch) with input.pod.spec.os.name as "windows"
}

test_a_fix_where_the_scratch_path_is_writable if {
	ops == [{
		"op": "add",
		"path": "/spec/containers/0/securityContext",
		"value": {"readOnlyRootFilesystem": true},
	}] with input as mounted(scratch)
}

test_no_fix_where_it_is_not if {
	every mount in [
		{"name": "scratch", "mountPath": "/var/tmp"},
		{"name": "scratch", "mountPath": "/tmp", "readOnly": true},
		{"name": "settings", "mountPath": "/tmp"},
	] {
		ops == [] with input as mounted(mount)
	}
}

test_no_fix_without_the_parameter if ops == [] with input as mounted(scratch) with input.parameters as {}

test_no_fix_when_one_container_of_two_can_write_nowhere if {
	ops == [] with input as mounted(scratch) with input.pod.spec.initContainers as [{"name": "init"}]
}

test_no_fix_for_a_bare_pod if ops == [] with input as mounted(scratch) with input.object.kind as "Pod"
