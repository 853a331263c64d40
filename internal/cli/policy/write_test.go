// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// TestWhatAnotherVersionDropsIsTold has API servers with an earlier CustomResourceDefinition, or manager.
func TestWhatAnotherVersionDropsIsTold(t *testing.T) {
	until := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"}}
	asked := newOverride(p, v1alpha1.AdmissionWarn, until, "INC-42")
	type spec = v1alpha1.PolicyOverrideSpec
	for name, tc := range map[string]struct {
		change func(*spec)
		want   string
	}{
		"nothing is lost":          {func(*spec) {}, ""},
		"the action is dropped":    {func(s *spec) { s.AdmissionAction = "" }, "has dropped"},
		"the end is dropped":       {func(s *spec) { s.ExpirationTime = metav1.Time{} }, "has dropped"},
		"whose it is, is dropped":  {func(s *spec) { s.PolicyUID = "" }, "has dropped"},
		"who asked isn't recorded": {func(s *spec) { s.Requests = nil }, "has recorded nobody"},
		"another's record stands": {func(s *spec) {
			s.Requests = []v1alpha1.RequestRecord{{Action: v1alpha1.ActionPause}}
		}, "has recorded nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			stored := asked.DeepCopy()
			stored.Spec.Requests = []v1alpha1.RequestRecord{{Action: v1alpha1.ActionOverride, User: "ann"}}
			tc.change(&stored.Spec)
			got := lost(asked, stored)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
