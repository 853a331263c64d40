package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/internal/webhook/webhooktest"
)

// testNow is the time of newHandler's clock.
var testNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newWaiver(until time.Time, change ...func(*v1alpha1.Waiver)) *v1alpha1.Waiver {
	e := &v1alpha1.Waiver{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "legacy"},
		Spec: v1alpha1.WaiverSpec{Match: v1alpha1.WaiverMatch{Names: []string{"web"}}, WaiverTerms: v1alpha1.WaiverTerms{
			Policies: []string{"no-privileged"}, Reason: "moves next quarter", ExpirationTime: metav1.NewTime(until)}}}
	for _, c := range change {
		c(e)
	}
	return e
}

func TestHandlerHonoursWaivers(t *testing.T) {
	const suffix = " (waived by Waiver shop/legacy until 2026-03-01T13:00:00Z; not blocked)"
	noted := map[string]string{"no-privileged": "not blocked, waived by shop/legacy: 1" + pathOfA}
	active := newWaiver(testNow.Add(time.Hour))
	warn := webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego, webhooktest.WithAction(v1alpha1.AdmissionWarn))
	cases := map[string]struct {
		reason string
		policy *v1alpha1.ClusterRegoPolicy
		waiver *v1alpha1.Waiver
		review tree
		want   serving.Response
	}{
		"a waived object is admitted, and the warning names waiver and expiry": {
			waiver: active, review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil),
			want: serving.Response{Allowed: true, Warnings: []string{warningOfA + suffix}, AuditAnnotations: noted},
		},
		"a waived update needs no old violation": {
			waiver: active, review: webhooktest.Review("UPDATE", webhooktest.Deployment("web", true), webhooktest.Deployment("web", false)),
			want: serving.Response{Allowed: true, Warnings: []string{warningOfA + suffix}, AuditAnnotations: noted},
		},
		"an object that isn't covered is refused": {
			waiver: active, review: webhooktest.Review("CREATE", webhooktest.Deployment("other", true), nil),
			want: serving.Response{Status: forbidden(strings.Replace(denialOfA, "shop/web", "shop/other", 1)), AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}},
		},
		"an expired waiver counts no more": {
			reason: "without any event or restart", waiver: newWaiver(testNow), review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil),
			want: serving.Response{Status: forbidden(denialOfA), AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}},
		},
		"an old violator whose waiver has ended can still be changed": {
			reason: "existingViolations: what was there before never blocks a hotfix", waiver: newWaiver(testNow), review: webhooktest.Review("UPDATE", webhooktest.Deployment("web", true), webhooktest.Deployment("web", true)),
			want: serving.Response{Allowed: true, Warnings: []string{warningOfA + oldSuffix}, AuditAnnotations: map[string]string{"no-privileged": "not blocked, already violated: 1" + pathOfA}},
		},
		"under a Warn policy the warning names the waiver": {
			policy: warn, waiver: active, review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil),
			want: serving.Response{Allowed: true, Warnings: []string{warningOfA + suffix}, AuditAnnotations: noted},
		},
		"under a DryRun policy nothing is said": {
			policy: webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego, webhooktest.WithAction(v1alpha1.AdmissionAudit)), waiver: active,
			review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil), want: serving.Response{Allowed: true, AuditAnnotations: noted},
		},
		"a good object passes without a word": {
			waiver: active, review: webhooktest.Review("CREATE", webhooktest.Deployment("web", false), nil), want: serving.Response{Allowed: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.policy == nil {
				tc.policy = webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)
			}
			c := webhooktest.NewCatalog(t, tc.policy)
			if err := c.SetWaiver(tc.waiver); err != nil {
				t.Fatal(err)
			}
			tc.want.UID = "705ab4f5"
			h := newHandler(t, serving.Class(tc.policy), c)
			if diff := cmp.Diff(tc.want, webhooktest.Ask(t, h, tc.review)); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
			}
			waived := strings.Contains(tc.want.AuditAnnotations["no-privileged"], "waived")
			if got := testutil.ToFloat64(h.Verdicts.violations.WithLabelValues("no-privileged", actionWaived)); (got == 1) != waived {
				t.Errorf("waived violations counted: %v", got)
			}
		})
	}
}

func TestAWaivedWarningFitsItsBound(t *testing.T) {
	e := newWaiver(testNow.Add(time.Hour), func(e *v1alpha1.Waiver) { e.Name = strings.Repeat("n", 253) })
	c := webhooktest.NewCatalog(t, webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego))
	if err := c.SetWaiver(e); err != nil {
		t.Fatal(err)
	}
	got := webhooktest.Ask(t, newHandler(t, v1alpha1.FailurePolicyFail, c), webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil))
	if len(got.Warnings) != 1 || len(got.Warnings[0]) > serving.MaxWarningBytes || !strings.Contains(got.Warnings[0], "until 2026-03-01T13:00:00Z") {
		t.Errorf("warnings %q, want one of at most %d bytes with the expiry", got.Warnings, serving.MaxWarningBytes)
	}
}

