// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/test/fixtest"
	"evenkeel.dev/evenkeel/test/fixture"
)

// desk is an attempt to fix the ConfigMap shop/web of a simulated API server, whose
// data.state is "bad".
type desk struct {
	*Attempt
	t      *testing.T
	api    client.WithWatch
	judges fixtest.Verdicts
}

func newDesk(t *testing.T, objects ...client.Object) *desk {
	t.Helper()
	api := fixtest.NewServer(objects...)
	d := &desk{t: t, api: api, judges: fixtest.Verdicts{"state": fixtest.BadState(fixtest.SetState("good"))},
		Attempt: &Attempt{Target: v1alpha1.Target{Object: fixtest.Web()}, Remediation: "plan-1",
			Targets: &targets.Client{Reader: api, Writer: api, Mapper: fixtest.Mapper(), Annotate: true,
				Clock: clocktesting.NewFakePassiveClock(fixtest.Now), Owners: targets.OwnerMemo{Reader: api}},
			Previous: v1alpha1.TargetRecord{State: v1alpha1.TargetPending}}}
	d.Snapshot = d.judges
	d.Plan.Policy = v1alpha1.PlannedPolicy{Name: "state", Revision: fixtest.Revision}
	d.Plan.Rollout = fixture.Planned(v1alpha1.RemediationAutomatic)
	d.Plan.Rollout.Mode = v1alpha1.RemediationAutomatic
	d.Plan.Rollout.AllowedActions = v1alpha1.ActionTypes()
	d.Plan.Waves = fixture.PlannedWaves(1, 1)
	return d
}

// proposes has the policy propose other actions.
func (d *desk) proposes(actions ...policy.Action) { d.judges["state"] = fixtest.BadState(actions...) }

// says has a policy say the same of every object.
func (d *desk) says(name string, decision policy.Decision) {
	d.judges[name] = func(map[string]any) *policy.Decision { return &decision }
}

// change changes the target as it lives.
func (d *desk) change(change func(*corev1.ConfigMap)) {
	d.t.Helper()
	web := &corev1.ConfigMap{}
	if err := d.api.Get(d.t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, web); err != nil {
		d.t.Fatal(err)
	}
	change(web)
	if err := d.api.Update(d.t.Context(), web); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) delete() {
	d.t.Helper()
	if err := d.api.Delete(d.t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) create(obj client.Object) {
	d.t.Helper()
	if err := d.api.Create(d.t.Context(), obj); err != nil {
		d.t.Fatal(err)
	}
}

// intercepts puts something between the controller and the API server.
func (d *desk) intercepts(funcs interceptor.Funcs) {
	server := interceptor.NewClient(d.api, funcs)
	d.Targets.Reader, d.Targets.Writer, d.Targets.Owners.Reader = server, server, server
}

// refusesCreate answers each attempt to create an object with an error.
func (d *desk) refusesCreate(err error) {
	d.intercepts(interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object,
		...client.CreateOption) error {
		return err
	}})
}

// unreadable answers each read of an object with an error.
func (d *desk) unreadable(name string, err error) {
	d.intercepts(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey,
		obj client.Object, opts ...client.GetOption) error {
		if key.Name == name {
			return err
		}
		return c.Get(ctx, key, obj, opts...)
	}})
}

// mayOnlyGet takes all permissions from the controller but those to read.
func (d *desk) mayOnlyGet() {
	d.intercepts(interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, obj client.Object,
		_ ...client.CreateOption) error {
		if review, asks := obj.(*authorizationv1.SelfSubjectAccessReview); asks {
			review.Status.Allowed = review.Spec.ResourceAttributes.Verb == "get"
		}
		return nil
	}})
}

// webhook changes each object that is patched, as a mutating webhook does.
func (d *desk) webhook(change func(*unstructured.Unstructured)) {
	d.intercepts(interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, obj client.Object,
		patch client.Patch, opts ...client.PatchOption) error {
		err := c.Patch(ctx, obj, patch, opts...)
		if err == nil {
			change(obj.(*unstructured.Unstructured))
		}
		return err
	}})
}

