// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// counting counts how often each object is read. Those whose names begin with "n" are there, written long ago, but for
// "nobody"; their UIDs are their names.
type counting struct {
	client.Reader
	mu    sync.Mutex
	reads map[string]int
	// broken is one that can't be read.
	broken string
}

func (c *counting) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	c.mu.Lock()
	c.reads[key.Name]++
	c.mu.Unlock()
	if key.Name == "unreadable" || key.Name == c.broken {
		return apierrors.NewServiceUnavailable("try again")
	}
	if !strings.HasPrefix(key.Name, "n") {
		return c.Reader.Get(ctx, key, obj, opts...)
	}
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	obj.SetUID(types.UID(key.Name))
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl",
		Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: fixtest.Now.Add(-time.Hour)}}})
	if key.Name == "nobody" {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return nil
}

// judging has the policy "bystanders" find fault with an object called "nalways" always, with "nclean" never, with "nweb"
// because of what was written to web, and with "nboth" because of either target's write.
type judging struct {
	*watching
	mu    sync.Mutex
	asked map[string]int
}

func (j *judging) EvaluateOne(ctx context.Context, name string, r *policy.Request) (catalog.Result, bool) {
	if name != "bystanders" {
		return j.watching.EvaluateOne(ctx, name, r)
	}
	j.mu.Lock()
	j.asked[r.Name]++
	j.mu.Unlock()
	undone := map[string]bool{}
	for _, beside := range r.Beside {
		before := unstructured.Unstructured{Object: beside}
		state, _, _ := unstructured.NestedString(beside, "data", "state")
		undone[before.GetName()] = state == "bad"
	}
	healed := r.Name == "nclean" || r.Name == "nweb" && undone["web"] ||
		r.Name == "nboth" && (undone["web"] || undone["second"])
	d := policy.Decision{Policy: name}
	if !healed {
		d.Violations = []policy.Violation{{Message: r.Name + " is disturbed"}}
	}
	return catalog.Result{Decision: d, Definition: j.Definition(name)}, true
}

// bothWritten are two targets that were written, of which a pass finds that some objects began to violate since.
func bothWritten(t *testing.T, all bool, found ...string) (*bench, *judging, *counting) {
	t.Helper()
	b := twoShare(t)
	judge := &judging{watching: newWatching(b, 0), asked: map[string]int{}}
	b.pass.Snapshot = judge
	for i := range 2 {
		judge.shown = map[string]string{"third": "bad"}
		if err := b.pass.writeAtOnce(t.Context(), []int{i}); err != nil {
			t.Fatal(err)
		}
		if rec := b.pass.Records.Record(i); rec.State != v1alpha1.TargetApplied {
			t.Fatalf("%d: %s %s: %s", i, rec.State, rec.Reason, rec.Message)
		}
	}
	b.inForce()
	reads := &counting{Reader: b.pass.Targets.Reader, reads: map[string]int{}}
	b.pass.Targets.Reader = reads
	judge.bystanders = "bystanders"
	judge.Verdicts["bystanders"] = judge.Verdicts["state"]
	b.scans(func(string, time.Time) (newcomers []policy.Finding, _ bool) {
		for _, name := range found {
			newcomers = append(newcomers, policy.Finding{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop",
				Name: name, UID: name})
		}
		return newcomers, all
	})
	return b, judge, reads
}

// checked is what a pass finds of the two targets.
func checked(b *bench) [2]*rollout.Check {
	o := rollout.Observation{Targets: b.pass.Records.Views()}
	o.Status.Phase = v1alpha1.PhaseVerifying
	b.pass.CheckAll(b.t.Context(), &o)
	return [2]*rollout.Check{o.Targets[0].Check, o.Targets[1].Check}
}

// What a pass's writes bring to others is blamed on the target that did, and waited for where it can't be told.
func TestWhoBroughtAViolationIsFoundAmongAPassesTargets(t *testing.T) {
	many := make([]string, maxNeighbours+50)
	for i := range many {
		many[i] = fmt.Sprint("nalways-", i)
	}
	passed, failed, waits := rollout.CheckPassed, rollout.CheckFailed, rollout.CheckWaiting
	for name, tc := range map[string]struct {
		found []string
		some  bool
		want  [2]rollout.CheckResult
	}{
		"nobody began to violate":       {want: [2]rollout.CheckResult{passed, passed}},
		"one is disturbed anyway":       {found: []string{"nalways"}, want: [2]rollout.CheckResult{passed, passed}},
		"one complies again":            {found: []string{"nclean"}, want: [2]rollout.CheckResult{passed, passed}},
		"one is gone":                   {found: []string{"nobody"}, want: [2]rollout.CheckResult{passed, passed}},
		"one is disturbed by web":       {found: []string{"nweb"}, want: [2]rollout.CheckResult{failed, passed}},
		"one is disturbed by either":    {found: []string{"nboth"}, want: [2]rollout.CheckResult{failed, failed}},
		"one can't be read":             {found: []string{"unreadable"}, want: [2]rollout.CheckResult{waits, waits}},
		"there are more than are known": {some: true, want: [2]rollout.CheckResult{waits, waits}},
		"more than are known, one of them": {found: []string{"nweb"}, some: true,
			want: [2]rollout.CheckResult{failed, waits}},
		"more than a pass reads": {found: many, want: [2]rollout.CheckResult{waits, waits}},
		"more than a pass reads, one of them": {found: append([]string{"unreadable", "nweb"}, many...),
			want: [2]rollout.CheckResult{failed, waits}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _, reads := bothWritten(t, !tc.some, tc.found...)
			for i, c := range checked(b) {
				if c == nil || c.Result != tc.want[i] ||
					(c.Result == waits) != (c.Reason == v1alpha1.ReasonUnobserved) {
					t.Errorf("target %d: got %+v, want %d", i, c, tc.want[i])
				}
			}
			total := 0
			for name, n := range reads.reads {
				if name != "web" && name != "second" && name != "shop" {
					total += n
				}
			}
			if most := min(len(tc.found), maxNeighbours); total != most {
				t.Errorf("%d reads of neighbours, want %d", total, most)
			}
		})
	}
}

