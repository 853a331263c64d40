package evenkeel.supplychain.allowed_registries_test

import data.evenkeel.supplychain.allowed_registries
import rego.v1

judged(image, parameters) := {
	"object": {"kind": "Deployment"},
	"parameters": parameters,
	"pod": {"spec": {"containers": [{"name": "app", "image": image}]}},
}

parameters := {
	"registries": ["registry.example.com"],
	"mirrors": {
		"docker.io": "registry.example.com/hub",
		"docker.io/grafana/": "registry.example.com/grafana/",
		"quay.io": "elsewhere.example.com/quay",
	},
}

fixed(image) := [op.value |
	some action in allowed_registries.remediation with input as judged(image, parameters)
	some op in action.ops
]

test_an_image_below_an_allowed_registry_is_clean if {
	count(allowed_registries.deny) == 0 with input as judged("registry.example.com/a/b:1", parameters)
	count(allowed_registries.remediation) == 0 with input as judged("registry.example.com/a/b:1", parameters)
	count(allowed_registries.deny) == 0 with input as judged("nginx", {"registries": ["docker.io/library"]})
}

test_another_registry_is_named_with_what_is_allowed if {
	msg := `container "app" uses image "ghcr.io/a/b", which no allowed registry serves: use one of [registry.example.com]`
	allowed_registries.deny == {{
		"msg": msg,
		"path": "/spec/containers/0/image",
	}} with input as judged("ghcr.io/a/b", parameters)
}

test_a_name_that_only_begins_alike_violates if {
	count(allowed_registries.deny) == 1 with input as judged("registry.example.com.evil.example/a", parameters)
}

test_without_registries_nothing_is_allowed if {
	count(allowed_registries.deny) == 1 with input as judged("registry.example.com/a", {})
}

test_a_missing_or_unreadable_image_violates if {
	every image in ["", "registry.example.com/a b"] {
		count(allowed_registries.deny) == 1 with input as judged(image, parameters)
	}
	count(allowed_registries.deny) == 1 with input as judged("", parameters)
		with input.pod.spec.containers as [{"name": "app"}]
}

test_the_fix_rewrites_by_the_longest_mirror if {
	fixed("nginx:1.29") == ["registry.example.com/hub/library/nginx:1.29"]
	fixed("grafana/grafana:12.0") == ["registry.example.com/grafana/grafana:12.0"]
}

test_no_fix_without_a_mirror if fixed("ghcr.io/a/b:1") == []

test_no_fix_to_a_mirror_that_is_not_allowed if fixed("quay.io/a/b:1") == []

test_no_fix_without_parameters if {
	count(allowed_registries.remediation) == 0 with input as judged("nginx", {})
}

test_no_fix_when_one_image_of_two_has_no_mirror if {
	count(allowed_registries.remediation) == 0 with input as judged("nginx", parameters)
		with input.pod.spec.initContainers as [{"name": "init", "image": "ghcr.io/a/b"}]
}

test_no_fix_for_a_bare_pod if {
	count(allowed_registries.remediation) == 0 with input as judged("nginx", parameters) with input.object.kind as "Pod"
}
