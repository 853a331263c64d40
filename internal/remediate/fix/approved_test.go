// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"errors"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// What was proposed is written, and nothing else, whatever has become of the object.
func TestOnlyWhatWasApprovedIsWritten(t *testing.T) {
	cases := map[string]struct {
		reason string
		since  func(*desk)
		want   v1alpha1.TargetState
		why    string
		says   string
	}{
		"the object is as it was": {want: v1alpha1.TargetIntent},
		"something that the fix doesn't touch has changed": {want: v1alpha1.TargetIntent, since: func(d *desk) {
			d.change(func(web *corev1.ConfigMap) { web.Data["theme"] = "dark" })
		}},
		"the value before has changed": {reason: "the approver saw another", since: func(d *desk) {
			d.judges["state"] = fixtest.Verdicts{}["none"] // any state is bad
			d.says("state", policy.Decision{Violations: []policy.Violation{{Message: "bad"}},
				Actions: []policy.Action{fixtest.SetState("good")}})
			d.change(func(web *corev1.ConfigMap) { web.Data["state"] = "worse" })
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonFixIneffective},
		"the fix sets another value": {since: func(d *desk) { d.proposes(fixtest.SetState("better")) },
			says: " was approved, and now it would be: ",
			want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonChangedSinceApproval},
		"the fix does more": {since: func(d *desk) {
			d.proposes(note(map[string]any{"a": "b"}), fixtest.SetState("good"))
		}, want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonChangedSinceApproval},
		"a webhook sets another value": {reason: "what the server stores is what was approved",
			since: func(d *desk) { d.webhook(setNested(d.t, "nice", "data", "state")) },
			want:  v1alpha1.TargetSkipped, why: v1alpha1.ReasonChangedSinceApproval},
		"it was fixed by somebody else": {want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonAlreadyClean,
			since: func(d *desk) { d.change(func(web *corev1.ConfigMap) { web.Data["state"] = "good" }) }},
		"nothing was to be written": {reason: "nobody has approved a write", since: func(d *desk) {
			d.Previous.Proposal = preview.Change{Why: "OptOut: the object has the annotation"}.String()
		}, want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonChangedSinceApproval,
			says: "nothing was to be written (OptOut: the object has the annotation)"},
		"the plan was approved before changes were told": {want: v1alpha1.TargetIntent,
			since: func(d *desk) { d.Previous.Proposal = ""; d.proposes(fixtest.SetState("better")) }},
		"the text was left out since": {want: v1alpha1.TargetIntent, since: func(d *desk) {
			change, _ := preview.ParseChange(d.Previous.Proposal)
			d.Previous.Proposal = preview.Change{Digest: change.Digest}.String()
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			proposed := *d.Attempt
			change, notYet := proposed.Propose(t.Context())
			if notYet != nil || change.Digest == "" {
				t.Fatalf("nothing is proposed: %+v, %+v", change, notYet)
			}
			d.Previous.Proposal = change.String()
			if tc.since != nil {
				tc.since(d)
			}
			got := d.Prepare(t.Context())
			if got.State != tc.want || got.Reason != tc.why || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: %s (%s): %s", tc.reason, got.State, got.Reason, got.Message)
			}
			if got.State == v1alpha1.TargetIntent && got.Proposal == "" && d.Previous.Proposal != "" {
				t.Error("the next try wouldn't know what was approved")
			}
		})
	}
}

func TestPropose(t *testing.T) {
	cases := map[string]struct {
		reason  string
		prepare func(*desk)
		change  string
		why     string
		later   string
	}{
		"a fix": {change: `/data/state: "bad" → "good"`},
		"a fix by two writes": {change: "create ConfigMap note:", prepare: func(d *desk) {
			d.proposes(note(map[string]any{"a": "b"}), fixtest.SetState("good"))
		}},
		"a canary that isn't healthy": {reason: "whether it is healthy is asked at the write",
			prepare: func(d *desk) { d.Canary = true }, change: `/data/state: "bad" → "good"`},
		"an object that has opted out": {why: "OptOut: ", prepare: func(d *desk) {
			d.change(func(web *corev1.ConfigMap) {
				web.Annotations = map[string]string{v1alpha1.AnnotationRemediation: v1alpha1.RemediationPaused}
			})
		}},
		"an object that is gone": {why: "Gone: ", prepare: func(d *desk) { d.delete() }},
		"a fix that does nothing": {why: "FixIneffective: ", prepare: func(d *desk) {
			d.proposes(fixtest.SetState("bad"))
		}},
		"a disruption budget that doesn't allow it now": {reason: "it may at the time of the write",
			change: "create ConfigMap note:", prepare: func(d *desk) {
				d.proposes(fixtest.SetState("good"), note(map[string]any{"a": "b"}))
				refused := apierrors.NewTooManyRequests("Cannot evict pod", 1)
				refused.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
				d.intercepts(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object,
					opts ...client.CreateOption) error {
					if _, asks := obj.(*authorizationv1.SelfSubjectAccessReview); asks {
						return c.Create(ctx, obj, opts...)
					}
					return refused
				}})
			}},
		"a permission that is missing": {reason: "it keeps nobody from approving the others",
			why: "MissingPermissions: ", prepare: func(d *desk) {
				d.proposes(fixtest.SetState("good"), note(map[string]any{"a": "b"}))
				d.mayOnlyGet()
			}},
		"an API server that is away": {reason: "it is asked again", later: v1alpha1.ReasonRetrying,
			prepare: func(d *desk) {
				d.unreadable("web", errors.New("connection refused"))
			}},
		"an API server that stays away": {reason: "nobody waits for ever", why: "RetriesExhausted: ",
			prepare: func(d *desk) {
				d.Previous.Attempts = 5
				d.unreadable("web", apierrors.NewInternalError(errors.New("etcd is away")))
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			if tc.prepare != nil {
				tc.prepare(d)
			}
			change, notYet := d.Propose(t.Context())
			if (notYet != nil) != (tc.later != "") || notYet != nil && notYet.Reason != tc.later {
				t.Fatalf("%s: not yet: %+v", tc.reason, notYet)
			}
			if !strings.HasPrefix(change.Text, tc.change) || !strings.HasPrefix(change.Why, tc.why) ||
				(change.Digest != "") != (tc.change != "") {
				t.Errorf("%s: got %+v", tc.reason, change)
			}
		})
	}
}
