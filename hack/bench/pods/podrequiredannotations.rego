package podrequiredannotations

violation[{"msg": msg, "details": {"missing": missing}}] {
	provided := {a | input.review.object.metadata.annotations[a]}
	required := {a | a := input.parameters.annotations[_].key}
	missing := required - provided
	count(missing) > 0
	msg := sprintf("you must provide annotations: %v", [missing])
}

violation[{"msg": msg}] {
	value := input.review.object.metadata.annotations[key]
	expected := input.parameters.annotations[_]
	expected.key == key
	expected.allowedRegex != ""
	not re_match(expected.allowedRegex, value)
	msg := sprintf("annotation <%v: %v> doesn't satisfy %v", [key, value, expected.allowedRegex])
}
