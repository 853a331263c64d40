// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// ErrNotFound is in the chain of an error about a policy whose template there isn't.
var ErrNotFound = errors.New("there is no such RegoTemplate")

// ErrFailed is in the chain of an error about a policy whose template is at fault.
var ErrFailed = errors.New("its rule can't be in force")

// Template is a RegoTemplate that policies can use. It is immutable and safe for
// concurrent use.
type Template struct {
	name   string
	source v1alpha1.RegoSource
	schema *schema
	rule   *rego.Compiled
}

// Compile prepares a template. The error is a *rego.CompileError where the Rego is to
// blame, and a *SchemaError where the schema is.
func Compile(t *v1alpha1.RegoTemplate) (*Template, error) {
	if why := v1alpha1.Malformed(t); why != "" {
		return nil, fmt.Errorf("what is stored isn't of the form of its kind: %s", why)
	}
	parameters, err := newSchema(t.Spec.ParameterSchema)
	if err != nil {
		return nil, err
	}
	bare := &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: t.Name}, Spec: v1alpha1.RegoPolicySpec{Rego: *t.Spec.Rego.DeepCopy()}}
	bare.SetDefaults()
	rule, err := rego.Compile(bare)
	if err != nil {
		return nil, err
	}
	return &Template{name: t.Name, source: bare.Spec.Rego, schema: parameters, rule: rule}, nil
}

// Define gives a policy the template's rule, and its parameters the defaults of the
// template's schema, in a copy. The error is a *ParametersError.
func (t *Template) Define(p *v1alpha1.ClusterRegoPolicy) (*v1alpha1.ClusterRegoPolicy, error) {
	defined := p.DeepCopy()
	defined.Spec.Rego = *t.source.DeepCopy()
	if t.schema == nil {
		return defined, nil
	}
	parameters, problems := t.schema.complete(p.Spec.Parameters)
	if len(problems) > 0 {
		return nil, &ParametersError{Template: t.name, Problems: problems}
	}
	defined.Spec.Parameters = parameters
	return defined, nil
}

// Policy is a policy with the template's rule, ready to judge. The error is a
// *ParametersError.
func (t *Template) Policy(p *v1alpha1.ClusterRegoPolicy) (*rego.Compiled, error) {
	defined, err := t.Define(p)
	if err != nil {
		return nil, err
	}
	return t.rule.Redefine(defined)
}

// TakenByGatekeeper says that Gatekeeper's compiler takes the rule: rego.Compiled.
func (t *Template) TakenByGatekeeper() bool { return t.rule.TakenByGatekeeper() }

// NotFound says that a policy's template is missing.
func NotFound(name string) error {
	return fmt.Errorf("spec.templateRef.name: %w as %q: make it, or name another", ErrNotFound, name)
}

// Failed says that a policy's template is at fault.
func Failed(name string, cause error) error {
	return fmt.Errorf("RegoTemplate %s: %w: %w", name, ErrFailed, cause)
}
