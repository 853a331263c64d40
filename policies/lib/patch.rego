# METADATA
# scope: package
# title: Patches
# description: Builds remediation actions whose operations are strict JSON Patch (RFC 6902), in a stable order.
package evenkeel.lib.patch

import rego.v1

# action is one patch action. A set of operations becomes a list in the order of the operations' text.
action(ops) := {"action": "patch", "ops": [op | some op in ops]}

# pointer writes a path of keys as a JSON Pointer (RFC 6901).
pointer(path) := concat("", [sprintf("/%s", [escape(sprintf("%v", [key]))]) | some key in path])

escape(key) := replace(replace(key, "~", "~0"), "/", "~1")

# merge is the set of operations that make the object at the path `at` of doc hold everything that want holds, and
# leave the rest of it alone. What is missing is added at its topmost missing parent, whole: no operation relies on
# another, and siblings below one missing parent can't overwrite each other.
merge(doc, at, want) := {op |
	walk(want, [sub, value])
	count(sub) > 0
	path := array.concat(at, sub)
	lacks(doc, path, value)
	op := {"op": verb(doc, path), "path": pointer(path), "value": value}
}

# remove is the operation that removes an existing field.
remove(path) := {"op": "remove", "path": pointer(path)}

# lacks holds where an operation is due: the parent is there, and the value isn't.
lacks(doc, path, value) if {
	is_object(at_path(doc, array.slice(path, 0, count(path) - 1)))
	differs(at_path(doc, path), value)
}

# Two objects aren't compared: their fields are, each at its own path.
differs(have, want) if {
	not both_objects(have, want)
	have != want
}

both_objects(have, want) if {
	is_object(have)
	is_object(want)
}

verb(doc, path) := "add" if {
	at_path(doc, path) == null
} else := "replace"

at_path(doc, path) := object.get(doc, path, null)
