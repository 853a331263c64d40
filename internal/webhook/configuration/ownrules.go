// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"fmt"
	"strconv"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
)

// records completes the entry that checks what people ask of plans. The manager's own
// requests aren't asked about, so that they wait for nobody.
func (c *Generator) records(
	hook admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.ValidatingWebhook {
	hook.MatchConditions = append(hook.MatchConditions, c.notSelf())
	return hook
}

// breakers completes the entry that refuses requests without a name. The kill switch
// passes while nobody answers: then nobody has filled in its name either.
func (c *Generator) breakers(
	hook admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.ValidatingWebhook {
	hook.MatchConditions = append(hook.MatchConditions, c.notSelf(),
		admissionregistrationv1.MatchCondition{Name: "is-a-request", Expression: stamp.AsksOfBreakerByName()})
	return hook
}

// deletions completes the entry that warns whoever deletes a policy that a PolicySource keeps. It refuses nothing, so
// that nothing waits for it while nobody answers.
func (c *Generator) deletions(
	hook admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.ValidatingWebhook {
	ignore := admissionregistrationv1.Ignore
	hook.FailurePolicy = &ignore
	hook.MatchConditions = append(hook.MatchConditions, c.notSelf(), admissionregistrationv1.MatchCondition{
		Name: "is-of-a-source", Expression: fmt.Sprintf("oldObject != null && has(oldObject.metadata.labels) && "+
			"'%s' in oldObject.metadata.labels", v1alpha1.LabelSourceName)})
	return hook
}

func (c *Generator) notSelf() admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{
		Name: "is-not-the-manager", Expression: "request.userInfo.username != " + strconv.Quote(c.Self)}
}

// notRollback keeps the API server from asking about the manager's own rollbacks. So neither load, nor an object that
// can't be decoded, nor a manager that is down blocks one. The user proves whose rollback it is: anyone can send the
// name of a field manager.
func (c *Generator) notRollback() admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{Name: "not-rollback-of-the-manager", Expression: fmt.Sprintf(
		"!(has(request.userInfo.username) && request.userInfo.username != '' && request.userInfo.username == %q && "+
			"has(request.options) && has(request.options.fieldManager) && request.options.fieldManager == %q)",
		c.Self, v1alpha1.RollbackFieldManager)}
}
