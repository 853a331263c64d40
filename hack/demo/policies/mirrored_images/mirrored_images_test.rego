package evenkeel.demo.mirrored_images_test

import data.evenkeel.demo.mirrored_images
import rego.v1

judged(image) := {
	"object": {"kind": "Deployment"},
	"pod": {"spec": {"containers": [{"name": "web", "image": image}]}},
}

test_an_image_of_another_registry_is_clean if {
	count(mirrored_images.deny) == 0 with input as judged("registry.example.com/shop/web:1.4.2")
	count(mirrored_images.remediation) == 0 with input as judged("registry.example.com/shop/web:1.4.2")
}

test_an_image_past_the_mirror_violates if {
	mirrored_images.deny == {{
		"msg": concat("", [
			"image docker.example.com/shop/web:1.4.2 isn't pulled through the mirror: ",
			"use mirror.example.com/unready/shop/web:1.4.2",
		]),
		"path": "/spec/containers/0/image",
	}} with input as judged("docker.example.com/shop/web:1.4.2")
}

test_the_fix_names_the_mirror if {
	mirrored_images.remediation == {{"action": "patch", "ops": [{
		"op": "replace",
		"path": "/spec/containers/0/image",
		"value": "mirror.example.com/unready/shop/web:1.4.2",
	}]}} with input as judged("docker.example.com/shop/web:1.4.2")
}
