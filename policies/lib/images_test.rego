package evenkeel.lib.images_test

import data.evenkeel.lib.images
import rego.v1

digest := concat("", ["sha256:", sprintf("%064d", [7])])

parsed := {
	"nginx": {"name": "docker.io/library/nginx", "tag": "", "digest": ""},
	"nginx:1.29": {"name": "docker.io/library/nginx", "tag": "1.29", "digest": ""},
	"grafana/grafana:12.0": {"name": "docker.io/grafana/grafana", "tag": "12.0", "digest": ""},
	"docker.io/nginx": {"name": "docker.io/library/nginx", "tag": "", "digest": ""},
	"index.docker.io/grafana/grafana": {"name": "docker.io/grafana/grafana", "tag": "", "digest": ""},
	"localhost/app:1": {"name": "localhost/app", "tag": "1", "digest": ""},
	"registry.example.com:5000/a/b": {"name": "registry.example.com:5000/a/b", "tag": "", "digest": ""},
	"registry.example.com:5000/a/b:2": {"name": "registry.example.com:5000/a/b", "tag": "2", "digest": ""},
	concat("@", ["ghcr.io/a/b:2", digest]): {"name": "ghcr.io/a/b", "tag": "2", "digest": digest},
	concat("@", ["ghcr.io/a/b", digest]): {"name": "ghcr.io/a/b", "tag": "", "digest": digest},
}

test_parse if {
	every image, parts in parsed {
		images.parse(image) == parts
	}
}

test_parse_is_undefined_for_what_is_no_reference if {
	every image in ["", " ", "nginx:", "nginx@sha256:12", "a b", "/", "nginx:1 ", concat("@", ["nginx", "md5:00"])] {
		not images.parse(image)
	}
}

test_suffix_writes_tag_and_digest if {
	images.suffix({"name": "a", "tag": "", "digest": ""}) == ""
	images.suffix({"name": "a", "tag": "1", "digest": ""}) == ":1"
	images.suffix({"name": "a", "tag": "1", "digest": "sha256:00"}) == ":1@sha256:00"
	images.suffix({"name": "a", "tag": "", "digest": "sha256:00"}) == "@sha256:00"
}

test_within_matches_whole_path_elements if {
	images.within("ghcr.io/acme/app", "ghcr.io/acme")
	images.within("ghcr.io/acme/app", "ghcr.io/acme/")
	images.within("ghcr.io/acme/app", "ghcr.io/acme/app")
	not images.within("ghcr.io/acme-evil/app", "ghcr.io/acme")
	not images.within("ghcr.io.evil.example/app", "ghcr.io")
	not images.within("ghcr.io/acme/app", "")
}
