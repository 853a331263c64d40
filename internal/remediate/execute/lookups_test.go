// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// watching judges by what a watch has shown: an object may not share its state with another. lag is how often
// it is asked in vain until it has shown what was written; without it (below zero) that never happens.
type watching struct {
	fixtest.Verdicts
	b *bench
	// guard is for the two below: targets are checked side by side.
	guard sync.Mutex
	shown map[string]string
	lag   int
	// bystanders is a policy that refers to all kinds, and judges the object "other", which no other policy sees.
	bystanders string
	// deletes has the fix be a deletion.
	deletes bool
	// unknown answers whoever asks for bystanders; with unwritten only of what would be if nothing had been written.
	unknown   error
	unwritten bool
}

func newWatching(b *bench, lag int) *watching {
	w := &watching{b: b, lag: lag, shown: map[string]string{}}
	w.Verdicts = fixtest.Verdicts{"state": func(map[string]any) *policy.Decision { return nil }}
	w.look()
	return w
}

func (w *watching) look() {
	list := &corev1.ConfigMapList{}
	if err := w.b.api.List(w.b.t.Context(), list); err != nil {
		w.b.t.Fatal(err)
	}
	clear(w.shown)
	for i := range list.Items {
		w.shown[list.Items[i].Name] = list.Items[i].Data["state"]
	}
}

func (*watching) LooksUp(string) bool { return true }

func (w *watching) Referring(...schema.GroupKind) []string {
	if w.bystanders == "" {
		return nil
	}
	return []string{w.bystanders}
}

func (w *watching) Shows(_ string, objects ...*unstructured.Unstructured) error {
	if len(objects) == 0 {
		return nil
	}
	w.guard.Lock()
	defer w.guard.Unlock()
	if w.lag--; w.lag != -1 {
		return errors.New("ConfigMap: its watch lags behind")
	}
	w.lag = 0
	w.look()
	return nil
}

// Holds says what the watch has shown; each time that it is asked, it has come further, as Shows has it.
func (w *watching) Holds(_ string, object v1alpha1.ObjectReference) (bool, error) {
	w.guard.Lock()
	defer w.guard.Unlock()
	if w.lag > 0 {
		w.lag--
	} else if w.lag == 0 {
		w.look()
	}
	_, found := w.shown[object.Name]
	return found, nil
}

func (w *watching) EvaluateOne(_ context.Context, name string, r *policy.Request) (catalog.Result, bool) {
	object := unstructured.Unstructured{Object: r.Object}
	state, _, _ := unstructured.NestedString(r.Object, "data", "state")
	d := policy.Decision{Policy: name}
	if name == w.bystanders && name != "" && w.unknown != nil && (!w.unwritten || len(r.Beside) > 0) {
		d.Err = w.unknown
		return catalog.Result{Decision: d, Definition: w.Definition(name)}, true
	}
	held := map[string]string{}
	w.guard.Lock()
	for other, theirs := range w.shown {
		held[other] = theirs
	}
	w.guard.Unlock()
	for _, beside := range r.Beside {
		other := unstructured.Unstructured{Object: beside}
		held[other.GetName()], _, _ = unstructured.NestedString(beside, "data", "state")
	}
	if name == "state" {
		delete(held, "other")
	}
	for other, theirs := range held {
		if other != object.GetName() && theirs == state {
			d.Violations = append(d.Violations,
				policy.Violation{Message: other + " has the state " + state + " already"})
			d.Actions = []policy.Action{fixtest.SetState("of-" + object.GetName())}
			if w.deletes {
				d.Actions = []policy.Action{{Type: policy.ActionDelete}}
			}
		}
	}
	return catalog.Result{Decision: d, Definition: w.Definition(name)}, true
}

func (w *watching) Evaluate(ctx context.Context, r *policy.Request) []catalog.Result {
	result, _ := w.EvaluateOne(ctx, "state", r)
	return []catalog.Result{result}
}

// twoShare are a bench with two targets of the same state.
func twoShare(t *testing.T) *bench {
	b := newBench(t)
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "second", UID: "u2"},
		Data: map[string]string{"state": "bad"}}
	b.create(other)
	ref := fixtest.Web()
	ref.Name, ref.UID = "second", "u2"
	b.pass.LookupPatience = 5 * lookupPoll
	b.pass.Records.Add(&v1alpha1.RemediationSlice{Targets: []v1alpha1.Target{{Object: ref}}})
	return b
}

