package evenkeel.governance.owner_labels_test

import data.evenkeel.governance.owner_labels
import rego.v1

parameters := {"labels": {"example.com/owner": "[a-z]+", "tier": "gold|silver"}, "defaults": {"tier": "silver"}}

judged(metadata) := {"object": {"kind": "Service", "metadata": metadata}, "parameters": parameters}

ops := [op | some action in owner_labels.remediation; some op in action.ops]

test_allowed_values_are_clean if {
	count(owner_labels.deny) == 0 with input as judged({"labels": {"example.com/owner": "shop", "tier": "gold"}})
	ops == [] with input as judged({"labels": {"example.com/owner": "shop", "tier": "gold"}})
}

test_missing_labels_violate_each if {
	every metadata in [{}, {"labels": null}, {"labels": {}}] {
		count(owner_labels.deny) == 2 with input as judged(metadata)
	}
}

test_a_missing_label_is_named_with_its_path if {
	owner_labels.deny == {{
		"msg": `label "example.com/owner" is missing: set it to a value that matches "[a-z]+"`,
		"path": "/metadata/labels/example.com~1owner",
	}} with input as judged({"labels": {"tier": "gold"}})
}

test_a_value_must_match_in_full if {
	owner_labels.deny == {{
		"msg": `label "tier" has the value "golden": set it to a value that matches "gold|silver"`,
		"path": "/metadata/labels/tier",
	}} with input as judged({"labels": {"example.com/owner": "shop", "tier": "golden"}})
	count(owner_labels.deny) == 1 with input as judged({"labels": {"example.com/owner": "", "tier": "gold"}})
}

test_without_required_labels_everything_violates if {
	msg := "the policy requires no label: set parameters.labels of Policy owner-labels"
	owner_labels.deny == {msg} with input as judged({})
		with input.parameters as {}
	ops == [] with input as judged({}) with input.parameters as {}
}

test_the_fix_adds_a_default if {
	ops == [{
		"op": "add",
		"path": "/metadata/labels/tier",
		"value": "silver",
	}] with input as judged({"labels": {"example.com/owner": "shop"}})
}

test_the_fix_adds_all_labels_at_once if {
	ops == [{
		"op": "add",
		"path": "/metadata/labels",
		"value": {"example.com/owner": "shop", "tier": "silver"},
	}] with input as judged({"name": "a"})
		with input.parameters.defaults as {"example.com/owner": "shop", "tier": "silver"}
}

test_no_fix_without_a_default if {
	ops == [] with input as judged({"labels": {"tier": "gold"}})
	ops == [] with input as judged({}) with input.parameters as {"labels": {"tier": "gold"}}
}

test_no_fix_to_a_default_that_is_not_allowed if {
	ops == [] with input as judged({"labels": {"example.com/owner": "shop"}}) with input.parameters.defaults.tier as "iron"
}

test_no_fix_beside_a_wrong_value if {
	ops == [] with input as judged({"labels": {"example.com/owner": "SHOP"}})
}
