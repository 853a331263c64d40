package webhook

import (
	"fmt"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// records completes the entry that keeps plans, slices and statuses to the manager.
// The manager's own requests aren't asked about, so that they wait for nobody.
func (c *Configuration) records(hook admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.ValidatingWebhook {
	hook.Rules[0].Resources = []string{"remediations", "remediationslices"}
	statuses := hook.Rules[0].DeepCopy()
	statuses.Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Update}
	statuses.Resources = []string{"remediationbreakers/status", "remediations/status"}
	hook.Rules = append(hook.Rules, *statuses)
	hook.MatchConditions = append(hook.MatchConditions, c.notSelf())
	return hook
}

// breakers completes the entry that refuses requests without a name. The kill switch
// passes while nobody answers: then nobody has filled in its name either.
func (c *Configuration) breakers(hook admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.ValidatingWebhook {
	hook.MatchConditions = append(hook.MatchConditions, c.notSelf(),
		admissionregistrationv1.MatchCondition{Name: "is-a-request", Expression: asksOfBreaker() + " && !(" + onlyForcesOpen() + ")"})
	return hook
}

// asksOfBreaker says in CEL whether a write asks something of a breaker.
func asksOfBreaker() string {
	return asksOf("mode", "resetToken", "requests")
}

// asksOf says in CEL that a write changes one of the fields by which people ask.
func asksOf(fields ...string) string {
	var each []string
	for _, field := range fields {
		each = append(each, same(field))
	}
	return "!(" + strings.Join(each, " && ") + ")"
}

// onlyForcesOpen says in CEL that a write holds a breaker open, and that nobody has
// filled in who asks.
func onlyForcesOpen() string {
	return `has(object.spec.mode) && object.spec.mode != "` + string(v1alpha1.BreakerAutomatic) + `" && ` + same("resetToken") + " && " + same("requests")
}

// same says in CEL that a write leaves a field of the spec as it is.
func same(field string) string {
	return fmt.Sprintf("(has(object.spec.%[1]s) ? oldObject != null && has(oldObject.spec.%[1]s) && object.spec.%[1]s == oldObject.spec.%[1]s"+
		" : oldObject == null || !has(oldObject.spec.%[1]s))", field)
}

func (c *Configuration) notSelf() admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{Name: "is-not-the-manager", Expression: "request.userInfo.username != " + strconv.Quote(c.Self)}
}
