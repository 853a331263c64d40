package main

import rego.v1

deny contains msg if {
	some container in containers
	container.securityContext.privileged == true
	msg := sprintf("%s: container %s is privileged", [title, container.name])
}

deny contains msg if {
	some container in containers
	floats(container.image)
	msg := sprintf("%s: container %s floats: %s", [title, container.name, container.image])
}

deny contains msg if {
	some container in containers
	not container.resources.limits.memory
	msg := sprintf("%s: container %s has no memory limit", [title, container.name])
}

deny contains msg if {
	pod.hostNetwork == true
	msg := sprintf("%s: it shares the host's network", [title])
}

title := sprintf("%s %s/%s", [input.kind, input.metadata.namespace, input.metadata.name])

pod := input.spec if input.kind == "Pod"

pod := input.spec.template.spec if input.kind in {"Deployment", "StatefulSet"}

pod := input.spec.jobTemplate.spec.template.spec if input.kind == "CronJob"

containers contains container if {
	some list in ["containers", "initContainers"]
	some container in pod[list]
}

floats(image) if endswith(image, ":latest")

floats(image) if not contains(image, ":")