func (d *desk) read() *unstructured.Unstructured {
	d.t.Helper()
	obj, err := d.Targets.Read(d.t.Context(), d.Target.Object)
	if err != nil {
		d.t.Fatal(err)
	}
	return obj
}

func setNested(t *testing.T, value any, fields ...string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(obj.Object, value, fields...); err != nil {
			t.Error(err)
		}
	}
}

func note(data map[string]any) policy.Action {
	return policy.Action{Type: policy.ActionCreate, Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "note"}, "data": data}}
}

func unavailable() error { return apierrors.NewServiceUnavailable("try again") }

// Each check of the protocol keeps a target from being written, and says why.
func TestWhatKeepsATargetFromBeingWritten(t *testing.T) {
	pause := map[string]string{v1alpha1.AnnotationRemediation: v1alpha1.RemediationPaused}
	pauseUntil := func(end string) func(*desk) {
		return func(d *desk) {
			d.change(func(web *corev1.ConfigMap) {
				web.Annotations = map[string]string{v1alpha1.AnnotationRemediation: v1alpha1.RemediationPaused,
					v1alpha1.AnnotationPausedUntil: end}
			})
		}
	}
	cases := map[string]struct {
		reason string
		given  func(*desk)
		want   v1alpha1.TargetState
		why    string
		says   string
	}{
		"nothing": {reason: "it may be written", given: func(*desk) {}, want: v1alpha1.TargetIntent},
		"the object is gone": {reason: "there is nothing to fix", given: (*desk).delete,
			want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonGone, says: "doesn't exist"},
		"the object was replaced": {reason: "it isn't the one of the plan",
			given: func(d *desk) { d.Target.Object.UID = "older" }, want: v1alpha1.TargetSkipped,
			why: v1alpha1.ReasonGone, says: "created again"},
		"the object is being deleted": {reason: "it goes anyway", given: func(d *desk) {
			d.change(func(web *corev1.ConfigMap) { web.Finalizers = []string{"example.com/x"} })
			d.delete()
		}, want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonGone, says: "being deleted"},
		"the object can't be read": {reason: "it is tried again",
			given: func(d *desk) { d.unreadable("web", unavailable()) }, want: v1alpha1.TargetPending,
			why: v1alpha1.ReasonRetrying, says: "try again"},
		"its namespace can't be read": {reason: "it may have opted out",
			given: func(d *desk) { d.unreadable("shop", unavailable()) }, want: v1alpha1.TargetPending,
			why: v1alpha1.ReasonRetrying, says: "try again"},
		"its namespace is exempt": {reason: "it keeps the cluster alive",
			given: func(d *desk) { d.Targets.Reach = limits.Reach{Exempt: []string{"shop"}} },
			want:  v1alpha1.TargetSkipped, why: v1alpha1.ReasonNotAllowed, says: "namespace shop"},
		"it has opted out": {reason: "its owner said so",
			given: func(d *desk) { d.change(func(web *corev1.ConfigMap) { web.Annotations = pause }) },
			want:  v1alpha1.TargetSkipped, why: v1alpha1.ReasonOptOut, says: "the object has"},
		"it has opted out for a while": {reason: "its end is to come",
			given: pauseUntil(fixtest.Now.Add(time.Second).Format(time.RFC3339)),
			want:  v1alpha1.TargetSkipped, why: v1alpha1.ReasonOptOut, says: "paused, until "},
		"its opt-out ended": {reason: "it was meant to end",
			given: pauseUntil(fixtest.Now.Format(time.RFC3339)), want: v1alpha1.TargetIntent},
		"its opt-out has an end that can't be read": {reason: "not to write is the safe side",
			given: pauseUntil("2001-01-01"), want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonOptOut,
			says: "without an end"},
		"its namespace has opted out": {reason: "its owner said so", given: func(d *desk) {
			shop := &corev1.Namespace{}
			if err := d.api.Get(d.t.Context(), client.ObjectKey{Name: "shop"}, shop); err != nil {
				d.t.Fatal(err)
			}
			shop.Annotations = pause
			if err := d.api.Update(d.t.Context(), shop); err != nil {
				d.t.Fatal(err)
			}
		}, want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonOptOut, says: "its namespace has"},
		"the policy has changed": {reason: "another plan is made",
			given: func(d *desk) { d.Plan.Policy.Revision = "r0" }, want: v1alpha1.TargetPending,
			why: v1alpha1.ReasonRetrying, says: "the policy has changed"},
		"the policy doesn't concern it": {reason: "any more", given: func(d *desk) {
			d.judges["state"] = func(map[string]any) *policy.Decision { return nil }
		}, want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonAlreadyClean, says: "doesn't concern"},
		"the policy can't be evaluated": {reason: "that is never a pass",
			given: func(d *desk) { d.says("state", policy.Decision{Err: errors.New("division by zero")}) },
			want:  v1alpha1.TargetFailed, why: v1alpha1.ReasonEvaluationError, says: "division by zero"},
		"it is clean by now": {reason: "somebody fixed it",
			given: func(d *desk) { d.says("state", policy.Decision{}) }, want: v1alpha1.TargetSkipped,
			why: v1alpha1.ReasonAlreadyClean, says: "doesn't violate"},
		"the fix can't be evaluated": {reason: "the verdict stands, the fix doesn't", given: func(d *desk) {
			d.says("state", policy.Decision{Violations: []policy.Violation{{}}, FixErr: errors.New("no value")})
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonEvaluationError, says: "no value"},
		"the policy offers no fix": {reason: "somebody else must fix it", given: func(d *desk) { d.proposes() },
			want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonNoFix, says: "the state is bad"},
		"the action isn't allowed": {reason: "the strategy says which are",
			given: func(d *desk) { d.Plan.Rollout.AllowedActions = []v1alpha1.ActionType{v1alpha1.ActionDelete} },
			want:  v1alpha1.TargetFailed, why: v1alpha1.ReasonNotAllowed, says: "add Patch"},
		"the fix can't be applied": {reason: "it is wrong", given: func(d *desk) {
			d.proposes(policy.Action{Type: policy.ActionPatch,
				Ops: []policy.PatchOp{{Op: "remove", Path: "/data/none"}}})
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonFixInvalid},
		"the fix changes nothing": {reason: "it would never end",
			given: func(d *desk) { d.proposes(fixtest.SetState("bad")) }, want: v1alpha1.TargetFailed,
			why: v1alpha1.ReasonFixIneffective, says: "leaves the object as it is"},
		"the fix creates, and changes nothing else": {reason: "what it creates may be all that was missing",
			given: func(d *desk) {
				d.judges["state"] = func(object map[string]any) *policy.Decision {
					return &policy.Decision{Violations: []policy.Violation{{Message: "it stays"}},
						Actions: []policy.Action{note(nil)}}
				}
			}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonFixIneffective, says: "after the fix"},
		"the fix doesn't resolve the violation": {reason: "a write for nothing", given: func(d *desk) {
			d.proposes(policy.Action{Type: policy.ActionPatch,
				Ops: []policy.PatchOp{{Op: "add", Path: "/data/other", Value: "x", HasValue: true}}})
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonFixIneffective,
			says: "would still violate: the state is bad"},
		"the fixed object can't be judged": {reason: "no answer is no proof", given: func(d *desk) {
			bad := d.judges["state"]
			d.judges["state"] = func(object map[string]any) *policy.Decision {
				if found := bad(object); len(found.Violations) > 0 {
					return found
				}
				return &policy.Decision{Err: errors.New("division by zero")}
			}
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonEvaluationError, says: "after the fix: division by zero"},
		"the fix sets what only the administrator lets it": {reason: "fields of power", given: func(d *desk) {
			d.proposes(fixtest.SetState("good"), policy.Action{Type: policy.ActionPatch, Ops: []policy.PatchOp{
				{Op: "add", Path: "/metadata/ownerReferences", Value: []any{map[string]any{"apiVersion": "v1",
					"kind": "ConfigMap", "name": "x", "uid": "x"}}, HasValue: true}}})
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonNotAllowed},
		"the fix makes what no fix may make": {reason: "kinds of power", given: func(d *desk) {
			d.proposes(fixtest.SetState("good"), policy.Action{Type: policy.ActionCreate, Object: map[string]any{
				"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
				"metadata": map[string]any{"name": "x"}}})
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonNotAllowed},
		"the fix breaks another policy": {reason: "it moves the violation", given: func(d *desk) {
			d.judges["other"] = func(object map[string]any) *policy.Decision {
				if d.judges["state"](object).Clean() {
					return &policy.Decision{Violations: []policy.Violation{{Message: "too good"}}}
				}
				return &policy.Decision{}
			}
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonFixBreaksPolicy,
			says: "the fixed object would violate policy other: too good"},
		"another policy is violated as before": {reason: "the fix doesn't bring it", given: func(d *desk) {
			d.says("other", policy.Decision{Violations: []policy.Violation{{Message: "never"}}})
		}, want: v1alpha1.TargetIntent},
		"the fix breaks a policy that only audits": {reason: "it keeps nobody from writing", given: func(d *desk) {
			d.judges["audit"] = func(object map[string]any) *policy.Decision {
				if d.judges["state"](object).Clean() {
					return &policy.Decision{Violations: []policy.Violation{{Message: "too good"}}}
				}
				return &policy.Decision{}
			}
		}, want: v1alpha1.TargetIntent},
		"the plan's policy only audits, and what the fix creates violates it": {
			reason: "the plan is for that policy", given: func(d *desk) {
				d.judges["audit"] = fixtest.BadState(fixtest.SetState("good"), note(map[string]any{"state": "bad"}))
				d.Plan.Policy.Name = "audit"
			}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonFixBreaksPolicy,
			says: "the object to create would violate policy audit"},
		"another policy can't judge the fixed object": {reason: "no answer is no proof", given: func(d *desk) {
			d.says("other", policy.Decision{Err: errors.New("division by zero")})
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonEvaluationError,
			says: "policy other can't judge the fixed object"},
		"what the fix creates breaks a policy": {reason: "it would be the next target", given: func(d *desk) {
			d.proposes(fixtest.SetState("good"), note(map[string]any{"state": "bad"}))
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonFixBreaksPolicy,
			says: "the object to create would violate"},
		"a permission is missing": {reason: "a person adds it", given: func(d *desk) {
			d.proposes(fixtest.SetState("good"), note(nil))
			d.mayOnlyGet()
		}, want: v1alpha1.TargetPending, why: v1alpha1.ReasonMissingPermissions, says: "create"},
		"nobody can tell whether a permission is missing": {reason: "it is asked again", given: func(d *desk) {
			d.proposes(fixtest.SetState("good"), note(nil))
			d.intercepts(interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object,
				...client.CreateOption) error {
				return unavailable()
			}})
		}, want: v1alpha1.TargetPending, why: v1alpha1.ReasonRetrying, says: "try again"},
		"the server refuses the dry run": {reason: "it would refuse the write", given: func(d *desk) {
			d.intercepts(interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch,
				...client.PatchOption) error {
				return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "web", nil)
			}})
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonDryRunRefused},
		"the server would store it unchanged": {reason: "a webhook sets it back", given: func(d *desk) {
			d.webhook(setNested(d.t, "bad", "data", "state"))
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonFixIneffective, says: "store the object unchanged"},
		"a webhook would change more": {reason: "the fix doesn't name it",
			given: func(d *desk) { d.webhook(setNested(d.t, "x", "data", "more")) }, want: v1alpha1.TargetFailed,
			why: v1alpha1.ReasonFixChangesMore, says: "/data/more"},
		"a webhook would set another value that violates": {reason: "the violation would stay", given: func(d *desk) {
			d.judges["state"] = func(object map[string]any) *policy.Decision {
				if state, _, _ := unstructured.NestedString(object, "data", "state"); state == "good" {
					return &policy.Decision{}
				}
				return &policy.Decision{Violations: []policy.Violation{{Message: "not good"}},
					Actions: []policy.Action{fixtest.SetState("good")}}
			}
			d.webhook(setNested(d.t, "worse", "data", "state"))
		}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonFixIneffective, says: "as the API server would store it"},
		"a webhook would set another value that is clean": {reason: "it resolves the violation",
			given: func(d *desk) { d.webhook(setNested(d.t, "better", "data", "state")) },
			want:  v1alpha1.TargetIntent},
		"the record would be too large": {reason: "it couldn't be undone",
			given: func(d *desk) { d.proposes(fixtest.SetState(strings.Repeat("x", maxRecordBytes))) },
			want:  v1alpha1.TargetFailed, why: v1alpha1.ReasonFixTooLarge, says: "have the object's owner fix it"},
		"an earlier write may still arrive": {reason: "somebody must look at it then", given: func(d *desk) {
			at := metav1.NewMicroTime(fixtest.Now)
			d.Previous.Write = &v1alpha1.WriteRecord{UID: "u1", IntentTime: &at}
			d.proposes()
		}, want: v1alpha1.TargetPending, why: v1alpha1.ReasonOutcomeUnknown, says: "NoFix"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			tc.given(d)
			got := d.Prepare(t.Context())
			if got.State != tc.want || got.Reason != tc.why || !strings.Contains(got.Message, tc.says) {
				t.Fatalf("%s: %s (%s): %s", tc.reason, got.State, got.Reason, got.Message)
			}
			if tc.want != v1alpha1.TargetIntent {
				return
			}
			w := got.Write
			if w == nil || w.UID != "u1" || w.ResourceVersion == "" || w.Action != v1alpha1.ActionPatch ||
				w.HealthBefore != "Current" || !w.IntentTime.Time.Equal(fixtest.Now) || w.Expected == nil ||
				len(w.Forward) != 2 || len(w.Fields) != 1 || w.Fields[0].Path != "/data/state" || w.DigestAfter == "" ||
				w.DigestBefore == "" {
				t.Errorf("%s: the record is %+v", tc.reason, w)
			}
		})
	}
}

// A canary that isn't well proves nothing, and neither does what nobody can tell the health of.
func TestWhoseHealthProvesAFix(t *testing.T) {
	patch, removal := []policy.Action{fixtest.SetState("good")}, []policy.Action{{Type: policy.ActionDelete}}
	object := func(kind string, status map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": kind,
			"metadata": map[string]any{"name": "w", "generation": int64(1)}, "status": status}}
	}
	failing := object("Widget",
		map[string]any{"conditions": []any{map[string]any{"type": "Stalled", "status": "True"}}})
	silent := object("Widget", map[string]any{})
	config := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "w"}}}
	cases := map[string]struct {
		reason   string
		object   *unstructured.Unstructured
		actions  []policy.Action
		canary   bool
		mode     v1alpha1.RemediationMode
		allow    bool
		lastWave bool
		want     v1alpha1.TargetState
		why      string
		moved    bool
	}{
		"a canary that is well": {reason: "it proves the fix", object: config, actions: patch, canary: true},
		"a canary that failed before": {reason: "another is drawn", object: failing, actions: patch, canary: true,
			want: v1alpha1.TargetPending, why: v1alpha1.ReasonUnhealthyBefore, moved: true},
		"a canary that failed before, and no other wave": {reason: "nothing covers it", object: failing,
			actions: patch, canary: true, lastWave: true, want: v1alpha1.TargetFailed,
			why: v1alpha1.ReasonUnhealthyBefore},
		"one that failed before, after the canary": {reason: "the canary's proof covers it", object: failing,
			actions: patch},
		"a canary that failed before, in a dry run": {reason: "nothing is written", object: failing, actions: patch,
			canary: true, mode: v1alpha1.RemediationDryRun},
		"a canary that is removed": {reason: "its controller proves it", object: failing, actions: removal,
			canary: true},
		"one whose health nobody can tell": {reason: "absence of evidence is no proof", object: silent,
			actions: patch, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonHealthUnknown},
		"one whose health a person takes for well": {reason: "health.unknown: Allow", object: silent, actions: patch,
			allow: true},
		"one whose health nobody can tell, in a dry run": {reason: "nothing is written", object: silent,
			actions: patch, mode: v1alpha1.RemediationDryRun},
		"one whose health nobody can tell, and that is removed": {reason: "it has none to lose", object: silent,
			actions: removal},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.Object, d.Canary, d.decision.Actions = tc.object, tc.canary, tc.actions
			if tc.mode != "" {
				d.Plan.Rollout.Mode = tc.mode
			}
			if tc.allow {
				d.Plan.Rollout.UnknownHealth = v1alpha1.UnknownHealthAllow
			}
			if tc.lastWave {
				d.Plan.Stages = []v1alpha1.PlannedStage{{FirstWave: 0}, {FirstWave: 1}}
			}
			rec := RequireHealth(t.Context(), d.Attempt)
			if rec == nil {
				rec = RequireKnownHealth(t.Context(), d.Attempt)
			}
			if rec == nil {
				rec = &v1alpha1.TargetRecord{}
			}
			if rec.State != tc.want || rec.Reason != tc.why || (rec.Wave != nil && *rec.Wave == 1) != tc.moved {
				t.Errorf("%s: %s (%s) in wave %v: %s", tc.reason, rec.State, rec.Reason, rec.Wave, rec.Message)
			}
		})
	}
}

