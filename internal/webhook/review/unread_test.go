// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// sentAs is a review with the fields of its request in the API server's order, and a
// privileged Deployment that can't be read for the reason given.
func sentAs(t *testing.T, reason serving.Reason, change ...func(tree)) []byte {
	t.Helper()
	review := webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil, change...)
	request := review["request"].(tree)
	object := request["object"]
	if object == nil {
		object = request["oldObject"]
	}
	if object, ok := object.(tree); ok {
		object["status"] = map[serving.Reason]any{
			serving.TooLarge:    strings.Repeat("<", 7<<20),
			serving.TooMany:     slices.Repeat([]any{tree{}}, 400000),
			serving.Undecodable: "DEEP",
		}[reason]
	}
	var parts []string
	for _, field := range []string{"uid", "kind", "resource", "subResource", "name", "namespace", "operation",
		"userInfo", "object", "oldObject", "dryRun", "options"} {
		if value, ok := request[field]; ok {
			parts = append(parts, `"`+field+`":`+string(webhooktest.Encode(t, value)))
		}
	}
	body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{` + strings.Join(parts, ",") + `}}`
	return []byte(strings.ReplaceAll(body, `"DEEP"`, strings.Repeat("[", 10001)+strings.Repeat("]", 10001)))
}

func answerOf(t *testing.T, h http.Handler, body []byte) serving.Response {
	t.Helper()
	w := webhooktest.Post(h, body)
	var out struct{ Response serving.Response }
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		t.Fatalf("an HTTP error is a pass under failurePolicy Ignore: %d %s", w.Code, w.Body)
	}
	return out.Response
}

// readingAll are the ways in which an object can't be read.
func readingAll() []serving.Reason {
	return []serving.Reason{serving.TooLarge, serving.TooMany, serving.Undecodable}
}

func TestWhatCannotBeReadIsRefusedByNameUnderDeny(t *testing.T) {
	for _, class := range []v1alpha1.FailurePolicy{v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore} {
		for _, reason := range readingAll() {
			t.Run(string(class)+" "+string(reason), func(t *testing.T) {
				h := newHandler(t, class,
					webhooktest.NewCatalog(
						t, webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego,
							webhooktest.WithFailurePolicy(class))))
				got := answerOf(t, h, sentAs(t, reason))
				if got.Allowed || got.Status.Code != http.StatusRequestEntityTooLarge ||
					!strings.HasPrefix(got.Status.Message,
						"Deployment shop/web is refused because it can't be judged: its ") ||
					!strings.Contains(got.Status.Message,
						"\n- policy no-privileged (High): No privileged containers\n") {
					t.Errorf("got %+v", got.Status)
				}
				if diff := cmp.Diff(map[string]string{"no-privileged": "not judged: " + string(reason)},
					got.AuditAnnotations); diff != "" {
					t.Errorf("audit (-want +got)\n%s", diff)
				}
				if n := webhooktest.Counted(t, h.Metrics, "evenkeel_admission_unread_total", h.endpoint(),
					serving.OutcomeRefused, string(reason)); n != 1 {
					t.Errorf("counted %v times", n)
				}
			})
		}
	}
}

func TestWhatCannotBeReadPassesWhereNothingWouldRefuse(t *testing.T) {
	elsewhere := func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Match.ExcludedNamespaces = []string{"shop"} }
	exempt := func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Admission.Exempt.Users = []string{"ann"} }
	labelled := func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Match.ObjectSelector = &v1alpha1.LabelSelector{
			MatchLabels: map[string]v1alpha1.LabelValue{"tier": "web"}}
	}
	cases := map[string]struct {
		reason  string
		policy  *v1alpha1.ClusterRegoPolicy
		change  func(tree)
		refused bool
		warned  bool
	}{
		"a Warn policy warns that it didn't judge": {
			policy: webhooktest.NewPolicy("p", webhooktest.PrivilegedRego,
				webhooktest.WithAction(v1alpha1.AdmissionWarn)), warned: true,
		},
		"a DryRun policy says nothing": {
			policy: webhooktest.NewPolicy("p", webhooktest.PrivilegedRego,
				webhooktest.WithAction(v1alpha1.AdmissionAudit))},
		"a Deny policy of another namespace": {
			policy: webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, elsewhere)},
		"a Deny policy that exempts the user": {
			policy: webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, exempt)},
		"a Deny policy that doesn't ask on CREATE": {
			policy: webhooktest.NewPolicy("p", webhooktest.PrivilegedRego,
				webhooktest.WithOperations(v1alpha1.OperationDelete))},
		"a Deny policy that asks for labels may mean": {
			reason: "the labels weren't read", policy: webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, labelled),
			refused: true},
		"a subresource that is never judged": {policy: webhooktest.NewPolicy("p", webhooktest.PrivilegedRego),
			change: func(r tree) { r["subResource"] = "status" }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t, serving.Class(tc.policy), webhooktest.NewCatalog(t, tc.policy))
			change := []func(tree){}
			if tc.change != nil {
				change = append(change, tc.change)
			}
			got := answerOf(t, h, sentAs(t, serving.Undecodable, change...))
			if got.Allowed == tc.refused ||
				tc.warned != (len(got.Warnings) == 1 &&
					strings.HasPrefix(got.Warnings[0], "not judged: policy p: its ")) {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
		})
	}
}

func TestAWaiverByNameLetsInWhatCannotBeRead(t *testing.T) {
	c := webhooktest.NewCatalog(t, webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego))
	e := &v1alpha1.Waiver{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "large"}}
	e.Spec.Policies, e.Spec.Match.Names = []string{"no-privileged"}, []string{"web"}
	e.Spec.ExpirationTime = metav1.NewTime(time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC))
	if err := c.SetWaiver(e); err != nil {
		t.Fatal(err)
	}
	h := newHandler(t, v1alpha1.FailurePolicyFail, c)
	if got := answerOf(t, h, sentAs(t, serving.TooMany)); !got.Allowed {
		t.Errorf("by name: %+v", got.Status)
	}
	e.Spec.Match.ObjectSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "web"}}
	if err := c.SetWaiver(e); err != nil {
		t.Fatal(err)
	}
	if got := answerOf(t, h, sentAs(t, serving.TooMany)); got.Allowed {
		t.Error("labels that weren't read must waive nothing")
	}
}

func TestWhoIsTurnedAwayIsToldToTryAgain(t *testing.T) {
	h := newHandler(t, v1alpha1.FailurePolicyIgnore,
		webhooktest.NewCatalog(
			t, webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego,
				webhooktest.WithFailurePolicy(v1alpha1.FailurePolicyIgnore))))
	h.Timeout = 100 * time.Millisecond
	h.Reviews = serving.NewReader(64 << 10)
	r := httptest.NewRequest(http.MethodPost, names.PathIgnore, bytes.NewReader(sentAs(t, "")))
	r.Header.Set("Content-Type", "application/json")
	review, err := h.Reviews.Read(r.Context(), httptest.NewRecorder(), r, h.Clock.Now())
	if err != nil || review.Unread != nil {
		t.Fatal(err, review)
	}
	defer review.Done() // until then there is no room for another
	got := answerOf(t, h, sentAs(t, ""))
	if got.Allowed || got.Status.Code != http.StatusTooManyRequests ||
		got.Status.Details.RetryAfterSeconds != serving.RetryAfter ||
		!strings.Contains(got.Status.Message, "Try again in a moment") {
		t.Errorf("got %+v", got.Status)
	}
}