// However many targets and however often it is found, an object is read once a pass, and judged twice unless one of
// the targets has disturbed it.
func TestANeighbourIsReadAndJudgedOnceAPass(t *testing.T) {
	b, judge, reads := bothWritten(t, true, "nalways", "nclean", "nweb", "nalways")
	checked(b)
	if reads.reads["nalways"] != 1 || reads.reads["nclean"] != 1 || reads.reads["nweb"] != 1 {
		t.Errorf("reads: %v", reads.reads)
	}
	if want := map[string]int{"nalways": 2, "nclean": 1, "nweb": 4}; cmp.Diff(want, judge.asked) != "" {
		t.Errorf("judged %v, want %v", judge.asked, want)
	}
}

// What all targets have written together is found but for those that are gone; where one can't be read, each is asked
// about by itself.
func TestWhatAPassHasWrittenTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile func(*bench, *counting)
		before    int
		unknown   bool
	}{
		"both are there": {before: 2},
		"one was replaced": {before: 1, meanwhile: func(b *bench, _ *counting) {
			replaceWeb("good")(b)
		}},
		"one is gone": {before: 1, meanwhile: func(b *bench, _ *counting) { b.deleteWeb() }},
		"one was deleted by the plan": {before: 2, meanwhile: func(b *bench, _ *counting) {
			b.deleteWeb()
			write := b.pass.Records.Record(0).Write
			write.Action = v1alpha1.ActionDelete
			write.Manifest = &apiextensionsv1.JSON{Raw: []byte(`{"kind": "ConfigMap", "metadata": {"name": "web"}}`)}
		}},
		"one can't be read": {unknown: true, meanwhile: func(_ *bench, reads *counting) { reads.broken = "second" }},
		"one has no write": {before: 1, meanwhile: func(b *bench, _ *counting) {
			b.pass.Records.Record(0).Write = nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b, _, reads := bothWritten(t, true)
			if tc.meanwhile != nil {
				tc.meanwhile(b, reads)
			}
			b.pass.checking = []int{0, 1}
			for range 2 {
				all := b.pass.around.unwritten.by(func() *writtenObjects { return b.pass.allWritten(t.Context()) })
				if (all == nil) != tc.unknown || all != nil && len(all.before) != tc.before {
					t.Errorf("got %+v", all)
				}
			}
			if reads.reads["second"] != 1 {
				t.Errorf("reads: %v", reads.reads)
			}
		})
	}
}

// slowly reads "nslow" once it is told to.
type slowly struct {
	client.Reader
	began, answer chan struct{}
}

func (s *slowly) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if key.Name == "nslow" {
		close(s.began)
		<-s.answer
	}
	return s.Reader.Get(ctx, key, obj, opts...)
}

// A neighbour that is slow to be read holds up nobody who looks at another one, and is read once for all who ask.
func TestASlowNeighbourHoldsUpNoOther(t *testing.T) {
	b, _, reads := bothWritten(t, true)
	slow := &slowly{Reader: reads, began: make(chan struct{}), answer: make(chan struct{})}
	b.pass.Targets.Reader = slow
	read := func(name string) neighbour {
		return b.pass.around.read(t.Context(), b.pass, v1alpha1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap",
			Namespace: "shop", Name: name, UID: name})
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if n := read("nslow"); n.err != nil || n.obj == nil {
				t.Errorf("got %+v", n)
			}
		})
	}
	<-slow.began
	other := make(chan neighbour, 1)
	go func() { other <- read("nclean") }()
	select {
	case n := <-other:
		if n.err != nil || n.obj == nil {
			t.Errorf("got %+v", n)
		}
	case <-time.After(20 * time.Second):
		t.Error("another neighbour waits for the slow one")
	}
	close(slow.answer)
	all.Wait()
	if reads.reads["nslow"] != 1 {
		t.Errorf("it was read %d times", reads.reads["nslow"])
	}
}
