package podrequiredlabels

get_message(parameters, fallback) = msg {
	not parameters.message
	msg := fallback
}

get_message(parameters, fallback) = msg { msg := parameters.message }

violation[{"msg": msg, "details": {"missing_labels": missing}}] {
	provided := {label | input.review.object.metadata.labels[label]}
	required := {label | label := input.parameters.labels[_].key}
	missing := required - provided
	count(missing) > 0
	msg := get_message(input.parameters, sprintf("you must provide labels: %v", [missing]))
}

violation[{"msg": msg}] {
	value := input.review.object.metadata.labels[key]
	expected := input.parameters.labels[_]
	expected.key == key
	expected.allowedRegex != ""
	not re_match(expected.allowedRegex, value)
	msg := get_message(input.parameters, sprintf("label <%v: %v> doesn't satisfy %v", [key, value, expected.allowedRegex]))
}