// The gate is closed before the first write where nobody can tell a kind's health.
func TestTheGateIsClosedForKindsWhoseHealthNobodyCanTell(t *testing.T) {
	widget := func(name string) v1alpha1.ObjectReference {
		return v1alpha1.ObjectReference{APIVersion: "example.com/v1", Kind: "Widget", Name: name, UID: name}
	}
	many := []v1alpha1.ObjectReference{widget("gone-1"), widget("gone-2"), widget("gone-3"), widget("there")}
	cases := map[string]struct {
		reason  string
		pending []v1alpha1.ObjectReference
		change  func(*desk)
		closed  bool
		reads   int
	}{
		"kinds that tell": {reason: "nothing need be read", pending: []v1alpha1.ObjectReference{fixtest.Web()}},
		"a kind that doesn't tell": {reason: "one object is enough", closed: true, reads: 1,
			pending: []v1alpha1.ObjectReference{widget("there"), widget("another")}},
		"a person takes it for well": {reason: "health.unknown: Allow", pending: many, change: func(d *desk) {
			d.Plan.Rollout.UnknownHealth = v1alpha1.UnknownHealthAllow
		}},
		"the first two can't be read":   {reason: "another tells", pending: many[1:], closed: true, reads: 3},
		"the first three can't be read": {reason: "the protocol says what became of each", pending: many, reads: 3},
		"the object was replaced": {reason: "it isn't the one of the plan", reads: 1,
			pending: []v1alpha1.ObjectReference{
				{APIVersion: "example.com/v1", Kind: "Widget", Name: "there", UID: "old"}}},
		"the fix removes it": {reason: "it has no health to lose", pending: many[3:], reads: 1, change: func(d *desk) {
			d.says("state", policy.Decision{Violations: []policy.Violation{{}},
				Actions: []policy.Action{{Type: policy.ActionDelete}}})
		}},
		"what the policy looks up isn't known": {reason: "whether it is removed is asked right before the write",
			pending: many[3:], reads: 1, change: func(d *desk) {
				d.says("state", policy.Decision{Err: &policy.UnknownReferenceError{Kind: "Service",
					Err: errors.New("stale")}})
			}},
		"the policy fails": {reason: "that it removes it isn't known", pending: many[3:], closed: true, reads: 1,
			change: func(d *desk) { d.says("state", policy.Decision{Err: errors.New("division by zero")}) }},
		"the policy doesn't concern it": {reason: "then nothing removes it", pending: many[3:], closed: true, reads: 1,
			change: func(d *desk) { d.Snapshot = fixtest.Verdicts{} }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, reads := newDesk(t), 0
			if tc.change != nil {
				tc.change(d)
			}
			d.intercepts(interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey,
				obj client.Object, _ ...client.GetOption) error {
				if reads++; strings.HasPrefix(key.Name, "gone") {
					return apierrors.NewNotFound(schema.GroupResource{Resource: "widgets"}, key.Name)
				}
				obj.SetName(key.Name)
				obj.SetUID("there")
				return nil
			}})
			got := UnknownHealth(t.Context(), d.Targets, d.Plan.Rollout, "state", d.Snapshot, tc.pending)
			if got.Closed != tc.closed || reads != tc.reads ||
				tc.closed && (got.Reason != v1alpha1.ReasonHealthUnknown || !strings.Contains(got.Message, "Widget")) {
				t.Errorf("%s: %+v after %d reads", tc.reason, got, reads)
			}
		})
	}
}

