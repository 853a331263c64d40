package evenkeel.security.no_exec_test

import data.evenkeel.security.no_exec
import rego.v1

request(subresource, groups) := {
	"operation": "CONNECT",
	"subResource": subresource,
	"namespace": "vault",
	"userInfo": {"username": "ann", "groups": groups},
}

judged(subresource, groups, parameters) := {
	"request": request(subresource, groups),
	"object": {"kind": "PodExecOptions", "command": ["sh"]},
	"parameters": parameters,
}

test_each_way_in_is_refused_by_its_name if {
	every way in ["exec", "attach", "portforward", "proxy"] {
		some violation in no_exec.deny with input as judged(way, ["developers"], {"groups": []})
		startswith(violation.msg, sprintf("%s into Pods of namespace vault", [way]))
	}
}

test_the_groups_of_the_parameters_may if {
	count(no_exec.deny) == 0 with input as judged("exec", ["break-glass", "x"], {"groups": ["break-glass"]})
}

test_other_groups_may_not if {
	count(no_exec.deny) == 1 with input as judged("exec", ["developers"], {"groups": ["break-glass"]})
}

test_without_parameters_nobody_may if {
	count(no_exec.deny) == 1 with input as judged("exec", ["developers"], {})
}
