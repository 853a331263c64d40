package evenkeel.lib.pods_test

import data.evenkeel.lib.pods
import rego.v1

pod := {"spec": {
	"securityContext": {"runAsNonRoot": true, "runAsUser": 1000},
	"containers": [{"name": "app", "securityContext": {"runAsNonRoot": false, "runAsUser": null}}],
	"initContainers": [{"name": "init", "securityContext": null}],
	"ephemeralContainers": [{}],
}}

labelled(label) := container if {
	some container in pods.containers with input.pod as pod
	container.label == label
}

test_containers_of_every_sort_are_held_with_their_place if {
	found := {[container.label, container.at] | some container in pods.containers with input.pod as pod}
	found == {
		[`container "app"`, ["spec", "containers", 0]],
		[`init container "init"`, ["spec", "initContainers", 0]],
		[`ephemeral container ""`, ["spec", "ephemeralContainers", 0]],
	}
}

test_no_containers_without_a_pod if count(pods.containers) == 0 with input as {}

test_rolled_out_only_where_pods_are_replaced if {
	every kind in ["Deployment", "StatefulSet", "DaemonSet", "CronJob"] {
		pods.rolled_out with input.object.kind as kind
	}
	every kind in ["Pod", "Job", "ReplicaSet", "ReplicationController"] {
		not pods.rolled_out with input.object.kind as kind
	}
	not pods.rolled_out with input as {}
}

test_windows if {
	pods.windows with input.pod.spec.os.name as "windows"
	not pods.windows with input.pod.spec.os.name as "linux"
	not pods.windows with input.pod as pod
}

test_the_containers_own_setting_wins if {
	pods.security_setting(labelled(`container "app"`), "runAsNonRoot") == false with input.pod as pod
}

test_a_container_without_a_setting_takes_the_pods if {
	pods.security_setting(labelled(`container "app"`), "runAsUser") == 1000 with input.pod as pod
	pods.security_setting(labelled(`init container "init"`), "runAsNonRoot") == true with input.pod as pod
	pods.security_setting(labelled(`ephemeral container ""`), "runAsNonRoot") == true with input.pod as pod
}

test_a_setting_that_nobody_makes_is_null if {
	pods.security_setting(labelled(`container "app"`), "seccompProfile") == null with input.pod as pod
	pods.security_setting(labelled(`container "app"`), "seccompProfile") == null with input.pod as {}
}