// What an API error before the write means for its target.
func TestWhatAnErrorBeforeTheWriteMeans(t *testing.T) {
	maps := schema.GroupResource{Resource: "configmaps"}
	cases := map[string]struct {
		err   error
		want  v1alpha1.TargetState
		why   string
		tries int32
		next  time.Duration
	}{
		"gone":       {apierrors.NewNotFound(maps, "web"), v1alpha1.TargetSkipped, v1alpha1.ReasonGone, 2, 0},
		"not served": {&meta.NoKindMatchError{}, v1alpha1.TargetPending, v1alpha1.ReasonNotServed, 2, waitPoll},
		"not valid":  {apierrors.NewBadRequest("no"), v1alpha1.TargetFailed, v1alpha1.ReasonDryRunRefused, 2, 0},
		"no permission": {apierrors.NewForbidden(maps, "web", nil), v1alpha1.TargetPending, v1alpha1.ReasonRetrying, 3,
			4 * time.Second},
		"a conflict": {apierrors.NewConflict(maps, "web", nil), v1alpha1.TargetPending, v1alpha1.ReasonRetrying, 3,
			time.Second / 2},
		"admission can't judge it for now": {apierrors.NewServiceUnavailable(
			`admission webhook "fail.evenkeel.dev" denied the request: the namespace can't be read`),
			v1alpha1.TargetPending, v1alpha1.ReasonUnobserved, 2, waitPoll},
		"anything else": {unavailable(), v1alpha1.TargetPending, v1alpha1.ReasonRetrying, 3, 4 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.Previous.Attempts = 2
			got := d.FromError(tc.err)
			if got.State != tc.want || got.Reason != tc.why || got.Attempts != tc.tries || got.Message == "" {
				t.Errorf("%s (%s), %d tries: %s", got.State, got.Reason, got.Attempts, got.Message)
			}
			if next := got.NextAttemptTime; (next == nil) != (tc.next == 0) || next != nil &&
				tc.why != v1alpha1.ReasonRetrying &&
				!next.Time.Equal(fixtest.Now.Add(tc.next)) {
				t.Errorf("the next try is at %v, want after %s", next, tc.next)
			}
		})
	}
}

