// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// wantsNote is a policy on ConfigMaps "web" that looks a ConfigMap "note" up, which must say something, and creates one.
const wantsNote = `package notes

import rego.v1

noted if data.inventory.namespace[input.object.metadata.namespace].v1.ConfigMap.note.data.says == "SAYS"

deny contains "nobody notes it" if {
	input.object.metadata.name == "web"
	not noted
}

remediation contains {"action": "create", "object": {"apiVersion": "v1", "kind": "ConfigMap",
	"metadata": {"name": "note"}, "data": {"says": "hello"}}} if not noted
`

// A fix that creates is proven by what rules find of the object that it would create.
func TestAFixThatCreatesIsProvenByWhatRulesLookUp(t *testing.T) {
	for name, tc := range map[string]struct {
		says   string
		want   v1alpha1.TargetState
		reason string
	}{
		"what it creates is what is looked for": {"hello", v1alpha1.TargetIntent, ""},
		"it creates something else":             {"goodbye", v1alpha1.TargetFailed, v1alpha1.ReasonFixIneffective},
	} {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.ClusterRegoPolicy{}
			p.Name = "notes"
			p.Spec.Admission.Action = v1alpha1.AdmissionDeny
			p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
			p.Spec.Match.References = []v1alpha1.ReferencedKind{{Kind: "ConfigMap"}}
			p.Spec.Rego = v1alpha1.RegoSource{File: "notes.rego", Main: strings.Replace(wantsNote, "SAYS", tc.says, 1)}
			p.SetDefaults()
			policies := catalog.New(catalog.Options{Inventory: inventory.NewFixed(nil, nil)})
			if err := policies.Set(p); err != nil {
				t.Fatal(err)
			}
			d := newDesk(t)
			d.Snapshot, d.Plan.Policy.Name = policies.Snapshot(), "notes"
			d.Plan.Policy.Revision, _ = d.Snapshot.Revision("notes")
			rec := d.Prepare(t.Context())
			if rec.State != tc.want || rec.Reason != tc.reason {
				t.Errorf("%s %s: %s", rec.State, rec.Reason, rec.Message)
			}
		})
	}
}

// While what rules look up isn't known, a target waits, whichever policy asks and whenever. It ends at the deadline, and
// that speaks of nothing but the waiting.
func TestATargetWaitsForWhatIsLookedUpToBeKnown(t *testing.T) {
	unknown := policy.Decision{Err: fmt.Errorf("policy x: %w",
		&policy.UnknownReferenceError{Kind: "Service", Err: errors.New("its objects aren't listed yet")})}
	broken := policy.Decision{Err: errors.New("division by zero")}
	// at has a policy decide about the object in a state, and find nothing wrong with any other.
	at := func(state string, d policy.Decision) func(map[string]any) *policy.Decision {
		return func(object map[string]any) *policy.Decision {
			if now, _, _ := unstructured.NestedString(object, "data", "state"); now == state {
				return &d
			}
			return &policy.Decision{}
		}
	}
	for name, tc := range map[string]struct {
		change func(*desk, policy.Decision)
		// fine says that the fix is made all the same where the policy fails otherwise.
		fine bool
	}{
		"the plan's policy, of the object as it is": {change: func(d *desk, decides policy.Decision) {
			d.says("state", decides)
		}},
		"the plan's policy, of the fixed object": {change: func(d *desk, decides policy.Decision) {
			bad, good := fixtest.BadState(fixtest.SetState("good")), at("good", decides)
			d.judges["state"] = func(object map[string]any) *policy.Decision {
				if found := bad(object); len(found.Violations) > 0 {
					return found
				}
				return good(object)
			}
		}},
		"another policy, of the fixed object": {change: func(d *desk, decides policy.Decision) {
			d.judges["other"] = at("good", decides)
		}},
		"another policy, of the object before": {change: func(d *desk, decides policy.Decision) {
			d.judges["other"] = at("bad", decides)
		}, fine: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			tc.change(d, unknown)
			rec := d.Prepare(t.Context())
			if rec.State != v1alpha1.TargetPending || rec.Reason != v1alpha1.ReasonUnobserved || rec.Attempts != 0 ||
				rec.WaitingTime == nil || !strings.Contains(rec.Message, "Service: its objects aren't listed yet") {
				t.Errorf("unknown: %s %s, %d tries: %s", rec.State, rec.Reason, rec.Attempts, rec.Message)
			}
			d.Previous = rec
			d.Targets.Clock = clocktesting.NewFakePassiveClock(
				fixtest.Now.Add(d.Plan.Rollout.ProgressDeadline.Duration + time.Second))
			rec = d.Prepare(t.Context())
			if rec.State != v1alpha1.TargetFailed || rec.Reason != v1alpha1.ReasonUnobserved ||
				circuit.SpeaksOfFix(rec.Reason) {
				t.Errorf("unknown for long: %s %s: %s", rec.State, rec.Reason, rec.Message)
			}

			other := newDesk(t)
			tc.change(other, broken)
			rec = other.Prepare(t.Context())
			if failed := rec.State == v1alpha1.TargetFailed && rec.Reason == v1alpha1.ReasonEvaluationError; failed ==
				tc.fine {
				t.Errorf("a policy that fails: %s %s: %s", rec.State, rec.Reason, rec.Message)
			}
		})
	}
}
