// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"context"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// applyGuards is what brings the guards of people's requests back.
const applyGuards = "kubectl apply --server-side -f config/rbac/requests_policy.yaml, of the version that you run"

func requestGuards(ctx context.Context, in *Installation) []Finding {
	return RequestGuards(ctx, in.Client, in.RequestPolicies, in.RequestBindings)
}

// RequestGuards looks whether the API server protects records and asks for the verbs of people's requests: whoever may
// write a plan or a breaker could forge it, or pause, undo, reset or approve otherwise.
func RequestGuards(ctx context.Context, reader client.Reader,
	policies []*admissionregistrationv1.ValidatingAdmissionPolicy,
	bindings []*admissionregistrationv1.ValidatingAdmissionPolicyBinding) []Finding {
	var found []Finding
	for _, want := range policies {
		found = append(found, guard(ctx, reader, want)...)
	}
	for _, want := range bindings {
		found = append(found, binding(ctx, reader, want)...)
	}
	return orFine(found,
		"all %d ValidatingAdmissionPolicies that ask for the verbs of people's requests are there, and bound",
		len(policies))
}

func guard(ctx context.Context, reader client.Reader,
	want *admissionregistrationv1.ValidatingAdmissionPolicy) []Finding {
	is := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	err := reader.Get(ctx, client.ObjectKeyFromObject(want), is)
	switch {
	case apierrors.IsNotFound(err):
		return []Finding{
			failed(applyGuards, "ValidatingAdmissionPolicy %s isn't there: nobody is asked for the verbs of the "+
				"requests that it guards", want.Name)}
	case err != nil:
		return []Finding{unread("ValidatingAdmissionPolicy "+want.Name, err)}
	case is.Spec.FailurePolicy != nil && *is.Spec.FailurePolicy != admissionregistrationv1.Fail:
		return []Finding{
			failed(applyGuards,
				"ValidatingAdmissionPolicy %s has failurePolicy %s, not Fail: what it can't judge passes", want.Name,
				*is.Spec.FailurePolicy)}
	case !equality.Semantic.DeepEqual(want.Spec.MatchConditions, is.Spec.MatchConditions):
		return []Finding{failed(applyGuards, "ValidatingAdmissionPolicy %s has other matchConditions than this "+
			"program's, so some requests aren't judged", want.Name)}
	case !sameRequests(want.Spec.MatchConstraints, is.Spec.MatchConstraints):
		return []Finding{failed(applyGuards, "ValidatingAdmissionPolicy %s has other matchConstraints than this "+
			"program's, so some requests aren't judged", want.Name)}
	case !equality.Semantic.DeepEqual(want.Spec.ParamKind, is.Spec.ParamKind):
		return []Finding{failed(applyGuards, "ValidatingAdmissionPolicy %s has a paramKind that this program's "+
			"doesn't have: without such an object nothing is judged", want.Name)}
	case !slices.Equal(expressions(want), expressions(is)):
		return []Finding{
			failed(applyGuards,
				"ValidatingAdmissionPolicy %s is of another version than this program, or somebody has changed it",
				want.Name)}
	}
	return nil
}

func sameRequests(want, is *admissionregistrationv1.MatchResources) bool {
	return equality.Semantic.DeepEqual(filledIn(want), filledIn(is))
}

// filledIn is what a policy is asked about, with what the API server fills in.
func filledIn(m *admissionregistrationv1.MatchResources) *admissionregistrationv1.MatchResources {
	if m == nil {
		m = &admissionregistrationv1.MatchResources{}
	}
	equivalent, all := admissionregistrationv1.Equivalent, admissionregistrationv1.AllScopes
	full := m.DeepCopy()
	full.MatchPolicy = cmp.Or(full.MatchPolicy, &equivalent)
	full.NamespaceSelector = cmp.Or(full.NamespaceSelector, &metav1.LabelSelector{})
	full.ObjectSelector = cmp.Or(full.ObjectSelector, &metav1.LabelSelector{})
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{
		full.ResourceRules, full.ExcludeResourceRules} {
		for i := range rules {
			rules[i].Scope = cmp.Or(rules[i].Scope, &all)
		}
	}
	return full
}

func expressions(p *admissionregistrationv1.ValidatingAdmissionPolicy) []string {
	var out []string
	for _, v := range p.Spec.Variables {
		out = append(out, v.Name, v.Expression)
	}
	for _, v := range p.Spec.Validations {
		out = append(out, v.Expression)
	}
	return out
}

// binding looks whether a policy's binding denies all that the policy refuses.
func binding(ctx context.Context, reader client.Reader,
	want *admissionregistrationv1.ValidatingAdmissionPolicyBinding) []Finding {
	is := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	err := reader.Get(ctx, client.ObjectKeyFromObject(want), is)
	switch {
	case apierrors.IsNotFound(err):
		return []Finding{
			failed(applyGuards,
				"ValidatingAdmissionPolicyBinding %s isn't there: ValidatingAdmissionPolicy %s judges nothing",
				want.Name, want.Spec.PolicyName)}
	case err != nil:
		return []Finding{unread("ValidatingAdmissionPolicyBinding "+want.Name, err)}
	case is.Spec.PolicyName != want.Spec.PolicyName:
		return []Finding{failed(applyGuards, "ValidatingAdmissionPolicyBinding %s is of %s, not of %s", want.Name,
			is.Spec.PolicyName, want.Spec.PolicyName)}
	case !slices.Contains(is.Spec.ValidationActions, admissionregistrationv1.Deny):
		return []Finding{
			failed(applyGuards,
				"ValidatingAdmissionPolicyBinding %s doesn't deny: what ValidatingAdmissionPolicy %s refuses passes",
				want.Name, want.Spec.PolicyName)}
	case !equality.Semantic.DeepEqual(want.Spec.ParamRef, is.Spec.ParamRef):
		return []Finding{failed(applyGuards, "ValidatingAdmissionPolicyBinding %s has another paramRef than this "+
			"program's: without such an object nothing is judged", want.Name)}
	case narrows(is.Spec.MatchResources):
		return []Finding{
			failed(applyGuards,
				"ValidatingAdmissionPolicyBinding %s has matchResources, so some requests aren't judged", want.Name)}
	}
	return nil
}

// narrows says whether a binding leaves requests out. The API server fills in selectors
// that choose all.
func narrows(m *admissionregistrationv1.MatchResources) bool {
	if m == nil {
		return false
	}
	return len(m.ResourceRules)+len(m.ExcludeResourceRules) > 0 || selects(m.NamespaceSelector) ||
		selects(m.ObjectSelector)
}

func selects(s *metav1.LabelSelector) bool {
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}