// A try that is one too many is told with how many there were.
func TestTriesEnd(t *testing.T) {
	limit := int32(3)
	for tries, want := range map[int32]v1alpha1.TargetState{2: v1alpha1.TargetPending, 3: v1alpha1.TargetFailed,
		4: v1alpha1.TargetFailed} {
		d := newDesk(t)
		d.Plan.Rollout.RetryLimit, d.Previous.Attempts = limit, tries
		got := d.Retry("no", time.Second)
		if got.State != want {
			t.Errorf("after %d tries of 3 it is %s", tries, got.State)
		}
		if tries == 3 && (got.Reason != v1alpha1.ReasonRetriesExhausted || got.Message != "gave up after 4 tries: no") {
			t.Errorf("it says %s: %s", got.Reason, got.Message)
		}
		if want == v1alpha1.TargetPending &&
			(got.Attempts != 3 || !got.NextAttemptTime.Time.Equal(fixtest.Now.Add(time.Second))) {
			t.Errorf("%d tries, the next at %s", got.Attempts, got.NextAttemptTime)
		}
	}
}

// What settles a target leaves no record of a write; what is tried again keeps it.
func TestARecordThatIsSettledTellsOfNoWrite(t *testing.T) {
	d := newDesk(t)
	d.Previous.Preceding, d.Previous.Write = []v1alpha1.WriteRecord{{}}, &v1alpha1.WriteRecord{}
	for state, kept := range map[v1alpha1.TargetState]bool{v1alpha1.TargetPending: true,
		v1alpha1.TargetFailed: false, v1alpha1.TargetSkipped: false} {
		if got := d.ended(state, "", ""); (got.Write != nil) != kept || (len(got.Preceding) > 0) != kept {
			t.Errorf("%s keeps its record: %t", state, got.Write != nil)
		}
	}
}

