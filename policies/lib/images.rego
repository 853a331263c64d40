# METADATA
# scope: package
# title: Image references
# description: Reads image references as container runtimes do.
package evenkeel.lib.images

import rego.v1

# The parts are the name with its registry, the tag, and the digest.
reference := `^((?:[^/@\s]+/)*[^/:@\s]+)(?::(\w[\w.-]{0,127}))?(?:@(sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128}))?$`

# parse splits an image reference. The name comes with its registry, written out as Docker's default registry and
# library are; tag and digest are empty when absent. It is undefined for what isn't an image reference.
parse(image) := {"name": full_name(name), "tag": tag, "digest": digest} if {
	some [_, name, tag, digest] in regex.find_all_string_submatch_n(reference, image, 1)
}

# suffix is the tag and the digest as a reference writes them.
suffix(parts) := concat("", [text |
	some [sign, key] in [[":", "tag"], ["@", "digest"]]
	parts[key] != ""
	text := concat("", [sign, parts[key]])
])

# within holds when the name is the prefix or lies below it; it never matches half a path element.
within(name, prefix) if startswith(concat("", [name, "/"]), concat("", [trim_suffix(prefix, "/"), "/"]))

full_name(name) := concat("/", ["docker.io/library", name]) if {
	not contains(name, "/")
} else := concat("/", ["docker.io", rest(name)]) if {
	host(name) in {"docker.io", "index.docker.io"}
} else := name if {
	names_registry(host(name))
} else := concat("/", ["docker.io", name])

host(name) := split(name, "/")[0]

# Docker's own images may be written docker.io/nginx.
rest(name) := path if {
	path := trim_prefix(name, concat("", [host(name), "/"]))
	contains(path, "/")
} else := concat("/", ["library", trim_prefix(name, concat("", [host(name), "/"]))])

names_registry("localhost")

names_registry(host) if regex.match(`[.:]`, host)
