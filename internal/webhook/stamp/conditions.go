// SPDX-License-Identifier: Apache-2.0

package stamp

import (
	"fmt"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// AsksOfBreakerByName says in CEL whether a write asks something of a breaker for which
// it must hold who asks: all but the kill switch, which works while nobody answers.
func AsksOfBreakerByName() string {
	return asksOfBreaker() + " && !(" + onlyForcesOpen() + ")"
}

// asksOfBreaker says in CEL whether a write asks something of a breaker.
func asksOfBreaker() string {
	return asksOf("mode", "forcedOpenUntilTime", "resetToken")
}

// asksOf says in CEL that a write changes one of the fields by which people ask, or the record of who asked.
func asksOf(fields ...string) string {
	each := []string{sameRecord()}
	for _, field := range fields {
		each = append(each, same(field))
	}
	return "!(" + strings.Join(each, " && ") + ")"
}

// onlyForcesOpen says in CEL that a write holds a breaker open, or for longer, and that
// nobody has filled in who asks.
func onlyForcesOpen() string {
	return `has(object.spec.mode) && object.spec.mode != "` + string(v1alpha1.BreakerAutomatic) + `" && ` +
		same("resetToken") + " && " + sameRecord() + " && !(" + shortensHold() + ")"
}

// shortensHold says in CEL that a write of a breaker that is held open gives the hold an end, or an earlier one: that
// lets go of it in part.
func shortensHold() string {
	return `oldObject != null && has(oldObject.spec.mode) && oldObject.spec.mode != "` +
		string(v1alpha1.BreakerAutomatic) + `" && has(object.spec.forcedOpenUntilTime) && ` +
		"(!has(oldObject.spec.forcedOpenUntilTime) || " +
		"timestamp(object.spec.forcedOpenUntilTime) < timestamp(oldObject.spec.forcedOpenUntilTime))"
}

// sameRecord says in CEL that a write leaves the record of who asked as it is.
func sameRecord() string {
	of := func(object string) string {
		return fmt.Sprintf("(has(%[1]s.metadata.annotations) && %[2]q in %[1]s.metadata.annotations ? "+
			"%[1]s.metadata.annotations[%[2]q] : \"\")", object, v1alpha1.AnnotationRequests)
	}
	return of("object") + " == (oldObject == null ? \"\" : " + of("oldObject") + ")"
}

func same(field string) string {
	return fmt.Sprintf("(has(object.spec.%[1]s) ? oldObject != null && has(oldObject.spec.%[1]s) && object.spec.%[1]s "+
		"== oldObject.spec.%[1]s"+
		" : oldObject == null || !has(oldObject.spec.%[1]s))", field)
}