// An earlier write that reached the object after it was given up is ours.
func TestAWriteThatArrivesLateIsOurs(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*desk)
		ours   bool
	}{
		"it has arrived": {reason: "what it set is there", change: func(*desk) {}, ours: true},
		"somebody else fixed it otherwise": {reason: "it isn't what we wrote",
			change: func(d *desk) { d.change(func(web *corev1.ConfigMap) { web.Data["state"] = "better" }) }},
		"it can't arrive any more": {reason: "it is known to have come before",
			change: func(d *desk) {
				at := metav1.NewMicroTime(fixtest.Now)
				d.Previous.Write.AppliedTime = &at
			}},
		"it was to another object": {reason: "of this name",
			change: func(d *desk) { d.Previous.Write.UID = "older" }},
		"nothing was recorded": {reason: "nothing of ours can come", change: func(d *desk) { d.Previous.Write = nil }},
		"it made another object": {reason: "the target tells nothing of it",
			change: func(d *desk) { d.Previous.Write.Action = v1alpha1.ActionCreate }},
		"it removed the object": {reason: "the target tells nothing of it",
			change: func(d *desk) { d.Previous.Write.Action = v1alpha1.ActionDelete }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			rec := d.Prepare(t.Context())
			if rec.State != v1alpha1.TargetIntent {
				t.Fatalf("%s: %s", rec.Reason, rec.Message)
			}
			if err := OperationOf(d.Writes[0].Type).Send(t.Context(), d.Targets, d.Writes[0]); err != nil {
				t.Fatal(err)
			}
			rec.State = v1alpha1.TargetPending
			d.Previous = rec
			tc.change(d)
			got := d.Prepare(t.Context())
			if (got.State == v1alpha1.TargetApplied) != tc.ours || tc.ours && (got.Write.AppliedTime == nil ||
				got.Write.DigestAfter == "") {
				t.Errorf("%s: %s (%s): %s", tc.reason, got.State, got.Reason, got.Message)
			}
		})
	}
}

