// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/recorded"
)

// TestWhatAnotherVersionDropsIsTold has API servers with an earlier CustomResourceDefinition, or manager.
func TestWhatAnotherVersionDropsIsTold(t *testing.T) {
	until := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"}}
	asked := newOverride(p, v1alpha1.AdmissionWarn, until, "INC-42")
	type kind = v1alpha1.PolicyOverride
	for name, tc := range map[string]struct {
		change func(*kind)
		want   string
	}{
		"nothing is lost":          {func(*kind) {}, ""},
		"the action is dropped":    {func(o *kind) { o.Spec.AdmissionAction = "" }, "has dropped"},
		"the end is dropped":       {func(o *kind) { o.Spec.ExpirationTime = metav1.Time{} }, "has dropped"},
		"whose it is, is dropped":  {func(o *kind) { o.Spec.PolicyUID = "" }, "has dropped"},
		"who asked isn't recorded": {func(o *kind) { o.Annotations = nil }, "has recorded nobody"},
		"another's record stands": {func(o *kind) {
			recorded.Requests(o, v1alpha1.RequestRecord{Action: v1alpha1.ActionPause, User: "ann"})
		}, "has recorded nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			stored := asked.DeepCopy()
			recorded.Requests(stored, v1alpha1.RequestRecord{Action: v1alpha1.ActionOverride, User: "ann"})
			tc.change(stored)
			got := lost(asked, stored)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
