// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"slices"
	"testing"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/config/rbac"
)

// expression is what the API server compiles, and what must come of it.
type expression struct {
	name, text string
	types      []*cel.Type
}

func (e expression) GetName() string          { return e.name }
func (e expression) GetExpression() string    { return e.text }
func (e expression) ReturnTypes() []*cel.Type { return e.types }

// The API server's own compiler takes each policy, with the types that it gives to variables.
func TestTheAPIServerCompilesEachAdmissionPolicy(t *testing.T) {
	var compiled []string
	for _, document := range slices.Concat(documents(t, rbac.Requests), documents(t, rbac.Keys)) {
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
		if err := yaml.Unmarshal(document, policy); err != nil {
			t.Fatal(err)
		}
		if policy.Kind == "ValidatingAdmissionPolicy" {
			compiled = append(compiled, policy.Name)
			t.Run(policy.Name, func(t *testing.T) { compiles(t, &policy.Spec) })
		}
	}
	if !slices.Contains(compiled, "evenkeel-keys") || !slices.Contains(compiled, "evenkeel-sources") {
		t.Errorf("only %q were looked at", compiled)
	}
}

func compiles(t *testing.T, spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
	t.Helper()
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(
		environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	check := func(e expression, problem *plugincel.CompilationResult) {
		if problem.Error != nil {
			t.Errorf("%s: %s", e.name, problem.Error.Detail)
		}
	}
	// A message may ask nobody.
	options, silent := plugincel.OptionalVariableDeclarations{HasAuthorizer: true},
		plugincel.OptionalVariableDeclarations{}
	for _, v := range spec.Variables {
		e := expression{v.Name, v.Expression, []*cel.Type{cel.AnyType, cel.DynType}}
		result := compiler.CompileAndStoreVariable(e, options, environment.NewExpressions)
		check(e, &result)
	}
	for _, c := range spec.MatchConditions {
		e := expression{c.Name, c.Expression, []*cel.Type{cel.BoolType}}
		result := compiler.CompileCELExpression(e, options, environment.NewExpressions)
		check(e, &result)
	}
	for _, v := range spec.Validations {
		e := expression{v.Expression, v.Expression, []*cel.Type{cel.BoolType}}
		result := compiler.CompileCELExpression(e, options, environment.NewExpressions)
		check(e, &result)
		e = expression{v.MessageExpression, v.MessageExpression, []*cel.Type{cel.StringType}}
		result = compiler.CompileCELExpression(e, silent, environment.NewExpressions)
		check(e, &result)
	}
}
