// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/internal/remediate/fixtest"
	"evenkeel.dev/evenkeel/internal/seal"
)

// Records of an ended plan that somebody has changed are told, once, and looked at again:
// nobody would hear why the policy is never planned anew.
func TestAnEndedPlanWithUnprovenRecordsIsTold(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := map[string]v1alpha1.TargetCounts{
		"what has failed keeps waiting": {Failed: 1},
		"what was left alone was told":  {Skipped: 1},
	}
	for name, counts := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			forged := func(_ context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object,
				_ ...client.GetOption) error {
				return fmt.Errorf(
					"RemediationSlice %s: what is recorded was changed by somebody else than the manager: %w", key.Name,
					seal.ErrUnproven)
			}
			api := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(
				interceptor.Funcs{Get: forged}).Build()
			pol := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "tags", UID: "p1"}}
			pol.SetDefaults()
			ended := fixtest.Ended(now)
			ended.Name, ended.Spec.Plan.Policy.UID, ended.Spec.Plan.Slices, ended.Status.Counts = "tags-1a2b3c4d", "p1",
				[]string{"tags-1a2b3c4d-0"}, counts
			d := draft{policy: pol, revision: "r1", plans: []v1alpha1.Remediation{*ended}}
			d.strategy.SetDefaults()
			recorded := clientevents.NewFakeRecorder(10)
			p := &Planner{drafter: drafter{reader: api, clock: clocktesting.NewFakePassiveClock(now)},
				interval: time.Minute, announced: newAnnouncements(), events: events.NewRecorder(recorded)}
			for range 2 {
				if wait, err := p.draft(t.Context(), pol, d, nil); err != nil || wait != p.interval {
					t.Errorf("looks again after %s, %v; want %s", wait, err, p.interval)
				}
			}
			close(recorded.Events)
			var told []string
			for event := range recorded.Events {
				told = append(told, event)
			}
			if len(told) != 1 || !strings.Contains(told[0], "plan tags-1a2b3c4d") ||
				!strings.Contains(told[0], "delete that plan") {
				t.Errorf("told %q", told)
			}
		})
	}
}
