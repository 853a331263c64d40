// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestTheCheckRequestsSeesWhatNoLongerAsksForVerbs(t *testing.T) {
	fail, ignore := admissionregistrationv1.Fail, admissionregistrationv1.Ignore
	policy := func(change ...func(
		*admissionregistrationv1.ValidatingAdmissionPolicy)) *admissionregistrationv1.ValidatingAdmissionPolicy {
		p := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "plans"},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				FailurePolicy: &fail, Validations: []admissionregistrationv1.Validation{
					{Expression: "variables.verb == ''"}},
				Variables: []admissionregistrationv1.Variable{{Name: "verb", Expression: "'undo'"}},
				MatchConstraints: &admissionregistrationv1.MatchResources{
					ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
						{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
							Operations: []admissionregistrationv1.OperationType{
								admissionregistrationv1.Update, admissionregistrationv1.Delete},
							Rule: admissionregistrationv1.Rule{
								APIGroups: []string{"evenkeel.dev"}, APIVersions: []string{"*"},
								Resources: []string{"remediations"}}}}}}}}
		for _, c := range change {
			c(p)
		}
		return p
	}
	type bindingSpec = admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec
	binding := func(change ...func(*bindingSpec)) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
		b := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "plans"},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: "plans", ValidationActions: []admissionregistrationv1.ValidationAction{
					admissionregistrationv1.Deny},
				MatchResources: &admissionregistrationv1.MatchResources{
					NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{}}}}
		for _, c := range change {
			c(&b.Spec)
		}
		return b
	}
	matching := func(change func(*admissionregistrationv1.MatchResources)) []client.Object {
		return []client.Object{binding(), policy(func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
			change(p.Spec.MatchConstraints)
		})}
	}
	exact, equivalent, all, namespaced := admissionregistrationv1.Exact, admissionregistrationv1.Equivalent,
		admissionregistrationv1.AllScopes, admissionregistrationv1.NamespacedScope
	cases := map[string]struct {
		there []client.Object
		says  string // empty: all is well
	}{
		"all is there, with what the API server fills in": {
			there: matching(func(m *admissionregistrationv1.MatchResources) {
				m.MatchPolicy, m.NamespaceSelector, m.ObjectSelector = &equivalent, &metav1.LabelSelector{},
					&metav1.LabelSelector{}
				m.ResourceRules[0].Scope = &all
			})},
		"it is asked about nothing": {
			[]client.Object{binding(), policy(func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
				p.Spec.MatchConstraints = nil
			})},
			"has other matchConstraints"},
		"it is asked about fewer operations": {matching(func(m *admissionregistrationv1.MatchResources) {
			m.ResourceRules[0].Operations = m.ResourceRules[0].Operations[:1]
		}), "has other matchConstraints"},
		"it is asked about another resource": {matching(func(m *admissionregistrationv1.MatchResources) {
			m.ResourceRules[0].Resources = []string{"remediations/status"}
		}), "has other matchConstraints"},
		"it is asked about some names only": {matching(func(m *admissionregistrationv1.MatchResources) {
			m.ResourceRules[0].ResourceNames = []string{"some"}
		}), "has other matchConstraints"},
		"it is asked about what is in namespaces": {matching(func(m *admissionregistrationv1.MatchResources) {
			m.ResourceRules[0].Scope = &namespaced
		}),
			"has other matchConstraints"},
		"it isn't asked about some": {matching(func(m *admissionregistrationv1.MatchResources) {
			m.ExcludeResourceRules = []admissionregistrationv1.NamedRuleWithOperations{*m.ResourceRules[0].DeepCopy()}
		}), "has other matchConstraints"},
		"it is asked about labelled objects only": {matching(func(m *admissionregistrationv1.MatchResources) {
			m.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}), "has other matchConstraints"},
		"it is asked in labelled namespaces only": {matching(func(m *admissionregistrationv1.MatchResources) {
			m.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}), "has other matchConstraints"},
		"it isn't asked about other versions": {matching(func(m *admissionregistrationv1.MatchResources) {
			m.MatchPolicy = &exact
		}), "has other matchConstraints"},
		"it waits for a parameter": {
			[]client.Object{binding(), policy(func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
				p.Spec.ParamKind = &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
			})}, "has a paramKind"},
		"the binding names a parameter": {
			[]client.Object{policy(), binding(func(s *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
				s.ParamRef = &admissionregistrationv1.ParamRef{Name: "missing"}
			})}, "has another paramRef"},
		"the policy is gone":  {[]client.Object{binding()}, "ValidatingAdmissionPolicy plans isn't there"},
		"the binding is gone": {[]client.Object{policy()}, "ValidatingAdmissionPolicyBinding plans isn't there"},
		"it lets pass what it can't judge": {
			[]client.Object{binding(), policy(func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
				p.Spec.FailurePolicy = &ignore
			})},
			"failurePolicy Ignore"},
		"it is asked about some requests only": {
			[]client.Object{binding(), policy(func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
				p.Spec.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "not-me", Expression: "false"}}
			})}, "has other matchConditions"},
		"somebody has changed what it asks": {
			[]client.Object{binding(), policy(func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
				p.Spec.Validations[0].Expression = "true"
			})},
			"somebody has changed it"},
		"somebody has changed a variable": {
			[]client.Object{binding(), policy(func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
				p.Spec.Variables[0].Expression = "''"
			})},
			"somebody has changed it"},
		"the binding only warns": {
			[]client.Object{policy(), binding(func(s *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
				s.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn}
			})}, "doesn't deny"},
		"the binding is of another policy": {
			[]client.Object{policy(), binding(func(s *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
				s.PolicyName = "other"
			})},
			"is of other, not of plans"},
		"the binding leaves objects out": {
			[]client.Object{policy(), binding(func(s *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
				s.MatchResources.ObjectSelector.MatchLabels = map[string]string{"a": "b"}
			})}, "has matchResources"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			in := &Installation{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.there...).Build(),
				RequestPolicies: []*admissionregistrationv1.ValidatingAdmissionPolicy{policy()},
				RequestBindings: []*admissionregistrationv1.ValidatingAdmissionPolicyBinding{binding()}}
			found := requestGuards(t.Context(), in)
			if len(found) != 1 || (found[0].Status == OK) != (tc.says == "") ||
				!strings.Contains(found[0].Message, tc.says) {
				t.Errorf("found %+v, want %q", found, tc.says)
			}
		})
	}
}
