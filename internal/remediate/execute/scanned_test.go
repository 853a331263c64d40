// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

type newcomers func(policyName string, since time.Time) (found []policy.Finding, all bool)

// scanning is the scan: what it finds, and the number of the pass that has begun last.
type scanning struct {
	newcomers
	latest uint64
	// ended is the latest pass over the kinds of each policy that has ended; of a policy that isn't among them, any
	// pass counts.
	ended map[string]uint64
	mu    sync.Mutex
	asked []string
	// blind are why nobody would find what began to violate some policies.
	blind map[string]error
}

func (s *scanning) Newcomers(policyName string, since time.Time) ([]policy.Finding, bool) {
	return s.newcomers(policyName, since)
}

func (s *scanning) LatestPass() uint64 { return s.latest }

func (s *scanning) PassedSince(policyName string, number uint64) error {
	s.mu.Lock()
	s.asked = append(s.asked, policyName)
	s.mu.Unlock()
	if ended, limited := s.ended[policyName]; limited && ended <= number {
		return errors.New("the scan hasn't gone through ConfigMap since")
	}
	return nil
}

func (s *scanning) Observes(policyName string) error { return s.blind[policyName] }

// scans has the scan have gone through everything, and find what it is told.
func (b *bench) scans(found newcomers) *scanning {
	s := &scanning{newcomers: found}
	b.pass.Scan, b.pass.Shown = s, NewShown()
	return s
}

// verifying is a bench with one written target, which the policies "state", the plan's own, and "bystanders" judge by.
func verifying(t *testing.T) (b *bench, watch *watching, scan *scanning, check func() *rollout.Check) {
	b = twoShare(t)
	watch = newWatching(b, 0)
	b.pass.Snapshot = watch
	if err := b.pass.write(t.Context(), []int{0}); err != nil {
		t.Fatal(err)
	}
	watch.bystanders = "bystanders"
	watch.Verdicts["bystanders"] = watch.Verdicts["state"]
	scan = b.scans(func(string, time.Time) ([]policy.Finding, bool) { return nil, true })
	scan.latest, scan.ended = 7, map[string]uint64{"bystanders": 7}
	return b, watch, scan, func() *rollout.Check { return b.pass.verify(t.Context(), 0, false) }
}

// A target isn't verified before the scan has looked for what its write brings to others, in a pass that began after
// the write was there for the rules to see; and then it is, whatever changes meanwhile.
func TestATargetIsVerifiedOnceTheScanHasLooked(t *testing.T) {
	b, watch, scan, check := verifying(t)
	waits := func(what, why string) {
		t.Helper()
		c := check()
		if c == nil || c.Result != rollout.CheckWaiting || c.Reason != v1alpha1.ReasonUnobserved ||
			!strings.Contains(c.Message, "violate") || !strings.Contains(c.Message, why) {
			t.Errorf("%s: %+v, want it to wait: %s", what, c, why)
		}
	}
	lagging := &bystandersLag{watching: watch, lags: true}
	b.pass.Snapshot = lagging
	scan.ended["bystanders"] = 8
	waits("a pass that began before the rules could see the write", "lags behind")
	lagging.lags = false
	scan.latest, scan.ended["bystanders"] = 9, 9
	waits("a pass that was under way", "bystanders isn't known yet: the scan hasn't gone through ConfigMap since")
	scan.latest = 20
	waits("passes that have begun, and not ended", "the scan hasn't gone through ConfigMap since")
	scan.ended["bystanders"] = 10
	if c := check(); c == nil || c.Result != rollout.CheckPassed {
		t.Errorf("a pass has begun since, and others after it: %+v", c)
	}
	b.pass.Shown = NewShown()
	waits("another manager knows nothing of passes", "the scan hasn't gone through ConfigMap since")
	scan.ended["bystanders"] = 21
	if c := check(); c == nil || c.Result != rollout.CheckPassed {
		t.Errorf("a pass of the other manager: %+v", c)
	}
}

// bystandersLag has the watch of what "bystanders" looks up lag behind that of the plan's own policy.
type bystandersLag struct {
	*watching
	lags bool
}

func (l *bystandersLag) Shows(name string, objects ...*unstructured.Unstructured) error {
	if name == "bystanders" && l.lags {
		return errors.New("ConfigMap: its watch lags behind")
	}
	return l.watching.Shows(name, objects...)
}

