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

func TestItIsToldThatNobodyIsWarnedOfSlips(t *testing.T) {
	const shipped, laidOut = "a ?\n  b : c", "a ?\n\n  b : c"
	policy := func(expression string) *admissionregistrationv1.ValidatingAdmissionPolicy {
		p := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "keys"}}
		p.Spec.Validations = []admissionregistrationv1.Validation{{Expression: expression}}
		return p
	}
	binding := func(action admissionregistrationv1.ValidationAction) client.Object {
		b := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "keys"}}
		b.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{action}
		return b
	}
	warn := admissionregistrationv1.Warn
	for name, tc := range map[string]struct {
		there []client.Object
		says  string // empty: all is well
	}{
		"all is there":       {there: []client.Object{policy(shipped), binding(warn)}},
		"the policy is gone": {[]client.Object{binding(warn)}, "ValidatingAdmissionPolicy keys isn't there"},
		"the binding is gone": {[]client.Object{policy(shipped)},
			"ValidatingAdmissionPolicyBinding keys isn't there"},
		"kustomize has laid it out": {there: []client.Object{policy(laidOut), binding(warn)}},
		"it is of another version":  {[]client.Object{policy("b"), binding(warn)}, "is of another version"},
		"it refuses": {[]client.Object{policy(shipped), binding(admissionregistrationv1.Deny)},
			"has other validationActions"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			in := &Installation{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.there...).Build(),
				KeyPolicies: []*admissionregistrationv1.ValidatingAdmissionPolicy{policy(shipped)},
				KeyBindings: []*admissionregistrationv1.ValidatingAdmissionPolicyBinding{
					binding(warn).(*admissionregistrationv1.ValidatingAdmissionPolicyBinding)}}
			found := in.keyWarnings(t.Context())
			if (len(found) == 0) != (tc.says == "") ||
				len(found) > 0 && (found[0].Status != Warn || !strings.Contains(found[0].Message, tc.says)) {
				t.Errorf("found %+v, want %q", found, tc.says)
			}
		})
	}
}
