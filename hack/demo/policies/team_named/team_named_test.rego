package evenkeel.demo.team_named_test

import data.evenkeel.demo.team_named
import rego.v1

judged(labels) := {
	"object": {"kind": "Deployment"},
	"pod": {"metadata": {"labels": labels}},
}

test_a_pod_that_names_its_team_is_clean if {
	count(team_named.deny) == 0 with input as judged({"team": "shop"})
	count(team_named.remediation) == 0 with input as judged({"team": "shop"})
}

test_a_pod_without_a_team_violates if {
	count(team_named.deny) == 1 with input as judged({"app": "web"})
}

test_the_fix_names_the_team if {
	team_named.remediation == {{"action": "patch", "ops": [{"op": "add", "path": "/metadata/labels/team", "value": "search"}]}} with input as judged({"app": "web"})
}
