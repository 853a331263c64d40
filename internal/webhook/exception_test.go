package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// testNow is the time of newHandler's clock.
var testNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newException(until time.Time, change ...func(*v1alpha1.PolicyException)) *v1alpha1.PolicyException {
	e := &v1alpha1.PolicyException{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "legacy"},
		Spec: v1alpha1.PolicyExceptionSpec{Policies: []string{"no-privileged"}, Match: v1alpha1.ExceptionMatch{Names: []string{"web"}},
			Reason: "moves next quarter", ExpiresAt: metav1.NewTime(until)}}
	for _, c := range change {
		c(e)
	}
	return e
}

func TestHandlerHonoursWaivers(t *testing.T) {
	const suffix = " (waived by PolicyException shop/legacy until 2026-03-01T13:00:00Z; not blocked)"
	noted := map[string]string{"no-privileged": "not blocked, waived by shop/legacy: 1" + pathOfA}
	active := newException(testNow.Add(time.Hour))
	warn := newPolicy("no-privileged", privilegedRego, withAction(v1alpha1.EnforcementWarn))
	cases := map[string]struct {
		reason    string
		policy    *v1alpha1.Policy
		exception *v1alpha1.PolicyException
		review    tree
		want      response
	}{
		"a waived object is admitted, and the warning names waiver and expiry": {
			exception: active, review: reviewOf("CREATE", deployment("web", true), nil),
			want: response{Allowed: true, Warnings: []string{warningOfA + suffix}, AuditAnnotations: noted},
		},
		"a waived update needs no ratchet": {
			exception: active, review: reviewOf("UPDATE", deployment("web", true), deployment("web", false)),
			want: response{Allowed: true, Warnings: []string{warningOfA + suffix}, AuditAnnotations: noted},
		},
		"an object that isn't covered is refused": {
			exception: active, review: reviewOf("CREATE", deployment("other", true), nil),
			want: response{Status: forbidden(strings.Replace(denialOfA, "shop/web", "shop/other", 1)), AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}},
		},
		"an expired waiver counts no more": {
			reason: "without any event or restart", exception: newException(testNow), review: reviewOf("CREATE", deployment("web", true), nil),
			want: response{Status: forbidden(denialOfA), AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}},
		},
		"an old violator whose waiver has ended can still be changed": {
			reason: "the ratchet: what was there before never blocks a hotfix", exception: newException(testNow), review: reviewOf("UPDATE", deployment("web", true), deployment("web", true)),
			want: response{Allowed: true, Warnings: []string{warningOfA + oldSuffix}, AuditAnnotations: map[string]string{"no-privileged": "not blocked, already violated: 1" + pathOfA}},
		},
		"under a Warn policy the warning names the waiver": {
			policy: warn, exception: active, review: reviewOf("CREATE", deployment("web", true), nil),
			want: response{Allowed: true, Warnings: []string{warningOfA + suffix}, AuditAnnotations: noted},
		},
		"under a DryRun policy nothing is said": {
			policy: newPolicy("no-privileged", privilegedRego, withAction(v1alpha1.EnforcementDryRun)), exception: active,
			review: reviewOf("CREATE", deployment("web", true), nil), want: response{Allowed: true, AuditAnnotations: noted},
		},
		"a good object passes without a word": {
			exception: active, review: reviewOf("CREATE", deployment("web", false), nil), want: response{Allowed: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.policy == nil {
				tc.policy = newPolicy("no-privileged", privilegedRego)
			}
			c := newCatalog(t, tc.policy)
			if err := c.SetException(tc.exception); err != nil {
				t.Fatal(err)
			}
			tc.want.UID = "705ab4f5"
			h := newHandler(t, Class(tc.policy), c)
			if diff := cmp.Diff(tc.want, ask(t, h, tc.review)); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
			}
			waived := strings.Contains(tc.want.AuditAnnotations["no-privileged"], "waived")
			if got := value(t, h.Metrics.violations.WithLabelValues("no-privileged", actionWaived)); (got == 1) != waived {
				t.Errorf("waived violations counted: %v", got)
			}
		})
	}
}

func TestAWaivedWarningFitsItsBound(t *testing.T) {
	e := newException(testNow.Add(time.Hour), func(e *v1alpha1.PolicyException) { e.Name = strings.Repeat("n", 253) })
	c := newCatalog(t, newPolicy("no-privileged", privilegedRego))
	if err := c.SetException(e); err != nil {
		t.Fatal(err)
	}
	got := ask(t, newHandler(t, v1alpha1.FailurePolicyFail, c), reviewOf("CREATE", deployment("web", true), nil))
	if len(got.Warnings) != 1 || len(got.Warnings[0]) > maxWarningBytes || !strings.Contains(got.Warnings[0], "until 2026-03-01T13:00:00Z") {
		t.Errorf("warnings %q, want one of at most %d bytes with the expiry", got.Warnings, maxWarningBytes)
	}
}

