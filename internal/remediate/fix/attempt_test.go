// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/test/breakertest"
	"evenkeel.dev/evenkeel/test/fixtest"
	"evenkeel.dev/evenkeel/test/fixture"
)

func TestARemovalThatArrivesLateIsOurs(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "web")
	live, replaced := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	live.SetUID("u1")
	replaced.SetUID("u2")
	deleted := &v1alpha1.WriteRecord{Action: v1alpha1.ActionDelete, UID: "u1"}
	cases := map[string]struct {
		write *v1alpha1.WriteRecord
		obj   *unstructured.Unstructured
		err   error
		want  bool
	}{
		"the object is gone":           {deleted, nil, gone, true},
		"the object was replaced":      {deleted, replaced, nil, true},
		"the object is there":          {deleted, live, nil, false},
		"the object can't be read":     {deleted, nil, errors.New("timeout"), false},
		"only a patch was recorded":    {&v1alpha1.WriteRecord{UID: "u1"}, nil, gone, false},
		"nothing was recorded earlier": {nil, nil, gone, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := &Attempt{Targets: targetsAt(fixtest.Now),
				Previous: v1alpha1.TargetRecord{State: v1alpha1.TargetPending, Write: tc.write.DeepCopy()}}
			rec := a.lateRemoval(tc.obj, tc.err)
			if (rec != nil) != tc.want || rec != nil && rec.State != v1alpha1.TargetApplied {
				t.Errorf("got %+v", rec)
			}
		})
	}
}

func TestWaitingForADisruptionBudgetIsNoTry(t *testing.T) {
	refused := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	refused.ErrStatus.Details.Causes = []metav1.StatusCause{
		{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 1 healthy pods"}}
	ago := func(d time.Duration) *metav1.MicroTime {
		at := metav1.NewMicroTime(fixtest.Now.Add(-d))
		return &at
	}
	cases := map[string]struct {
		err   error
		since *metav1.MicroTime
		want  v1alpha1.TargetState
		why   string
		tries int32
	}{
		"refused for the first time": {refused, nil, v1alpha1.TargetPending, v1alpha1.ReasonDisruptionBudget, 0},
		"refused within the deadline": {refused, ago(time.Minute), v1alpha1.TargetPending,
			v1alpha1.ReasonDisruptionBudget, 0},
		"refused after the deadline": {refused, ago(2 * time.Minute), v1alpha1.TargetFailed,
			v1alpha1.ReasonDisruptionBudget, 0},
		"a server that throttles is a try": {apierrors.NewTooManyRequests("slow down", 1), nil, v1alpha1.TargetPending,
			v1alpha1.ReasonRetrying, 1},
		"a denial while it waited is final": {
			apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(`admission webhook "x" denied the request`)),
			ago(time.Minute), v1alpha1.TargetFailed, v1alpha1.ReasonAdmissionDenied, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := &Attempt{Targets: targetsAt(fixtest.Now),
				Previous: v1alpha1.TargetRecord{State: v1alpha1.TargetPending, Reason: v1alpha1.ReasonDisruptionBudget,
					WaitingTime: tc.since}}
			a.Plan.Rollout = fixture.Planned(v1alpha1.RemediationAutomatic)
			a.Plan.Rollout.ProgressDeadline = metav1.Duration{Duration: 90 * time.Second}
			got := a.FromError(tc.err)
			if got.State != tc.want || got.Reason != tc.why || got.Attempts != tc.tries {
				t.Errorf("%s (%s), %d tries: %s", got.State, got.Reason, got.Attempts, got.Message)
			}
			waits := got.Reason == v1alpha1.ReasonDisruptionBudget && got.State == v1alpha1.TargetPending
			if waits && tc.since != nil && !got.WaitingTime.Equal(tc.since) || waits != (got.WaitingTime != nil) {
				t.Errorf("waiting since %v, from %v", got.WaitingTime, tc.since)
			}
		})
	}
}

func TestWhatIsCreatedOrDeletedCountsInTheRecord(t *testing.T) {
	for size, want := range map[int]string{1 << 10: "", 1 << 20: v1alpha1.ReasonFixTooLarge} {
		a := &Attempt{Targets: targetsAt(fixtest.Now), Writes: []*Write{{}}}
		a.Writes[0].Record.Manifest = &apiextensionsv1.JSON{Raw: []byte(strings.Repeat("x", size))}
		got := ""
		if rec := RecordWithinLimit(t.Context(), a); rec != nil {
			got = rec.Reason
		}
		if got != want {
			t.Errorf("a manifest of %d bytes: %q, want %q", size, got, want)
		}
	}
}

func TestAMissingRightIsAwaitedButNotByAPreview(t *testing.T) {
	for mode, want := range map[v1alpha1.RemediationMode]v1alpha1.TargetState{
		v1alpha1.RemediationAutomatic: v1alpha1.TargetPending, v1alpha1.RemediationManual: v1alpha1.TargetPending,
		v1alpha1.RemediationDryRun: v1alpha1.TargetFailed,
	} {
		a := &Attempt{Targets: targetsAt(fixtest.Now)}
		a.Plan.Rollout.Mode = mode
		rec := a.awaitPermissions("{verbs}")
		if rec.State != want || rec.Reason != v1alpha1.ReasonMissingPermissions || rec.Attempts != 0 ||
			!strings.Contains(rec.Message, "{verbs}") {
			t.Errorf("%s: %+v", mode, rec)
		}
	}
}

