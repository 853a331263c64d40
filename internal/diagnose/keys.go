// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// applyKeys is what brings the warnings of keys without effect back.
const applyKeys = "kubectl apply --server-side -f config/rbac/keys_policy.yaml, of the version that you run"

// sameWords says whether two texts differ in their white space at most: kustomize breaks lines anew.
func sameWords(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// keyWarnings looks whether the API server warns of annotations and labels without effect, as this version has it.
func (in *Installation) keyWarnings(ctx context.Context) []Finding {
	const lost = "anyone who mistypes an opt-out isn't warned"
	for _, want := range in.KeyPolicies {
		is := &admissionregistrationv1.ValidatingAdmissionPolicy{}
		switch err := in.Client.Get(ctx, client.ObjectKeyFromObject(want), is); {
		case apierrors.IsNotFound(err):
			return []Finding{
				warned(applyKeys, "ValidatingAdmissionPolicy %s isn't there: %s", want.Name, lost)}
		case err != nil:
			return []Finding{unread("ValidatingAdmissionPolicy "+want.Name, err)}
		case !slices.EqualFunc(expressions(want), expressions(is), sameWords):
			return []Finding{warned(applyKeys, "ValidatingAdmissionPolicy %s is of another version than this program, "+
				"or somebody has changed it: %s", want.Name, lost+" as docs/changed.md has it")}
		}
	}
	for _, want := range in.KeyBindings {
		is := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
		switch err := in.Client.Get(ctx, client.ObjectKeyFromObject(want), is); {
		case apierrors.IsNotFound(err):
			return []Finding{
				warned(applyKeys, "ValidatingAdmissionPolicyBinding %s isn't there: %s", want.Name, lost)}
		case err != nil:
			return []Finding{unread("ValidatingAdmissionPolicyBinding "+want.Name, err)}
		case !slices.Equal(want.Spec.ValidationActions, is.Spec.ValidationActions):
			return []Finding{warned(applyKeys, "ValidatingAdmissionPolicyBinding %s has other validationActions than "+
				"this program's: a slip is to be warned of, and no more", want.Name)}
		}
	}
	return nil
}
