// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// TestAPlanIsMadeByTheStrategyAsItIsNow: the reader sees an edit that no cache has seen yet.
func TestAPlanIsMadeByTheStrategyAsItIsNow(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	p, s := fixtest.Sharing()
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s).Build()
	planner := &Planner{drafter: drafter{reader: server}}
	d, why, err := planner.begin(t.Context(), p)
	if why != "" || err != nil {
		t.Fatalf("%q, %v", why, err)
	}
	if got := d.strategy; got.MaxInFlight.IntVal != 1 || len(got.Steps) != 2 ||
		got.Steps[1].Soak.Duration != time.Hour ||
		d.rollout.Mode != v1alpha1.RemediationAutomatic || d.rollout.MaxInFlight != 1 {
		t.Errorf("the draft's strategy is %+v", got)
	}
	by := plannedStrategy(d.named)
	if by.UID != "one" || by.Generation != 2 || by.Author != "sue" || strings.Join(by.Authors, " ") != "ann sue" {
		t.Errorf("the plan holds %+v", by)
	}
	if err := server.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, why, err := planner.begin(t.Context(), p); err != nil ||
		!strings.Contains(why, `there is no RemediationStrategy "careful"`) {
		t.Errorf("without the strategy: %q, %v", why, err)
	}
}