// A fix may change no field that it doesn't name, and must still resolve the violation once the
// server has had its say.
func TestOnlyWhatTheFixSays(t *testing.T) {
	ops := []policy.PatchOp{{Op: "add", Path: "/metadata/labels/owner", Value: "x", HasValue: true}}
	cases := map[string]struct {
		reason string
		stored map[string]any
		want   string
	}{
		"the server stores what is asked for": {"it may go on", map[string]any{"owner": "x"}, ""},
		"a webhook adds a label of its own": {"the fix doesn't name it", map[string]any{"owner": "x", "team": "y"},
			v1alpha1.ReasonFixChangesMore},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attemptAt(fixtest.Waived(t, "team", fixtest.Now.Add(time.Hour)), fixtest.Widget(map[string]any{}))
			w := &Write{Step: action.Step{Type: v1alpha1.ActionPatch, Ops: ops}, Base: a.Object}
			stored := fixtest.Widget(tc.stored)
			w.Fields = action.Diff(a.Object.Object, stored.Object)
			got := ""
			if rec := a.onlyWhatItSays(context.Background(), w, stored); rec != nil {
				got = rec.Reason
			}
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// targetsAt knows no kind and reads nothing.
func targetsAt(now time.Time) *targets.Client {
	return &targets.Client{Mapper: meta.NewDefaultRESTMapper(nil), Clock: clocktesting.NewFakePassiveClock(now)}
}

func attemptAt(snapshot *catalog.Snapshot, object *unstructured.Unstructured) *Attempt {
	a := &Attempt{Targets: targetsAt(fixtest.Now), Snapshot: snapshot, Object: object}
	a.Plan.Policy.Name = "owner"
	a.Plan.Policy.Revision, _ = snapshot.Revision("owner")
	return a
}

// A target waits for its kind up to the progress deadline, and no breaker counts it.
func TestAKindThatStaysAwayIsNoFailureOfTheFix(t *testing.T) {
	a := &Attempt{Targets: targetsAt(fixtest.Now), Previous: v1alpha1.TargetRecord{State: v1alpha1.TargetPending}}
	a.Plan.Rollout.ProgressDeadline = metav1.Duration{Duration: time.Minute}
	answer := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Widget"}}
	a.Previous = *a.FromError(answer)
	a.Targets.Clock = clocktesting.NewFakePassiveClock(fixtest.Now.Add(time.Minute))
	if rec := a.FromError(answer); rec.State != v1alpha1.TargetPending {
		t.Errorf("at its deadline it is %s", rec.State)
	}
	a.Targets.Clock = clocktesting.NewFakePassiveClock(fixtest.Now.Add(time.Minute + time.Second))
	rec := a.FromError(answer)
	if rec.State != v1alpha1.TargetFailed || rec.Reason != v1alpha1.ReasonNotServed ||
		!strings.Contains(rec.Message, `"Widget"`) {
		t.Errorf("after its deadline it is %s (%s): %s", rec.State, rec.Reason, rec.Message)
	}
}

// The error of a webhook that can't be reached is no denial: the target is tried
// again, and when it fails for that in the end, its reason says nothing of the fix.
func TestAWebhookThatDoesntAnswerDeniesNothing(t *testing.T) {
	down := apierrors.NewInternalError(
		errors.New(
			`failed calling webhook "deny.example.com": failed to call webhook: Post "https://deny.example.svc:443/?timeout=10s": dial tcp 10.0.0.1:443: connect: connection refused`))
	a := &Attempt{Targets: &targets.Client{Clock: clocktesting.NewFakePassiveClock(breakertest.Noon)},
		Previous: v1alpha1.TargetRecord{State: v1alpha1.TargetPending}}
	a.Plan.Rollout = fixture.Planned(v1alpha1.RemediationAutomatic)
	for range 20 {
		if a.Previous = *a.FromError(down); a.Previous.State != v1alpha1.TargetPending {
			break
		}
	}
	if rec := a.Previous; rec.State != v1alpha1.TargetFailed || rec.Reason != v1alpha1.ReasonRetriesExhausted ||
		circuit.SpeaksOfFix(rec.Reason) {
		t.Errorf("the target ends as %s (%s): %s", rec.State, rec.Reason, rec.Message)
	}
}

// What a fix for a Namespace creates in it is judged with that Namespace as the fix leaves it.
func TestWhatIsJudgedAfterwards(t *testing.T) {
	shop := func(labels map[string]any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{"name": "shop", "labels": labels}}
	}
	in := func(namespace string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "note", "namespace": namespace}}
	}
	live, fixed := shop(nil), shop(map[string]any{"team": "web"})
	other := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": "other"}}}
	for about, tc := range map[string]struct {
		of        map[string]any
		patched   map[string]any
		namespace *unstructured.Unstructured
		want      map[string]any
		beside    []map[string]any
	}{
		"what is created in the target":      {in("shop"), fixed, nil, fixed, []map[string]any{fixed}},
		"what is created in another":         {in("other"), fixed, nil, nil, []map[string]any{fixed}},
		"an object whose Namespace is known": {in("other"), fixed, other, other.Object, []map[string]any{fixed}},
		"one of the target's name":           {in("shop"), fixed, other, other.Object, []map[string]any{fixed}},
		"a fix that patches nothing":         {in("other"), nil, other, other.Object, nil},
	} {
		a := &Attempt{Targets: targetsAt(fixtest.Now), Object: &unstructured.Unstructured{Object: live},
			Patched: tc.patched, Namespace: tc.namespace}
		r := a.afterwards(tc.of)
		if diff := cmp.Diff(tc.want, r.NamespaceObject); diff != "" {
			t.Errorf("%s: its Namespace (-want +got):\n%s", about, diff)
		}
		if diff := cmp.Diff(tc.beside, r.Beside); diff != "" {
			t.Errorf("%s: beside it (-want +got):\n%s", about, diff)
		}
	}
}
