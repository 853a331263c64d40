package evenkeel.supplychain.immutable_tags_test

import data.evenkeel.supplychain.immutable_tags
import rego.v1

judged(container) := {
	"object": {"kind": "Pod"},
	"parameters": {"floatingTags": ["stable"]},
	"pod": {"spec": {"ephemeralContainers": [container]}},
}

digest := concat("", ["sha256:", sprintf("%064d", [7])])

test_a_version_or_a_digest_is_clean if {
	every image in ["nginx:1.29.0", concat("@", ["nginx", digest]), concat("@", ["nginx:latest", digest])] {
		count(immutable_tags.deny) == 0 with input as judged({"image": image})
	}
}

test_a_moving_tag_violates if {
	every image in ["nginx", "nginx:latest", "nginx:stable", "registry.example.com:5000/nginx"] {
		count(immutable_tags.deny) == 1 with input as judged({"image": image})
	}
}

test_a_missing_or_unreadable_image_violates if {
	every container in [{}, {"image": ""}, {"image": "nginx@sha256:12"}] {
		count(immutable_tags.deny) == 1 with input as judged(container)
	}
}

test_latest_moves_without_parameters_too if {
	count(immutable_tags.deny) == 1 with input as judged({"image": "nginx:latest"}) with input.parameters as {}
	count(immutable_tags.deny) == 0 with input as judged({"image": "nginx:stable"}) with input.parameters as {}
}

test_a_violation_names_the_container_and_the_fix if {
	end := "which can change under its name: give a version tag or a digest"
	immutable_tags.deny == {{
		"msg": concat(" ", [`ephemeral container "app" uses image "nginx",`, end]),
		"path": "/spec/ephemeralContainers/0/image",
	}} with input as judged({"name": "app", "image": "nginx"})
}
