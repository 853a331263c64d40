# METADATA
# scope: package
# title: Pods
# description: |
#   What rules about Pods ask of input.pod. Every `at` is a path of keys that starts at the Pod.
package evenkeel.lib.pods

import rego.v1

nouns := {
	"containers": "container",
	"initContainers": "init container",
	"ephemeralContainers": "ephemeral container",
}

# containers holds every container of every sort, with its place and a label for messages.
containers contains {"at": ["spec", field, i], "field": field, "label": label, "spec": container} if {
	some field, noun in nouns
	some i, container in input.pod.spec[field]
	label := sprintf("%s %q", [noun, object.get(container, "name", "")])
}

# rolled_out holds when a change of the pod template reaches running pods by itself. A bare Pod and a Job's template
# can't be changed, and a ReplicaSet leaves its old pods as they are: there a patch of the template fixes nothing.
rolled_out if input.object.kind in {"Deployment", "StatefulSet", "DaemonSet", "CronJob"}

windows if input.pod.spec.os.name == "windows"

# security_setting is a field of the container's security context; where the container has none, the pod's; or null.
security_setting(container, field) := own_security_setting(container, field) if {
	own_security_setting(container, field) != null
} else := object.get(input.pod, ["spec", "securityContext", field], null)

own_security_setting(container, field) := object.get(container.spec, ["securityContext", field], null)