// While a write may still reach its object, its target is neither settled nor moved.
func TestATargetIsLookedAtWhileItsWriteMayArrive(t *testing.T) {
	one, two := int32(1), int32(2)
	may := &v1alpha1.WriteRecord{}
	cases := map[string]struct {
		write  *v1alpha1.WriteRecord
		before *int32
		rec    v1alpha1.TargetRecord
		kept   bool
	}{
		"it would be settled":     {may, nil, v1alpha1.TargetRecord{State: v1alpha1.TargetSkipped}, true},
		"it would be tried again": {may, nil, v1alpha1.TargetRecord{State: v1alpha1.TargetPending}, false},
		"it would go to a wave": {
			may, nil, v1alpha1.TargetRecord{State: v1alpha1.TargetPending, Wave: &two}, true},
		"it would go to another wave": {
			may, &one, v1alpha1.TargetRecord{State: v1alpha1.TargetPending, Wave: &two}, true},
		"it stays in the wave that it had": {
			may, &one, v1alpha1.TargetRecord{State: v1alpha1.TargetPending, Wave: &one}, false},
		"nothing can arrive, it is settled": {nil, nil, v1alpha1.TargetRecord{State: v1alpha1.TargetSkipped}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.Previous.Write, d.Previous.Wave = tc.write, tc.before
			got := d.KeepLanding(tc.rec)
			if kept := got.Reason == v1alpha1.ReasonOutcomeUnknown; kept != tc.kept ||
				kept && (got.State != v1alpha1.TargetPending || got.Write == nil ||
					!got.NextAttemptTime.Time.Equal(fixtest.Now.Add(LandingPoll))) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
