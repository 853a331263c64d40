// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// needing has one more policy, "needs", by which the ConfigMap "other" violates while no "web" is found.
type needing struct {
	fixtest.Verdicts
	// always says that it violates whatever is found.
	always bool
}

func (needing) Referring(kinds ...schema.GroupKind) []string {
	if len(kinds) == 1 && kinds[0].Kind == "ConfigMap" {
		return []string{"needs"}
	}
	return nil
}

func (n needing) EvaluateOne(ctx context.Context, name string, r *policy.Request) (catalog.Result, bool) {
	if name != "needs" {
		return n.Verdicts.EvaluateOne(ctx, name, r)
	}
	d := policy.Decision{Policy: name, Violations: []policy.Violation{{Message: "web is missing"}}}
	for _, beside := range r.Beside {
		if (&unstructured.Unstructured{Object: beside}).GetName() == "web" && !n.always {
			d.Violations = nil
		}
	}
	return catalog.Result{Decision: d, Definition: n.Definition(name)}, true
}

// A deletion is undone for what it brings to another object, like any other write.
func TestADeletionIsJudgedByWhatItBringsToOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile func(*bench)
		always    bool
		stopped   bool
		want      rollout.CheckResult
		why       string
	}{
		"another object needs what was deleted":  {want: rollout.CheckFailed, why: v1alpha1.ReasonFixBreaksPolicy},
		"the other object violates all the same": {always: true, want: rollout.CheckPassed},
		"the policy has changed":                 {stopped: true, want: rollout.CheckPassed},
		"what was deleted can't be read": {meanwhile: func(b *bench) {
			b.pass.Records.Record(0).Write.Manifest.Raw = []byte("{")
		}, want: rollout.CheckWaiting, why: v1alpha1.ReasonUnobserved},
		"it was an eviction": {meanwhile: func(b *bench) {
			b.pass.Records.Record(0).Write.Action = v1alpha1.ActionEvict
		}, want: rollout.CheckPassed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.proposes(policy.Action{Type: policy.ActionDelete})
			if err := b.pass.write(t.Context(), []int{0}); err != nil {
				t.Fatal(err)
			}
			if tc.meanwhile != nil {
				tc.meanwhile(b)
			}
			b.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other", UID: "u3"}})
			b.pass.Targets.Reader = managing{b.pass.Targets.Reader, []metav1.ManagedFieldsEntry{{Manager: "kubectl",
				Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: fixtest.Now.Add(-time.Hour)}}}}
			judges := fixtest.Verdicts{"needs": fixtest.BadState(), "state": fixtest.BadState()}
			b.pass.Snapshot = needing{Verdicts: judges, always: tc.always}
			b.scans(func(policyName string, since time.Time) ([]policy.Finding, bool) {
				if policyName != "needs" || !since.Equal(fixtest.Now) {
					t.Errorf("asked for %s since %s", policyName, since)
				}
				return []policy.Finding{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "other",
					UID: "u3"}}, true
			})
			c := b.pass.verify(t.Context(), 0, tc.stopped)
			if c == nil || c.Result != tc.want || c.Reason != tc.why {
				t.Fatalf("got %+v", c)
			}
			if tc.want == rollout.CheckFailed &&
				!strings.Contains(c.Message, "makes ConfigMap shop/other violate policy needs: web is missing") {
				t.Errorf("it says %q", c.Message)
			}
		})
	}
}
