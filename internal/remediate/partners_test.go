// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/breakertest"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/seal"
)

// Whoever may write plans and slices brings genuine ones back, of a plan that was rolled
// back, say: another plan that leads a joint write must not write it again, nor save its
// records, which would make them the latest.
func TestAReplayedPlanTakesNoPartInAJointWrite(t *testing.T) {
	cases := map[string]struct {
		reason       string
		plan, slice  int64 // how often the manager has recorded each, as it is stored
		shares, fine bool
	}{
		"As the manager left it": {reason: "nothing is older than the manager knows", plan: 7, slice: 5, shares: true,
			fine: true},
		"An earlier plan":         {reason: "its phase was Applying once", plan: 6, slice: 5, shares: true},
		"Earlier records":         {reason: "its target was Pending once", plan: 7, slice: 4},
		"An earlier state of all": {reason: "both are genuine, and go together", plan: 2, slice: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t)
			scheme := runtime.NewScheme()
			c.Must(v1alpha1.AddToScheme(scheme))
			c.Must(corev1.AddToScheme(scheme))
			rem := c.Plan("other")
			// so that a proven one has been asked, and writes nothing
			rem.UID, rem.Spec.DesiredState = "other-uid", v1alpha1.StatePaused
			rem.Spec.Plan.Slices, rem.Spec.Plan.Waves = []string{"other-0"}, []int32{1}
			rem.Status.Phase, rem.Status.Sequence = v1alpha1.PhaseApplying, tc.plan
			slice := &v1alpha1.RemediationSlice{
				ObjectMeta: metav1.ObjectMeta{
					Name: "other-0", Labels: map[string]string{v1alpha1.LabelRemediation: "other"},
					OwnerReferences: []metav1.OwnerReference{
						*metav1.NewControllerRef(rem, v1alpha1.GroupVersion.WithKind("Remediation"))}},
				Sequence: tc.slice}
			slice.Targets = []v1alpha1.Target{
				{Object: v1alpha1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web",
					UID: "u1"}}}
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(rem, slice).Build()
			control := &Controller{reader: api, records: record.NewCache(api), breakers: c.Set, policies: c.Catalog,
				clock: c.Time, permissions: &permissions.Finder{}, soaks: newSoakClock(),
				landings: execute.NewLandings(),
				marks:    &seal.Marks{Reader: api, Writer: api, Namespace: "evenkeel-system"}}
			latest, latestSlice := rem.DeepCopy(), slice.DeepCopy()
			latest.Status.Sequence, latestSlice.Sequence = 7, 5
			control.marks.Seen(latest, []*v1alpha1.RemediationSlice{latestSlice})

			one, err := control.ask(c.Ctx, "other")
			if one != nil || tc.fine && err != nil || !tc.fine && !errors.Is(err, seal.ErrUnproven) {
				t.Errorf("%s: asked, it answers %+v, %v", tc.reason, one, err)
			}
			if got := control.shares(c.Ctx, rem, map[string]bool{"u1": true}); got != tc.shares {
				t.Errorf("%s: shares the object: %t, want %t", tc.reason, got, tc.shares)
			}
		})
	}
}