func TestExceptionHandler(t *testing.T) {
	asException := func(r tree) {
		r["kind"] = tree{"group": "evenkeel.dev", "version": "v1alpha1", "kind": "PolicyException"}
	}
	reviewed := func(e, old *v1alpha1.PolicyException) tree {
		t.Helper()
		trees := [2]tree{}
		for i, one := range []*v1alpha1.PolicyException{e, old} {
			if one == nil {
				continue
			}
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(one)
			if err != nil {
				t.Fatal(err)
			}
			trees[i] = object
		}
		operation := "CREATE"
		if old != nil {
			operation = "UPDATE"
		}
		return reviewOf(operation, trees[0], trees[1], asException)
	}
	hour, passed := testNow.Add(time.Hour), testNow.Add(-time.Hour)
	names := func(globs ...string) func(*v1alpha1.PolicyException) {
		return func(e *v1alpha1.PolicyException) { e.Spec.Match.Names = globs }
	}
	reaching := func(e *v1alpha1.PolicyException) { e.Spec.Match.Namespaces = []string{"bank"} }
	central := func(e *v1alpha1.PolicyException) { e.Namespace = "evenkeel-system" }
	labelled := func(e *v1alpha1.PolicyException) { e.Labels = map[string]string{"a": "b"} }
	reason := func(e *v1alpha1.PolicyException) { e.Spec.Reason = "told better" }
	misspelt := func(e *v1alpha1.PolicyException) { e.Spec.Policies = append(e.Spec.Policies, "no-privilege") }
	selecting := func(e *v1alpha1.PolicyException) {
		e.Spec.Match.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	}
	cases := map[string]struct {
		reason  string
		review  tree
		refused []string // what the lines of problems hold; none when it is accepted
		warned  []string
	}{
		"a good exception is accepted": {review: reviewed(newException(hour), nil)},
		"an expiry that has passed is refused": {
			review: reviewed(newException(passed), nil), refused: []string{"spec.expiresAt: 2026-03-01T11:00:00Z: it has passed; set a time to come"}},
		"an expiry of this very moment is refused": {review: reviewed(newException(testNow), nil), refused: []string{"spec.expiresAt: "}},
		"an expired exception's other fields can be changed": {
			review: reviewed(newException(passed, reason), newException(passed))},
		"an expired exception can be labelled": {
			reason: "whatever else is wrong with it", review: reviewed(newException(passed, names("a/b"), labelled), newException(passed, names("a/b")))},
		"an expiry can't be moved into the past": {
			review: reviewed(newException(passed), newException(hour)), refused: []string{"or delete the exception to end it"}},
		"an expired exception can be renewed": {review: reviewed(newException(hour), newException(passed))},
		"more than a year ahead is warned of": {
			review: reviewed(newException(testNow.AddDate(1, 0, 2)), nil), warned: []string{"spec.expiresAt is more than a year ahead"}},
		"a year ahead isn't": {review: reviewed(newException(testNow.AddDate(1, 0, 0)), nil)},
		"an unknown policy is warned of": {
			reason: "it may come later", review: reviewed(newException(hour, misspelt), nil), warned: []string{`spec.policies[1]: there is no policy "no-privilege"`}},
		"a bad glob and a bad expiry are told at once, by field": {
			review: reviewed(newException(passed, names("web/1")), nil), refused: []string{`spec.match.names: "web/1" can't match`, "spec.expiresAt: "}},
		"a bad selector is told by its field": {review: reviewed(newException(hour, selecting), nil), refused: []string{"spec.match.labelSelector: "}},
		"namespaces are refused outside the controller's namespace": {
			review: reviewed(newException(hour, reaching), nil), refused: []string{"spec.match.namespaces: an exception covers objects of its own namespace"}},
		"namespaces are accepted in the controller's": {review: reviewed(newException(hour, reaching, central), nil)},
		"another form is refused": {
			review: reviewOf("CREATE", tree{"metadata": tree{"name": "e"}, "spec": "x"}, nil, asException), refused: []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			metrics, _ := newTestMetrics(t)
			h := &ExceptionHandler{Reviews: testReader(), Namespace: "evenkeel-system", Known: func(name string) bool { return name == "no-privileged" },
				Metrics: metrics, Clock: clocktesting.NewFakePassiveClock(testNow), Log: logr.Discard()}
			got := ask(t, h, tc.review)
			if got.Allowed != (tc.refused == nil) || len(got.Warnings) != len(tc.warned) {
				t.Fatalf("%s: allowed is %t, warnings %q: %v", tc.reason, got.Allowed, got.Warnings, got.Status)
			}
			for i, want := range tc.warned {
				if !strings.Contains(got.Warnings[i], want) {
					t.Errorf("warning %q, want %q", got.Warnings[i], want)
				}
			}
			if len(tc.refused) == 0 {
				return
			}
			lines := strings.Split(got.Status.Message, "\n")[1:]
			if got.Status.Code != http.StatusUnprocessableEntity || len(lines) != len(tc.refused) {
				t.Fatalf("status %d: %s", got.Status.Code, got.Status.Message)
			}
			for i, want := range tc.refused {
				if !strings.Contains(lines[i], want) {
					t.Errorf("line %q, want %q", lines[i], want)
				}
			}
		})
	}
}