// What the first write heals is seen before the second is made, however late the watch shows it; and while
// it doesn't, the second waits.
func TestATargetIsJudgedByWhatWasWrittenBefore(t *testing.T) {
	for name, tc := range map[string]struct {
		lag    int
		state  v1alpha1.TargetState
		reason string
	}{
		"shown at once":      {lag: 0, state: v1alpha1.TargetSkipped, reason: v1alpha1.ReasonAlreadyClean},
		"shown a bit later":  {lag: 3, state: v1alpha1.TargetSkipped, reason: v1alpha1.ReasonAlreadyClean},
		"not shown for long": {lag: -1, state: v1alpha1.TargetPending, reason: v1alpha1.ReasonUnobserved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := twoShare(t)
			if tc.lag >= 0 {
				b.pass.LookupPatience = time.Minute
			}
			b.pass.Snapshot = newWatching(b, tc.lag)
			if err := b.pass.write(t.Context(), []int{0, 1}); err != nil {
				t.Fatal(err)
			}
			first, second := b.pass.Records.Record(0), b.pass.Records.Record(1)
			if first.State != v1alpha1.TargetApplied || b.object("web").Data["state"] != "of-web" {
				t.Errorf("the first: %s %s: %s", first.State, first.Reason, first.Message)
			}
			if second.State != tc.state || second.Reason != tc.reason || b.object("second").Data["state"] != "bad" {
				t.Errorf("the second: %s %s: %s", second.State, second.Reason, second.Message)
			}
			if tc.lag >= 0 {
				return
			}
			if second.WaitingTime == nil || second.Attempts != 0 || !strings.Contains(second.Message, "lags behind") {
				t.Errorf("it doesn't wait, or counts as tried: %+v", second)
			}
		})
	}
}

// A write isn't undone because the watch hasn't shown yet what it has made.
func TestAWrittenTargetIsVerifiedByWhatItHasMade(t *testing.T) {
	b := twoShare(t)
	watch := newWatching(b, 0)
	b.pass.Snapshot = watch
	if err := b.pass.write(t.Context(), []int{0}); err != nil {
		t.Fatal(err)
	}
	watch.lag = -1
	watch.shown["third"] = "of-web" // gone by now
	if c := b.pass.verify(t.Context(), 0, false); c == nil || c.Result != rollout.CheckWaiting ||
		!strings.Contains(c.Message, "lags behind") {
		t.Errorf("while the watch lags: %+v", c)
	}
	watch.lag = 0
	if c := b.pass.verify(t.Context(), 0, false); c != nil && c.Result == rollout.CheckFailed {
		t.Errorf("once it has caught up: %+v", c)
	}
}

// managing reads the object "other" with the fields that somebody manages.
type managing struct {
	client.Reader
	fields []metav1.ManagedFieldsEntry
}

func (m managing) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := m.Reader.Get(ctx, key, obj, opts...)
	if key.Name == "other" {
		obj.SetManagedFields(m.fields)
	}
	return err
}

