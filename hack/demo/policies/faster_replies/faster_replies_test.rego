package evenkeel.demo.faster_replies_test

import data.evenkeel.demo.faster_replies
import rego.v1

judged(compression) := {
	"object": {"kind": "Deployment"},
	"pod": {"metadata": {"annotations": {"compression": compression}}},
}

test_brotli_is_clean if {
	count(faster_replies.deny) == 0 with input as judged("brotli")
	count(faster_replies.remediation) == 0 with input as judged("brotli")
}

test_another_compression_violates if {
	count(faster_replies.deny) == 1 with input as judged("gzip")
}

test_the_fix_sets_brotli if {
	faster_replies.remediation == {{
		"action": "patch",
		"ops": [{"op": "replace", "path": "/metadata/annotations/compression", "value": "brotli"}],
	}} with input as judged("gzip")
}
