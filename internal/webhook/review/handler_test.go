// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/override"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

const (
	denialOfA = `Deployment shop/web is refused by policy no-privileged (High): No privileged containers
- /spec/template/spec/containers/0/securityContext/privileged: container "a" is privileged
  Fix: set /spec/template/spec/containers/0/securityContext/privileged to false
  Runbook: https://runbooks.example.com/no-privileged`
	warningOfA = `policy no-privileged: /spec/template/spec/containers/0/securityContext/privileged: container "a" is privileged`
	oldSuffix  = " (already violated before this change; not blocked)"
	pathOfA    = ", first at /spec/template/spec/containers/0/securityContext/privileged"
	brokenBy   = "policy broken could not be evaluated: "
)

func forbidden(message string) *metav1.Status {
	return serving.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, message)
}

func TestHandlerAnswers(t *testing.T) {
	privileged := webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)
	deleting := func(finalizers ...any) tree {
		return webhooktest.Set(webhooktest.Set(webhooktest.Deployment("web", true), "2026-03-01T12:00:00Z", "metadata",
			"deletionTimestamp"), finalizers, "metadata", "finalizers")
	}
	cases := map[string]struct {
		reason string
		policy *v1alpha1.ClusterRegoPolicy
		class  v1alpha1.FailurePolicy
		review tree
		want   serving.Response
	}{
		"a new object that violates a Deny policy is refused": {
			reason: "the message names policy, object, path, reason, fix and runbook",
			review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil),
			want: serving.Response{Status: forbidden(denialOfA),
				AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}},
		},
		"a good object passes without a word": {
			review: webhooktest.Review("CREATE", webhooktest.Deployment("web", false), nil),
			want:   serving.Response{Allowed: true},
		},
		"a policy of the other class isn't judged here": {
			reason: "its own endpoint judges it",
			class:  v1alpha1.FailurePolicyIgnore,
			review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil),
			want:   serving.Response{Allowed: true},
		},
		"a Warn policy warns, at the endpoint that fails open": {
			policy: webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego,
				webhooktest.WithAction(v1alpha1.AdmissionWarn)),
			class:  v1alpha1.FailurePolicyIgnore,
			review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil),
			want: serving.Response{Allowed: true, Warnings: []string{warningOfA},
				AuditAnnotations: map[string]string{"no-privileged": "Warn: 1" + pathOfA}},
		},
		"a DryRun policy only leaves a note in the audit log": {
			policy: webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego,
				webhooktest.WithAction(v1alpha1.AdmissionAudit)),
			class:  v1alpha1.FailurePolicyIgnore,
			review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil),
			want: serving.Response{Allowed: true,
				AuditAnnotations: map[string]string{"no-privileged": "Audit: 1" + pathOfA}},
		},
		"the warn rule of a Deny policy only warns": {
			review: webhooktest.Review("CREATE",
				webhooktest.Set(webhooktest.Deployment("web", false), "default", "spec", "template", "spec",
					"serviceAccountName"), nil),
			want: serving.Response{
				Allowed:          true,
				Warnings:         []string{"policy no-privileged: the service account is the default one"},
				AuditAnnotations: map[string]string{"no-privileged": "Warn: 1"},
			},
		},
		"an update that keeps an old violation passes with a warning": {
			reason: "existingViolations: an old violation must never block a hotfix",
			review: webhooktest.Review("UPDATE",
				webhooktest.Set(webhooktest.Deployment("web", true), int64(5), "spec", "replicas"),
				webhooktest.Deployment("web", true)),
			want: serving.Response{
				Allowed:          true,
				Warnings:         []string{warningOfA + oldSuffix},
				AuditAnnotations: map[string]string{"no-privileged": "not blocked, already violated: 1" + pathOfA},
			},
		},
		"an update that adds a violation to an old one is refused for the new one": {
			review: webhooktest.Review("UPDATE", webhooktest.Deployment("web", true, true),
				webhooktest.Deployment("web", true, false)),
			want: serving.Response{
				Status: forbidden(`Deployment shop/web is refused by policy no-privileged (High): No privileged containers
- /spec/template/spec/containers/1/securityContext/privileged: container "b" is privileged
  Fix: set /spec/template/spec/containers/0/securityContext/privileged to false, set /spec/template/spec/containers/1/securityContext/privileged to false
  Runbook: https://runbooks.example.com/no-privileged`),
				Warnings: []string{warningOfA + oldSuffix},
				AuditAnnotations: map[string]string{
					"no-privileged": "Deny: 1, first at /spec/template/spec/containers/1/securityContext/privileged; " +
						"not blocked, already violated: 1" + pathOfA,
				},
			},
		},
		"with existingViolations: Deny an old violation blocks an update": {
			policy: webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego, webhooktest.DenyingExisting),
			review: webhooktest.Review("UPDATE", webhooktest.Deployment("web", true),
				webhooktest.Deployment("web", true)),
			want: serving.Response{Status: forbidden(denialOfA),
				AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}},
		},
		"a deletion is judged on the old object": {
			policy: webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego,
				webhooktest.WithOperations(v1alpha1.OperationDelete)),
			review: webhooktest.Review("DELETE", nil, webhooktest.Deployment("web", true)),
			want: serving.Response{Status: forbidden(denialOfA),
				AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}},
		},
		"taking a finalizer off an object that is being deleted always passes": {
			policy: webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego, webhooktest.DenyingExisting),
			review: webhooktest.Review("UPDATE", deleting("b"), deleting("a", "b")),
			want:   serving.Response{Allowed: true},
		},
		"an update of an object that is being deleted which changes more is judged": {
			policy: webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego, webhooktest.DenyingExisting),
			review: webhooktest.Review("UPDATE", webhooktest.Set(deleting("b"), int64(9), "spec", "replicas"),
				deleting("a", "b")),
			want: serving.Response{Status: forbidden(denialOfA),
				AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}},
		},
		"a container that is added to a running Pod is judged": {
			reason: "kubectl debug must not be a way around",
			review: webhooktest.Review("UPDATE", webhooktest.Deployment("web", true),
				webhooktest.Deployment("web", false), func(r tree) { r["subResource"] = "ephemeralcontainers" }),
			want: serving.Response{Status: forbidden(denialOfA),
				AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}},
		},
		"a subresource is never judged": {
			review: webhooktest.Review("UPDATE", webhooktest.Deployment("web", true),
				webhooktest.Deployment("web", false), func(r tree) { r["subResource"] = "status" }),
			want: serving.Response{Allowed: true},
		},
		"a request that is only tried gets the same verdict": {
			review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil, webhooktest.DryRun),
			want: serving.Response{Status: forbidden(denialOfA),
				AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.policy == nil {
				tc.policy = privileged
			}
			if tc.class == "" {
				tc.class = v1alpha1.FailurePolicyFail
			}
			tc.want.UID = "705ab4f5"
			got := webhooktest.Ask(t, newHandler(t, tc.class, webhooktest.NewCatalog(t, tc.policy)), tc.review)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHandlerWhenAPolicyCannotBeEvaluated(t *testing.T) {
	review := webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil)
	cases := map[string]struct {
		reason       string
		policies     []*v1alpha1.ClusterRegoPolicy
		class        v1alpha1.FailurePolicy
		namespaceErr error
		wantCode     int32
		wantMessage  string
		wantWarning  string
	}{
		"failurePolicy Fail refuses, and says which policy and how it failed": {
			policies:    []*v1alpha1.ClusterRegoPolicy{webhooktest.NewPolicy("broken", webhooktest.BrokenRego)},
			class:       v1alpha1.FailurePolicyFail,
			wantCode:    http.StatusInternalServerError,
			wantMessage: brokenBy,
		},
		"failurePolicy Ignore lets pass with a warning": {
			policies: []*v1alpha1.ClusterRegoPolicy{
				webhooktest.NewPolicy("broken", webhooktest.BrokenRego,
					webhooktest.WithFailurePolicy(v1alpha1.FailurePolicyIgnore))},
			class:       v1alpha1.FailurePolicyIgnore,
			wantWarning: "not judged: " + brokenBy,
		},
		"a Warn policy never refuses, even with failurePolicy Fail": {
			reason: "what wouldn't refuse a violation mustn't refuse for its own failure",
			policies: []*v1alpha1.ClusterRegoPolicy{
				webhooktest.NewPolicy("broken", webhooktest.BrokenRego,
					webhooktest.WithAction(v1alpha1.AdmissionWarn))},
			class:       v1alpha1.FailurePolicyIgnore,
			wantWarning: "not judged: " + brokenBy,
		},
		"a violation of another policy is told first, as a denial": {
			policies: []*v1alpha1.ClusterRegoPolicy{webhooktest.NewPolicy("broken", webhooktest.BrokenRego),
				webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)},
			class:       v1alpha1.FailurePolicyFail,
			wantCode:    http.StatusForbidden,
			wantMessage: "\nBesides, " + brokenBy,
		},
		"an unknown namespace fails closed": {
			reason: "a policy with a namespaceSelector would silently not apply",
			policies: []*v1alpha1.ClusterRegoPolicy{
				webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)},
			class:        v1alpha1.FailurePolicyFail,
			namespaceErr: errors.New("reading namespace shop: the server is down"),
			wantCode:     http.StatusServiceUnavailable,
			wantMessage:  "reading namespace shop: the server is down\nTry again",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t, tc.class, webhooktest.NewCatalog(t, tc.policies...))
			h.Namespaces = fakeNamespaces{err: tc.namespaceErr}
			got := webhooktest.Ask(t, h, review)
			if got.Allowed != (tc.wantCode == 0) {
				t.Fatalf("%s: allowed is %t: %v", tc.reason, got.Allowed, got.Status)
			}
			if tc.wantCode != 0 &&
				(got.Status.Code != tc.wantCode || !strings.Contains(got.Status.Message, tc.wantMessage)) {
				t.Errorf("%s: want %d with %q, got %d: %s", tc.reason, tc.wantCode, tc.wantMessage, got.Status.Code,
					got.Status.Message)
			}
			if tc.wantWarning != "" && (len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], tc.wantWarning)) {
				t.Errorf("want a warning that begins with %q, got %q", tc.wantWarning, got.Warnings)
			}
			for _, p := range tc.policies {
				want := 0.0
				if p.Name == "broken" {
					want = 1
				}
				if got := testutil.ToFloat64(h.Verdicts.errors.WithLabelValues(p.Name)); got != want {
					t.Errorf("evaluation errors of %s: got %v, want %v", p.Name, got, want)
				}
			}
		})
	}
}

