package catalog_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// now is the time of podRequest.
var now = time.Unix(1_700_000_000, 0)

// waiver waives the policy "a" in namespace "team" until the time given.
func waiver(name string, until time.Time, change ...func(*v1alpha1.PolicyException)) *v1alpha1.PolicyException {
	e := &v1alpha1.PolicyException{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Generation: 1},
		Spec: v1alpha1.PolicyExceptionSpec{Policies: []string{"a"}, Reason: "vendor image", ExpiresAt: metav1.NewTime(until)}}
	for _, c := range change {
		c(e)
	}
	return e
}

func TestAWaiverIsPartOfTheVerdict(t *testing.T) {
	elsewhere := func(e *v1alpha1.PolicyException) { e.Namespace = "other" }
	central := func(e *v1alpha1.PolicyException) { e.Namespace = "evenkeel-system" }
	unreadable := func(e *v1alpha1.PolicyException) { e.Spec.Match.Names = []string{"a/b"} }
	reaching := func(e *v1alpha1.PolicyException) { e.Spec.Match.Namespaces = []string{"*"} }
	cases := map[string]struct {
		reason     string
		exceptions []*v1alpha1.PolicyException
		// want is the exception of policy a's verdict; empty for none.
		want string
	}{
		"without an exception violations count": {},
		"an exception of the namespace waives":  {exceptions: []*v1alpha1.PolicyException{waiver("w", now.Add(time.Hour))}, want: "w"},
		"one of another namespace doesn't":      {exceptions: []*v1alpha1.PolicyException{waiver("w", now.Add(time.Hour), elsewhere)}},
		"one of the controller's namespace does": {
			exceptions: []*v1alpha1.PolicyException{waiver("w", now.Add(time.Hour), central, reaching)}, want: "w"},
		"a moment before its expiry it waives": {exceptions: []*v1alpha1.PolicyException{waiver("w", now.Add(time.Nanosecond))}, want: "w"},
		"at its expiry it doesn't any more": {
			reason: "expiresAt is the first moment at which the violations count", exceptions: []*v1alpha1.PolicyException{waiver("w", now)}},
		"of several the one that lasts longest is named": {
			reason:     "it says when the violations count again",
			exceptions: []*v1alpha1.PolicyException{waiver("short", now.Add(time.Hour)), waiver("long", now.Add(2*time.Hour)), waiver("over", now.Add(-time.Hour))}, want: "long"},
		"one that can't be read waives nothing": {exceptions: []*v1alpha1.PolicyException{waiver("w", now.Add(time.Hour), unreadable)}},
		"one that reaches too far waives nothing": {
			reason: "not even in its own namespace: it says something else than it does", exceptions: []*v1alpha1.PolicyException{waiver("w", now.Add(time.Hour), reaching)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := catalog.New(catalog.Options{TimeLimit: time.Minute, Namespace: "evenkeel-system"})
			for _, e := range tc.exceptions {
				err := c.SetException(e)
				if known, problem := c.ExceptionProblem(e); !known || (problem == nil) != (err == nil) {
					t.Errorf("problem %v, known %t; SetException said %v", problem, known, err)
				}
			}
			// Policies that come later find the exceptions.
			for _, name := range []string{"a", "b"} {
				if err := c.Set(saying(name, "bad")); err != nil {
					t.Fatal(err)
				}
			}
			results := c.Snapshot().Evaluate(t.Context(), podRequest())
			got := ""
			if w := results[0].Waived; w != nil {
				got = w.Name
			}
			if got != tc.want || len(results[0].Violations) != 1 || (len(results[0].Enforced()) == 0) != (tc.want != "") {
				t.Errorf("%s: waived by %q, want %q; %d violations, %d enforced", tc.reason, got, tc.want, len(results[0].Violations), len(results[0].Enforced()))
			}
			if results[1].Waived != nil {
				t.Error("policy b is waived, though no exception names it")
			}
			one, _ := c.Snapshot().EvaluateOne(t.Context(), "a", podRequest())
			if (one.Waived == nil) != (tc.want == "") {
				t.Error("EvaluateOne says something else than Evaluate")
			}
		})
	}
}

func TestACleanObjectIsNotWaived(t *testing.T) {
	c := newCatalog(t, withRego("a", "package p\n\nimport rego.v1\n\ndeny contains \"x\" if input.object.metadata.name == \"other\""))
	if err := c.SetException(waiver("w", now.Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	if got, matched := c.Snapshot().EvaluateOne(t.Context(), "a", podRequest()); !matched || got.Waived != nil {
		t.Errorf("matched %t, waived %v: what violates nothing must not count as waived", matched, got.Waived)
	}
}

func TestWaiversComeAndGo(t *testing.T) {
	c := newCatalog(t, saying("a", "bad"))
	changed := c.Subscribe()
	told := func() bool {
		select {
		case <-changed:
			return true
		default:
			return false
		}
	}
	e := waiver("w", now.Add(time.Hour))
	before := c.Snapshot()
	if err := c.SetException(e); err != nil || !told() {
		t.Fatalf("a new exception isn't told: %v", err)
	}
	if res, _ := before.EvaluateOne(t.Context(), "a", podRequest()); res.Waived != nil {
		t.Error("a snapshot changed under a request that holds it")
	}
	e.Status.Conditions = []metav1.Condition{{Type: "Ready"}}
	if err := c.SetException(e); err != nil || told() {
		t.Errorf("a change of the status alone is told: %v", err)
	}
	c.DeleteException(types.NamespacedName{Namespace: "team", Name: "w"})
	if res, _ := c.Snapshot().EvaluateOne(t.Context(), "a", podRequest()); res.Waived != nil || !told() {
		t.Error("a deleted exception still waives, or isn't told")
	}
	if known, _ := c.ExceptionProblem(e); known {
		t.Error("a deleted exception is still known")
	}
}

func TestDigestAndNextExpiryFollowTheTime(t *testing.T) {
	c := newCatalog(t, saying("a", "bad"))
	for _, e := range []*v1alpha1.PolicyException{waiver("first", now.Add(time.Minute)), waiver("last", now.Add(time.Hour))} {
		if err := c.SetException(e); err != nil {
			t.Fatal(err)
		}
	}
	s := c.Snapshot()
	digests := map[string]bool{}
	for _, step := range []struct {
		at   time.Duration
		next time.Duration // 0 for none
	}{{0, time.Minute}, {time.Minute - 1, time.Minute}, {time.Minute, time.Hour}, {time.Hour - 1, time.Hour}, {time.Hour, 0}} {
		at := now.Add(step.at)
		next, found := s.NextExpiry(at)
		if found != (step.next != 0) || found && !next.Equal(now.Add(step.next)) {
			t.Errorf("at +%s the next expiry is %s, %t; want +%s", step.at, next, found, step.next)
		}
		digests[s.WaiverDigest("a", at)] = true
	}
	if len(digests) != 3 || !digests[""] || s.WaiverDigest("b", now) != "" {
		t.Errorf("digests are %v, want one for each set of active exceptions, and none for another policy", digests)
	}
}