func TestWaiverHandler(t *testing.T) {
	asWaiver := func(r tree) {
		r["kind"] = tree{"group": "evenkeel.dev", "version": "v1alpha1", "kind": "Waiver"}
	}
	reviewed := func(e, old *v1alpha1.Waiver) tree {
		t.Helper()
		trees := [2]tree{}
		for i, one := range []*v1alpha1.Waiver{e, old} {
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
		return webhooktest.Review(operation, trees[0], trees[1], asWaiver)
	}
	hour, passed := testNow.Add(time.Hour), testNow.Add(-time.Hour)
	wide := func(namespaces ...string) tree {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&v1alpha1.ClusterWaiver{
			ObjectMeta: metav1.ObjectMeta{Name: "legacy"}, Spec: v1alpha1.ClusterWaiverSpec{
				WaiverTerms: newWaiver(hour).Spec.WaiverTerms, Match: v1alpha1.ClusterWaiverMatch{Namespaces: namespaces}}})
		if err != nil {
			t.Fatal(err)
		}
		return webhooktest.Review("CREATE", object, nil, asWaiver, func(r tree) {
			r["kind"] = tree{"group": "evenkeel.dev", "version": "v1alpha1", "kind": "ClusterWaiver"}
			delete(r, "namespace")
		})
	}
	names := func(globs ...string) func(*v1alpha1.Waiver) {
		return func(e *v1alpha1.Waiver) { e.Spec.Match.Names = globs }
	}
	labelled := func(e *v1alpha1.Waiver) { e.Labels = map[string]string{"a": "b"} }
	reason := func(e *v1alpha1.Waiver) { e.Spec.Reason = "told better" }
	misspelt := func(e *v1alpha1.Waiver) { e.Spec.Policies = append(e.Spec.Policies, "no-privilege") }
	selecting := func(e *v1alpha1.Waiver) {
		e.Spec.Match.ObjectSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	}
	cases := map[string]struct {
		reason  string
		review  tree
		refused []string // what the lines of problems hold; none when it is accepted
		warned  []string
	}{
		"a good waiver is accepted": {review: reviewed(newWaiver(hour), nil)},
		"an expiry that has passed is refused": {
			review: reviewed(newWaiver(passed), nil), refused: []string{"spec.expirationTime: 2026-03-01T11:00:00Z: it has passed; set a time to come"}},
		"an expiry of this very moment is refused": {review: reviewed(newWaiver(testNow), nil), refused: []string{"spec.expirationTime: "}},
		"an expired waiver's other fields can be changed": {
			review: reviewed(newWaiver(passed, reason), newWaiver(passed))},
		"an expired waiver can be labelled": {
			reason: "whatever else is wrong with it", review: reviewed(newWaiver(passed, names("a/b"), labelled), newWaiver(passed, names("a/b")))},
		"an expiry can't be moved into the past": {
			review: reviewed(newWaiver(passed), newWaiver(hour)), refused: []string{"or delete the waiver to end it"}},
		"an expired waiver can be renewed": {review: reviewed(newWaiver(hour), newWaiver(passed))},
		"more than a year ahead is warned of": {
			review: reviewed(newWaiver(testNow.AddDate(1, 0, 2)), nil), warned: []string{"spec.expirationTime is more than a year ahead"}},
		"a year ahead isn't": {review: reviewed(newWaiver(testNow.AddDate(1, 0, 0)), nil)},
		"an unknown policy is warned of": {
			reason: "it may come later", review: reviewed(newWaiver(hour, misspelt), nil), warned: []string{`spec.policies[1]: there is no policy "no-privilege"`}},
		"a bad glob and a bad expiry are told at once, by field": {
			review: reviewed(newWaiver(passed, names("web/1")), nil), refused: []string{`spec.match.names: "web/1" can't match`, "spec.expirationTime: "}},
		"a bad selector is told by its field":            {review: reviewed(newWaiver(hour, selecting), nil), refused: []string{"spec.match.objectSelector: "}},
		"a ClusterWaiver of some namespaces is accepted": {review: wide("bank", "shop-*")},
		"a ClusterWaiver with a bad glob is refused": {
			review: wide("Shop"), refused: []string{`spec.match.namespaces: "Shop" can't match`}},
		"another form is refused": {
			review: webhooktest.Review("CREATE", tree{"metadata": tree{"name": "e"}, "spec": "x"}, nil, asWaiver), refused: []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := &WaiverHandler{Base: webhooktest.Base(t, testNow), Known: func(name string) bool { return name == "no-privileged" }}
			got := webhooktest.Ask(t, h, tc.review)
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