func TestHandlerRefusesBadReviews(t *testing.T) {
	good := webhooktest.Encode(t, webhooktest.Review("CREATE", webhooktest.Deployment("web", false), nil))
	cases := map[string]struct {
		method, contentType string
		body                io.Reader
		want                int
		wantText            string
	}{
		"a body that isn't JSON": {
			body: strings.NewReader("{"), want: http.StatusBadRequest, wantText: "decoding the AdmissionReview"},
		"an empty body": {
			body: strings.NewReader(""), want: http.StatusBadRequest, wantText: "decoding the AdmissionReview"},
		"a review of another version": {
			body: bytes.NewReader(bytes.Replace(good, []byte("admission.k8s.io/v1"), []byte("admission.k8s.io/v1beta1"),
				1)), want: http.StatusBadRequest, wantText: "admission.k8s.io/v1beta1"},
		"a review without a request": {
			body: strings.NewReader(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`),
			want: http.StatusBadRequest, wantText: "no request"},
		"a body over the limit that tells nothing": {
			body: bytes.NewReader(append(bytes.Repeat([]byte(" "), 41<<20), good...)),
			want: http.StatusRequestEntityTooLarge, wantText: "more than 37 MiB"},
		"a body over the limit of unknown length that tells nothing": {
			body: io.MultiReader(bytes.NewReader(bytes.Repeat([]byte(" "), 41<<20)), bytes.NewReader(good)),
			want: http.StatusRequestEntityTooLarge, wantText: "more than 37 MiB"},
		"another method": {
			method: http.MethodGet, body: bytes.NewReader(good), want: http.StatusMethodNotAllowed, wantText: "POST"},
		"another content type": {
			contentType: "application/yaml", body: bytes.NewReader(good), want: http.StatusUnsupportedMediaType,
			wantText: "application/json"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.method == "" {
				tc.method = http.MethodPost
			}
			if tc.contentType == "" {
				tc.contentType = "application/json"
			}
			h := newHandler(t, v1alpha1.FailurePolicyFail, webhooktest.NewCatalog(t))
			r := httptest.NewRequest(tc.method, names.PathFail, tc.body)
			r.Header.Set("Content-Type", tc.contentType)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tc.want || !strings.Contains(w.Body.String(), tc.wantText) {
				t.Errorf("want %d with %q, got %d: %s", tc.want, tc.wantText, w.Code, w.Body)
			}
			if got := webhooktest.Counted(t, h.Metrics, "evenkeel_admission_requests_total", serving.DecisionBad,
				"fail", "other"); got != 1 {
				t.Errorf("malformed requests counted: %v", got)
			}
		})
	}
}

func TestDryRunRequestsAreCountedApart(t *testing.T) {
	h := newHandler(t, v1alpha1.FailurePolicyFail,
		webhooktest.NewCatalog(t, webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)))
	object := webhooktest.Deployment("web", true)
	webhooktest.Ask(t, h, webhooktest.Review("CREATE", object, nil, webhooktest.DryRun))
	webhooktest.Ask(t, h, webhooktest.Review("CREATE", object, nil, webhooktest.DryRun))
	webhooktest.Ask(t, h, webhooktest.Review("CREATE", object, nil))
	got := map[string]float64{
		"dry runs": webhooktest.Counted(t, h.Metrics, "evenkeel_admission_requests_total", "dry_run", "fail",
			"CREATE"),
		"denials": webhooktest.Counted(t, h.Metrics, "evenkeel_admission_requests_total", serving.DecisionDenied,
			"fail", "CREATE"),
		"violations": testutil.ToFloat64(h.Verdicts.violations.WithLabelValues("no-privileged", "Deny")),
	}
	if diff := cmp.Diff(map[string]float64{"dry runs": 2, "denials": 1, "violations": 1}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// slowJudge answers with an error when the time to judge in is over.
type slowJudge struct{ budget chan time.Duration }

func (j slowJudge) EvaluateWhere(ctx context.Context, _ *policy.Request,
	_ func(*v1alpha1.ClusterRegoPolicy) bool) []catalog.Result {
	deadline, _ := ctx.Deadline()
	j.budget <- time.Until(deadline)
	return nil
}

func (slowJudge) Concerning(*policy.Request) []*v1alpha1.ClusterRegoPolicy { return nil }

func (slowJudge) Override(string, time.Time) *override.Override { return nil }

func (slowJudge) EvaluateOne(context.Context, string, *policy.Request) (catalog.Result, bool) {
	return catalog.Result{}, false
}

func TestTheTimeToJudgeIsLessThanTheAPIServerWaits(t *testing.T) {
	j := slowJudge{budget: make(chan time.Duration, 1)}
	h := newHandler(t, v1alpha1.FailurePolicyFail, webhooktest.NewCatalog(t))
	h.Judge, h.Timeout = func() Judge { return j }, 30*time.Second
	webhooktest.Ask(t, h, webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil)) // says timeout=5s
	if got := <-j.budget; got <= 4*time.Second || got > 4500*time.Millisecond {
		t.Errorf("the policies had %s, want 4.5s: a tenth less than the API server's 5s", got)
	}
}
