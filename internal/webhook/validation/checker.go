// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy/condition"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/template"
	"evenkeel.dev/evenkeel/internal/webhook/discovery"
)

// maxPolicyName leaves room in the names that are built from a policy's: its
// remediations ("<policy>-<hash>") must fit a label value of 63 characters.
const maxPolicyName = 52

// problem is one thing that is wrong with a policy.
type problem struct {
	// at is the field, or file:row:col within a module.
	at string
	// field is the field that the API reports the problem at.
	field   string
	message string
}

func (p problem) String() string { return p.at + ": " + p.message }

type problems []problem

func (p *problems) addIf(message, field string) {
	if message != "" {
		*p = append(*p, problem{at: field, field: field, message: message})
	}
}

// PolicyChecker finds what is wrong with a policy beyond what its schema refuses.
type PolicyChecker struct {
	// Compile compiles the Rego, the policy's own or its template's; its error is a
	// *rego.CompileError where the policy's own is to blame.
	Compile func(*v1alpha1.ClusterRegoPolicy) error
	// Kinds finds the kinds that the policy names.
	Kinds *discovery.Kinds
}

// Check returns every problem: name, Rego, match, conditions, strategy. Before is the policy as it is stored, nil for a
// new one: the kinds that it names already are none when they aren't served any more.
func (c *PolicyChecker) Check(p, before *v1alpha1.ClusterRegoPolicy) []problem {
	var out problems
	if n := len(p.Name); n > maxPolicyName {
		out.addIf(fmt.Sprintf(
			"%d characters long: use at most %d, because the names of its remediations and breaker are built from it",
			n, maxPolicyName), "metadata.name")
	}
	out = append(out, c.compile(p)...)
	if err := match.Validate(p); err != nil {
		out.addIf(err.Error(), "spec.match")
	}
	out = append(out, checkConditions(p.Spec.Admission.MatchConditions)...)
	out = append(out, c.kinds(p.Spec.Match.Kinds, c.kindsNamed(before))...)
	return append(out, checkRemediation(&p.Spec.Remediation)...)
}

func (c *PolicyChecker) compile(p *v1alpha1.ClusterRegoPolicy) []problem {
	err := c.Compile(p)
	if p.Spec.TemplateRef != nil {
		return templateProblems(err)
	}
	return regoProblems(&p.Spec.Rego, err)
}

// templateProblems are what is wrong with a policy that uses a template. One that is still
// to come is none: the policy comes into force with it.
func templateProblems(err error) []problem {
	var parameters *template.ParametersError
	switch {
	case err == nil || errors.Is(err, template.ErrNotFound):
		return nil
	case errors.As(err, &parameters):
		return fieldProblems(parameters.Problems)
	}
	return []problem{{at: "spec.templateRef.name", field: "spec.templateRef.name", message: err.Error()}}
}

func fieldProblems(found []template.Problem) []problem {
	out := make([]problem, 0, len(found))
	for _, f := range found {
		out = append(out, problem{at: f.Field, field: f.Field, message: f.Message})
	}
	return out
}

// regoProblems are what is wrong with a rule by the error of its compilation.
func regoProblems(source *v1alpha1.RegoSource, err error) []problem {
	if err == nil {
		return nil
	}
	var compile *rego.CompileError
	if !errors.As(err, &compile) {
		return []problem{{at: "spec.rego", field: "spec.rego", message: err.Error()}}
	}
	var out problems
	for _, found := range compile.Problems {
		field := moduleField(source, found.File)
		at := field
		if found.File != "" {
			at = fmt.Sprintf("%s:%d:%d", found.File, found.Row, found.Col)
		}
		out = append(out, problem{at: at, field: field, message: found.Text()})
	}
	return out
}

func checkConditions(conditions []v1alpha1.MatchCondition) []problem {
	_, err := condition.Compile(conditions)
	var compile *condition.CompileError
	if !errors.As(err, &compile) {
		return nil
	}
	var out problems
	for _, found := range compile.Problems {
		out = append(out, problem{at: found.Place(), field: found.Field(), message: found.Message})
	}
	return out
}

func moduleField(source *v1alpha1.RegoSource, file string) string {
	for i := range source.Libraries {
		if source.Libraries[i].Name == file {
			return fmt.Sprintf("spec.rego.libraries[%d].source", i)
		}
	}
	return "spec.rego.main"
}

func causes(found []problem) []metav1.StatusCause {
	out := make([]metav1.StatusCause, 0, len(found))
	for _, p := range found {
		message := p.message
		if p.at != p.field {
			message = p.String()
		}
		out = append(out, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: p.field, Message: message})
	}
	return out
}

func checkRemediation(r *v1alpha1.PolicyRemediation) []problem {
	var out problems
	for _, found := range canary.ValidatePolicy(r) {
		out.addIf(found.Message, "spec.remediation."+found.Field)
	}
	return out
}