// What is known already to be broken is undone at once, and a verified target waits for no other pass.
func TestNoPassIsWaitedForInVain(t *testing.T) {
	b, watch, scan, check := verifying(t)
	b.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other", UID: "u3"},
		Data: map[string]string{"state": "of-web"}})
	b.pass.Targets.Reader = managing{b.pass.Targets.Reader, []metav1.ManagedFieldsEntry{{Manager: "kubectl",
		Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: fixtest.Now.Add(-time.Hour)}}}}
	scan.newcomers = func(string, time.Time) ([]policy.Finding, bool) {
		return []policy.Finding{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "other",
			UID: "u3"}}, true
	}
	if c := check(); c == nil || c.Result != rollout.CheckFailed {
		t.Errorf("an object violates since the write: %+v", c)
	}
	scan.newcomers = func(string, time.Time) ([]policy.Finding, bool) { return nil, true }
	scan.asked = nil
	rec := *b.pass.Records.Record(0)
	rec.State = v1alpha1.TargetVerified
	b.pass.Records.Set(0, rec)
	if c := check(); c == nil || c.Result != rollout.CheckPassed || len(scan.asked) > 0 {
		t.Errorf("it was verified: %+v, and waits for %v", c, scan.asked)
	}
	rec.State = v1alpha1.TargetApplied
	b.pass.Records.Set(0, rec)
	watch.Verdicts["audit"], watch.bystanders = watch.Verdicts["state"], "audit"
	scan.ended = map[string]uint64{"audit": 0}
	if c := check(); c == nil || c.Result != rollout.CheckPassed || len(scan.asked) > 0 {
		t.Errorf("a policy of others that only records: %+v, waits for %v", c, scan.asked)
	}
}

// A deletion is verified once the rules that look up what is gone were shown that, and a pass has begun since.
func TestADeletionIsVerifiedOnceTheScanHasLooked(t *testing.T) {
	b := newBench(t)
	b.proposes(policy.Action{Type: policy.ActionDelete})
	if err := b.pass.write(t.Context(), []int{0}); err != nil {
		t.Fatal(err)
	}
	b.pass.LookupPatience = 5 * lookupPoll
	b.pass.Snapshot = needing{Verdicts: fixtest.Verdicts{"needs": fixtest.BadState(), "state": fixtest.BadState()}}
	scan := b.scans(func(string, time.Time) ([]policy.Finding, bool) { return nil, true })
	scan.latest, scan.ended = 3, map[string]uint64{"needs": 3}
	if c := b.pass.verify(t.Context(), 0, false); c == nil || c.Result != rollout.CheckWaiting {
		t.Errorf("before a pass: %+v", c)
	}
	scan.ended["needs"] = 4
	if c := b.pass.verify(t.Context(), 0, false); c == nil || c.Result != rollout.CheckPassed {
		t.Errorf("after it: %+v", c)
	}
}

// What a write brings to others must be found: while it wouldn't be, nothing is written that would be undone for that.
func TestNothingIsWrittenWhileItsHarmCouldntBeFound(t *testing.T) {
	forbidden, stale := errors.New("Ingress may not be read"), errors.New("Service: its watch is broken")
	for name, tc := range map[string]struct {
		bystanders string
		blind      map[string]error
		unknown    error
		want       string
	}{
		"a kind can't be listed": {bystanders: "bystanders", blind: map[string]error{"bystanders": forbidden},
			want: "policy bystanders: Ingress may not be read"},
		"what is looked up isn't known": {bystanders: "bystanders", unknown: stale,
			want: "policy bystanders: Service: its watch is broken"},
		"a policy of others that only records": {bystanders: "audit", blind: map[string]error{"audit": forbidden}},
		"a policy that looks up other kinds":   {blind: map[string]error{"bystanders": forbidden}},
	} {
		t.Run(name, func(t *testing.T) {
			b := twoShare(t)
			watch := newWatching(b, 0)
			watch.bystanders = tc.bystanders
			watch.Verdicts["bystanders"], watch.Verdicts["audit"] = watch.Verdicts["state"], watch.Verdicts["state"]
			b.pass.Snapshot = &holding{watching: watch, unknown: tc.unknown}
			b.scans(func(string, time.Time) ([]policy.Finding, bool) { return nil, true }).blind = tc.blind
			if err := b.pass.write(t.Context(), []int{0}); err != nil {
				t.Fatal(err)
			}
			rec := b.pass.Records.Record(0)
			if tc.want == "" {
				if rec.State != v1alpha1.TargetApplied {
					t.Errorf("it isn't written: %s %s: %s", rec.State, rec.Reason, rec.Message)
				}
				return
			}
			if rec.State != v1alpha1.TargetPending || rec.Reason != v1alpha1.ReasonUnobserved || rec.Attempts != 0 ||
				!strings.Contains(rec.Message, tc.want) || b.object("web").Data["state"] != "bad" {
				t.Errorf("%s %s, %d tries: %s", rec.State, rec.Reason, rec.Attempts, rec.Message)
			}
		})
	}
}

// holding doesn't know what "bystanders" looks up, for a reason if any.
type holding struct {
	*watching
	unknown error
}

func (h *holding) Knows(name string) error {
	if name == "bystanders" {
		return h.unknown
	}
	return nil
}
