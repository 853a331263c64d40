# METADATA
# scope: package
# title: Containers must have a read-only root file system
# description: |
#   Who gets into a container can't change its program, or bring tools along, when its root file system is read-only.
#   Set securityContext.readOnlyRootFilesystem to true and mount an emptyDir wherever the program writes. Windows pods
#   can't have this and are left out. The fix sets the field. Nobody can read from a manifest where a program writes, so
#   the fix is offered only where each offending container already mounts writable volumes at all of
#   parameters.scratchPaths, which shows that its author thought of it; without the parameter there is no fix. What
#   breaks all the same, the canary finds out, and it is rolled back.
# organizations:
#   - platform-security
# related_resources:
#   - ref: https://evenkeel.dev/docs/policies/readonly-root-filesystem
#     description: Runbook
# custom:
#   id: readonly-root-filesystem
#   severity: Medium
#   admission: {action: Warn}
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
#     excludedNamespaces: [kube-system]
#   parameters:
#     scratchPaths: [/tmp]
#   remediation:
#     mode: DryRun
package evenkeel.security.readonly_root_filesystem

import data.evenkeel.lib.patch
import data.evenkeel.lib.pods
import rego.v1

field := "readOnlyRootFilesystem"

deny contains {"msg": msg, "path": patch.pointer(array.concat(container.at, ["securityContext", field]))} if {
	some container in offenders
	msg := sprintf("%s can write to its root file system: set securityContext.%s to true", [container.label, field])
}

remediation contains patch.action(ops) if {
	pods.rolled_out
	every container in offenders {
		has_scratch(container.spec)
	}
	ops := {op |
		some container in offenders
		some op in patch.merge(input.pod, container.at, {"securityContext": {field: true}})
	}
	count(ops) > 0
}

offenders contains container if {
	not pods.windows
	some container in pods.containers
	pods.own_security_setting(container, field) != true
}

has_scratch(container) if {
	count(scratch_paths) > 0
	every path in scratch_paths {
		some mount in container.volumeMounts
		trim_suffix(mount.mountPath, "/") == path
		not object.get(mount, "readOnly", false)
		mount.name in writable_volumes
	}
}

scratch_paths contains trim_suffix(path, "/") if some path in input.parameters.scratchPaths

writable_volumes contains volume.name if {
	some volume in input.pod.spec.volumes
	volume.emptyDir
}
