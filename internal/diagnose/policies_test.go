// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

func TestAPolicyWithoutItsStrategyIsNotInForceAsWritten(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		conditions []metav1.Condition
		says       string // empty: fine
	}{
		"it is there": {conditions: kube.Ready(v1alpha1.ReasonCompiled, "in force")},
		"it is missing": {conditions: kube.Underway(v1alpha1.ReasonStrategyNotFound, "there is none"),
			says: "policy p: StrategyNotFound: there is none"},
		"what it refers to is known": {conditions: append(kube.Ready(v1alpha1.ReasonCompiled, "in force"),
			kube.ConditionTrue(v1alpha1.ConditionReferencesKnown, v1alpha1.ReasonListed, "of Node"))},
		"what it refers to isn't known": {conditions: append(kube.Ready(v1alpha1.ReasonCompiled, "in force"),
			kube.ConditionFalse(v1alpha1.ConditionReferencesKnown, v1alpha1.ReasonForbidden, "can't look up Node")),
			says: "policy p: Forbidden: can't look up Node"},
		"it can't be followed": {conditions: kube.Stalled(v1alpha1.ReasonStrategyInvalid, "no window"),
			says: "policy p: StrategyInvalid: no window"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.ClusterRegoPolicy{
				ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: v1alpha1.RegoPolicyStatus{Conditions: tc.conditions}}
			in := &Installation{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(p).Build(),
				working: &working{yes: true}}
			found := policies(t.Context(), in)
			if len(found) != 1 || (found[0].Status == OK) != (tc.says == "") ||
				!strings.Contains(found[0].Message, tc.says) {
				t.Errorf("found %+v, want %q", found, tc.says)
			}
		})
	}
}
