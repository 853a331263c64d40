package evenkeel.lib.patch_test

import data.evenkeel.lib.patch
import rego.v1

test_pointer_escapes_and_counts if {
	patch.pointer(["spec", "containers", 0]) == "/spec/containers/0"
	patch.pointer(["metadata", "labels", "a~b/c"]) == "/metadata/labels/a~0b~1c"
	patch.pointer([]) == ""
}

test_action_lists_operations_in_order if {
	action := patch.action({patch.remove(["b"]), patch.remove(["a"])})
	action == {"action": "patch", "ops": [{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/b"}]}
}

test_merge_adds_a_missing_parent_whole if {
	ops := patch.merge({"spec": {}}, ["spec"], {"a": {"b": 1, "c": {"d": 2}}})
	ops == {{"op": "add", "path": "/spec/a", "value": {"b": 1, "c": {"d": 2}}}}
}

test_merge_adds_siblings_below_a_present_parent if {
	ops := patch.merge({"spec": {"a": {"z": 0}}}, ["spec"], {"a": {"b": 1, "c": {"d": 2}}})
	ops == {{"op": "add", "path": "/spec/a/b", "value": 1}, {"op": "add", "path": "/spec/a/c", "value": {"d": 2}}}
}

test_merge_replaces_what_differs if {
	ops := patch.merge({"list": [{"on": true}]}, ["list", 0], {"on": false})
	ops == {{"op": "replace", "path": "/list/0/on", "value": false}}
}

test_merge_takes_null_for_missing if {
	ops := patch.merge({"a": null}, [], {"a": {"b": 1}})
	ops == {{"op": "add", "path": "/a", "value": {"b": 1}}}
}

test_merge_replaces_what_should_be_an_object if {
	ops := patch.merge({"a": "text"}, [], {"a": {"b": 1}})
	ops == {{"op": "replace", "path": "/a", "value": {"b": 1}}}
}

test_merge_of_what_is_there_is_empty if {
	patch.merge({"a": {"b": 1, "c": 2}}, [], {"a": {"b": 1}}) == set()
}

test_merge_below_what_is_missing_is_empty if {
	patch.merge({}, ["gone"], {"a": 1}) == set()
}
