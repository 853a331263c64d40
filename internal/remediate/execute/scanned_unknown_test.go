// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// While anything that a policy looks up isn't known it judges nothing, and its passes prove nothing: they don't count
// once it is known, either.
func TestPassesOfAPolicyThatCouldntJudgeDontCount(t *testing.T) {
	b, watch, scan, check := verifying(t)
	snapshot := &holding{watching: watch}
	b.pass.Snapshot = snapshot
	waits := func(what, why string) {
		t.Helper()
		if c := check(); c == nil || c.Result != rollout.CheckWaiting || c.Reason != v1alpha1.ReasonUnobserved ||
			!strings.Contains(c.Message, why) {
			t.Errorf("%s: %+v, want it to wait: %s", what, c, why)
		}
	}
	waits("before a pass", "the scan hasn't gone through ConfigMap since")
	snapshot.unknown = errors.New("Service: its watch is broken")
	scan.latest, scan.ended["bystanders"] = 8, 8
	waits("a pass while Services aren't known", "its watch is broken")
	snapshot.unknown = nil
	waits("the same pass, once they are", "the scan hasn't gone through ConfigMap since")
	scan.ended["bystanders"] = 9
	if c := check(); c == nil || c.Result != rollout.CheckPassed {
		t.Errorf("a pass has begun since: %+v", c)
	}
}

// referred has the policy "bystanders" look up Services alone.
type referred struct{ fixtest.Verdicts }

func (referred) Referring(kinds ...schema.GroupKind) []string {
	for _, kind := range kinds {
		if kind.Kind == "Service" {
			return []string{"bystanders"}
		}
	}
	return nil
}

// What a fix creates brings harm as what it changes does: while that wouldn't be found, nothing is created.
func TestNothingIsCreatedWhileItsHarmCouldntBeFound(t *testing.T) {
	service := map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "note"},
		"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}}
	creates := policy.Action{Type: policy.ActionCreate, Object: service}
	changes, forbidden := fixtest.SetState("good"), errors.New("Ingress may not be read")
	for name, tc := range map[string]struct {
		actions []policy.Action
		blind   error
		want    v1alpha1.TargetState
	}{
		"it wouldn't be found":  {[]policy.Action{creates, changes}, forbidden, v1alpha1.TargetPending},
		"it would be":           {[]policy.Action{creates, changes}, nil, v1alpha1.TargetApplied},
		"no Service is created": {[]policy.Action{changes}, forbidden, v1alpha1.TargetApplied},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.pass.Snapshot = referred{fixtest.Verdicts{"state": fixtest.BadState(tc.actions...),
				"bystanders": fixtest.BadState()}}
			mapper := meta.NewDefaultRESTMapper(nil)
			for _, kind := range []string{"ConfigMap", "Service"} {
				mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
			}
			b.pass.Targets.Mapper = mapper
			b.scans(func(string, time.Time) ([]policy.Finding, bool) { return nil, true }).blind =
				map[string]error{"bystanders": tc.blind}
			if err := b.pass.write(t.Context(), []int{0}); err != nil {
				t.Fatal(err)
			}
			rec := b.pass.Records.Record(0)
			if rec.State != tc.want {
				t.Errorf("%s %s: %s", rec.State, rec.Reason, rec.Message)
			}
			if waits := tc.want == v1alpha1.TargetPending; waits && (rec.Reason != v1alpha1.ReasonUnobserved ||
				rec.Attempts != 0 || !strings.Contains(rec.Message, "policy bystanders: Ingress may not be read") ||
				b.object("web").Data["state"] != "bad") {
				t.Errorf("%s, %d tries: %s", rec.Reason, rec.Attempts, rec.Message)
			}
		})
	}
}