// A written target is undone for what it brings to another object: where that is so because of the write, and
// nobody has written the other one since.
func TestAWriteIsJudgedByWhatItBringsToOthers(t *testing.T) {
	early, late := fixtest.Now.Add(-time.Hour), fixtest.Now.Add(time.Hour)
	owned := func(at time.Time, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate,
			APIVersion: "v1", FieldsType: "FieldsV1", Time: &metav1.Time{Time: at}, Subresource: subresource}
	}
	before, since := []metav1.ManagedFieldsEntry{owned(early, "")}, []metav1.ManagedFieldsEntry{owned(late, "")}
	for name, tc := range map[string]struct {
		state  string
		fields []metav1.ManagedFieldsEntry
		uid    string
		audit  bool
		fails  bool
	}{
		"it shares its state with the written one": {state: "of-web", fails: true,
			fields: append(before, owned(late, "status"))},
		"it shared the state that was there before": {state: "bad", fields: before},
		"it shares no state":                        {state: "other", fields: before},
		"it was written since":                      {state: "of-web", fields: since},
		"nobody knows when it was written":          {state: "of-web"},
		"it was made again since":                   {state: "of-web", fields: before, uid: "u9"},
		"the policy only records":                   {state: "of-web", fields: before, audit: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := twoShare(t)
			watch := newWatching(b, 0)
			b.pass.Snapshot = watch
			if err := b.pass.write(t.Context(), []int{0}); err != nil {
				t.Fatal(err)
			}
			b.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other", UID: "u3"},
				Data: map[string]string{"state": tc.state}})
			b.pass.Targets.Reader = managing{b.pass.Targets.Reader, tc.fields}
			watch.bystanders = "bystanders"
			if tc.audit {
				watch.bystanders = "audit"
			}
			watch.Verdicts[watch.bystanders] = watch.Verdicts["state"]
			var asked time.Time
			b.scans(func(_ string, since time.Time) ([]policy.Finding, bool) {
				asked = since
				return []policy.Finding{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "other",
					UID: cmp.Or(tc.uid, "u3")}}, true
			})
			c := b.pass.verify(t.Context(), 0, false)
			if c == nil || (c.Result == rollout.CheckFailed) != tc.fails {
				t.Fatalf("got %+v", c)
			}
			if !asked.Equal(fixtest.Now) && !tc.audit {
				t.Errorf("asked for newcomers since %s, written at %s", asked, fixtest.Now)
			}
			if tc.fails && (c.Reason != v1alpha1.ReasonFixBreaksPolicy ||
				!strings.Contains(c.Message, "makes ConfigMap shop/other violate policy bystanders: web has the ")) {
				t.Errorf("%s: %s", c.Reason, c.Message)
			}
		})
	}
}

// Whether a write brings a violation to another object is waited for while what its policy looks up isn't known. A
// policy that fails says nothing.
func TestWhatAWriteBringsToOthersIsWaitedFor(t *testing.T) {
	unknown := &policy.UnknownReferenceError{Kind: "Service", Err: errors.New("stale")}
	for name, tc := range map[string]struct {
		err       error
		unwritten bool
		want      rollout.CheckResult
	}{
		"nothing is known": {err: unknown, want: rollout.CheckWaiting},
		"what would be without the write isn't known": {err: unknown, unwritten: true, want: rollout.CheckWaiting},
		"the policy fails":                            {err: errors.New("division by zero"), want: rollout.CheckPassed},
		"the policy fails of what would be": {err: errors.New("division by zero"), unwritten: true,
			want: rollout.CheckPassed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := twoShare(t)
			watch := newWatching(b, 0)
			b.pass.Snapshot = watch
			if err := b.pass.write(t.Context(), []int{0}); err != nil {
				t.Fatal(err)
			}
			b.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other", UID: "u3"},
				Data: map[string]string{"state": "of-web"}})
			b.pass.Targets.Reader = managing{b.pass.Targets.Reader, []metav1.ManagedFieldsEntry{{Manager: "kubectl",
				Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: fixtest.Now.Add(-time.Hour)}}}}
			watch.bystanders, watch.unknown, watch.unwritten = "bystanders", tc.err, tc.unwritten
			watch.Verdicts["bystanders"] = watch.Verdicts["state"]
			b.scans(func(string, time.Time) ([]policy.Finding, bool) {
				return []policy.Finding{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "other",
					UID: "u3"}}, true
			})
			c := b.pass.verify(t.Context(), 0, false)
			if c == nil || c.Result != tc.want || (c.Reason == v1alpha1.ReasonUnobserved) !=
				(tc.want == rollout.CheckWaiting) {
				t.Errorf("got %+v", c)
			}
		})
	}
}

// What a fix has made and changed is known from its record alone.
func TestWhatAWriteHasChangedIsKnownFromItsRecord(t *testing.T) {
	b := newBench(t)
	if err := b.pass.write(t.Context(), []int{0}); err != nil {
		t.Fatal(err)
	}
	obj, err := b.pass.Targets.Read(t.Context(), b.target)
	if err != nil {
		t.Fatal(err)
	}
	w := b.pass.writtenBy(obj, b.pass.Records.Record(0))
	if len(w.made) != 1 || (&unstructured.Unstructured{Object: w.made[0]}).GetName() != "note" || len(w.now) != 2 {
		t.Errorf("it has made %v, and written %d objects", w.made, len(w.now))
	}
	if state, _, _ := unstructured.NestedString(w.before[0], "data", "state"); state != "bad" || len(w.before) != 1 {
		t.Errorf("before, it was %v", w.before)
	}
	if !w.since.Equal(fixtest.Now) {
		t.Errorf("written since %s", w.since)
	}
}
