// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// replaceWeb deletes the target and makes another of its name.
func replaceWeb(state string) func(*bench) {
	return func(b *bench) {
		b.deleteWeb()
		b.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u2"},
			Data: map[string]string{"state": state}})
	}
}

func (b *bench) create(obj client.Object) {
	b.t.Helper()
	if err := b.api.Create(b.t.Context(), obj); err != nil {
		b.t.Fatal(err)
	}
}

// delays puts a finalizer on an object and deletes it: it is being deleted from then on.
func (b *bench) delays(obj client.Object, key client.ObjectKey) {
	b.t.Helper()
	if err := b.api.Get(b.t.Context(), key, obj); err != nil {
		b.t.Fatal(err)
	}
	obj.SetFinalizers([]string{"example.com/x"})
	if err := b.api.Update(b.t.Context(), obj); err != nil {
		b.t.Fatal(err)
	}
	if err := b.api.Delete(b.t.Context(), obj); err != nil {
		b.t.Fatal(err)
	}
}

func leaveWeb(b *bench) { b.delays(&corev1.ConfigMap{}, b.web()) }

func unreadable(name string) func(*bench) {
	return func(b *bench) { b.answers(apierrors.NewServiceUnavailable("try again"), name, true) }
}

// brokenRule is a policy that can't be evaluated.
func brokenRule(b *bench) {
	b.pass.Snapshot = fixtest.Verdicts{"state": func(map[string]any) *policy.Decision {
		return &policy.Decision{Err: errors.New("division by zero")}
	}}
}

// A written target is verified by what it, what its fix has made, and the policy say now.
// No answer is never a pass.
func TestAWrittenTargetIsVerified(t *testing.T) {
	setBack := func(b *bench) { b.set("web", "state", "bad") }
	cases := map[string]struct {
		reason    string
		actions   []policy.Action
		meanwhile func(*bench)
		change    func(*v1alpha1.TargetRecord)
		stopped   bool
		want      rollout.CheckResult
		why       string
		says      string
	}{
		"it is clean and well": {reason: "that is proof", want: rollout.CheckPassed, says: "clean"},
		"it is gone": {reason: "it vanished after our write", meanwhile: (*bench).deleteWeb, want: rollout.CheckGone,
			why: v1alpha1.ReasonVanished, says: "deleted"},
		"it can't be read": {reason: "no answer is no pass", meanwhile: unreadable("web"),
			want: rollout.CheckWaiting, why: v1alpha1.ReasonUnobserved, says: "couldn't be read"},
		"it was replaced": {reason: "our write went with it", meanwhile: replaceWeb("good"), want: rollout.CheckGone,
			why: v1alpha1.ReasonVanished, says: "replaced"},
		"it is being deleted": {reason: "that can't be stopped", meanwhile: leaveWeb, want: rollout.CheckGone,
			why: v1alpha1.ReasonVanished, says: "deleted"},
		"no write is recorded": {reason: "nothing is to be verified",
			change: func(rec *v1alpha1.TargetRecord) { rec.Write = nil }, want: rollout.CheckGone,
			why: v1alpha1.ReasonVanished},
		"its write changed more than the fix says": {reason: "it is a failure, however well it seems",
			change: func(rec *v1alpha1.TargetRecord) {
				rec.Reason, rec.Message = v1alpha1.ReasonFixChangesMore, "more"
			},
			want: rollout.CheckFailed, why: v1alpha1.ReasonFixChangesMore, says: "more"},
		"the fix was set back": {reason: "somebody keeps it", meanwhile: setBack, want: rollout.CheckSetBack,
			why: v1alpha1.ReasonFighting, says: "set /data/state back: fix the source"},
		"the fix was set back, the policy has changed": {reason: "it says nothing of this plan", meanwhile: setBack,
			stopped: true, want: rollout.CheckPassed, says: "clean"},
		"a part of the fix was set back": {reason: "the record tells which",
			actions: []policy.Action{{Type: policy.ActionPatch, Ops: append(fixOnly()[0].Ops,
				policy.PatchOp{Op: "add", Path: "/data/also", Value: "good", HasValue: true})}},
			meanwhile: setBack, want: rollout.CheckSetBack, why: v1alpha1.ReasonFighting,
			says: "some of the fix's fields still hold our values"},
		"it violates though the fix is in it": {reason: "the fix doesn't help", meanwhile: func(b *bench) {
			b.pass.Snapshot = fixtest.Verdicts{"state": func(map[string]any) *policy.Decision {
				return &policy.Decision{Violations: []policy.Violation{{Message: "still bad"}}}
			}}
		}, want: rollout.CheckFailed, why: v1alpha1.ReasonStillViolating, says: "still bad"},
		"the policy can't be evaluated": {reason: "no answer is no pass", meanwhile: brokenRule,
			want: rollout.CheckWaiting, says: "division by zero"},
		"what the policy looks up isn't known": {reason: "it says nothing of the fix", meanwhile: func(b *bench) {
			b.pass.Snapshot = fixtest.Verdicts{"state": func(map[string]any) *policy.Decision {
				return &policy.Decision{Err: &policy.UnknownReferenceError{Kind: "Service", Err: errors.New("stale")}}
			}}
		}, want: rollout.CheckWaiting, why: v1alpha1.ReasonUnobserved, says: "Service: stale"},
		"its namespace can't be read": {reason: "no answer is no pass", meanwhile: unreadable("shop"),
			want: rollout.CheckWaiting, why: v1alpha1.ReasonUnobserved, says: "the namespace couldn't be read"},
		"the policy doesn't concern it any more": {reason: "health counts",
			meanwhile: func(b *bench) {
				b.pass.Snapshot = fixtest.Verdicts{}
			}, want: rollout.CheckPassed, says: "clean"},
		"what the fix made is there": {reason: "that is well", actions: fixing(), want: rollout.CheckPassed,
			says: "clean"},
		"what the fix made is gone": {reason: "the fix needs it", actions: fixing(),
			meanwhile: func(b *bench) {
				if err := b.api.Delete(b.t.Context(), b.object("note")); err != nil {
					b.t.Fatal(err)
				}
			}, want: rollout.CheckFailed, why: v1alpha1.ReasonGone, says: "ConfigMap shop/note, which the fix created"},
		"what the fix made was replaced": {reason: "it isn't ours", actions: fixing(),
			change: func(rec *v1alpha1.TargetRecord) { rec.Preceding[0].UID = "another" }, want: rollout.CheckFailed,
			why: v1alpha1.ReasonGone, says: "deleted or replaced"},
		"what the fix made can't be read": {reason: "no answer is no pass", actions: fixing(),
			meanwhile: unreadable("note"), want: rollout.CheckWaiting, why: v1alpha1.ReasonUnobserved,
			says: "what the fix created couldn't be read"},
		"what the fix was to make was there": {reason: "it is somebody else's, and not looked at", actions: fixing(),
			meanwhile: unreadable("note"),
			change:    func(rec *v1alpha1.TargetRecord) { rec.Preceding[0].UID = "" }, want: rollout.CheckPassed},
		"what the fix made isn't well": {reason: "no better than the target", actions: fixing(),
			meanwhile: func(b *bench) {
				one := int32(1)
				b.create(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "rs", UID: "rs1"},
					Spec: appsv1.ReplicaSetSpec{Replicas: &one}})
			},
			change: func(rec *v1alpha1.TargetRecord) {
				rec.Preceding[0].UID = "rs1"
				rec.Preceding[0].Object = &v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet",
					Namespace: "shop", Name: "rs"}
			}, want: rollout.CheckWaiting, says: "ReplicaSet shop/rs, which the fix created: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if tc.actions == nil {
				tc.actions = fixOnly()
			}
			rec := b.noted(tc.actions)
			if tc.change != nil {
				tc.change(&rec)
				b.pass.Records.Set(0, rec)
			}
			if tc.meanwhile != nil {
				tc.meanwhile(b)
			}
			got := b.pass.verify(t.Context(), 0, tc.stopped)
			if got.Result != tc.want || got.Reason != tc.why || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
		})
	}
}

// noted is the record of what was written, with the note among it, if the fix makes one.
func (b *bench) noted(actions []policy.Action) v1alpha1.TargetRecord {
	b.t.Helper()
	rec := b.written(actions...)
	if len(rec.Preceding) == 0 {
		return rec
	}
	note := b.object("note")
	note.UID = "n1" // which the simulated server doesn't give
	if err := b.api.Update(b.t.Context(), note); err != nil {
		b.t.Fatal(err)
	}
	rec.Preceding[0].UID = "n1"
	b.pass.Records.Set(0, rec)
	return rec
}

// A deletion stands while nobody makes the same violation again.
func TestADeletedObjectStaysAway(t *testing.T) {
	cases := map[string]struct {
		reason    string
		meanwhile func(*bench)
		stopped   bool
		want      rollout.CheckResult
		why       string
		says      string
	}{
		"it is gone": {reason: "that is all", meanwhile: (*bench).deleteWeb, want: rollout.CheckPassed, says: "gone"},
		"it is still there": {reason: "the server hasn't deleted it yet", meanwhile: func(*bench) {},
			want: rollout.CheckWaiting, says: "the object is still there"},
		"it waits for a finalizer": {reason: "somebody must see to it", meanwhile: leaveWeb,
			want: rollout.CheckWaiting, says: "waits for its finalizers: example.com/x"},
		"it can't be read": {reason: "no answer is no pass", meanwhile: unreadable("web"),
			want: rollout.CheckWaiting, why: v1alpha1.ReasonUnobserved, says: "couldn't be read"},
		"somebody made it again, and it violates": {reason: "its source must be fixed", meanwhile: replaceWeb("bad"),
			want: rollout.CheckSetBack, why: v1alpha1.ReasonFighting, says: "created again by somebody"},
		"somebody made another that is clean": {reason: "the violation is gone", meanwhile: replaceWeb("good"),
			want: rollout.CheckPassed, says: "gone"},
		"the policy can't judge what was made again": {reason: "no answer is no pass", meanwhile: func(b *bench) {
			replaceWeb("bad")(b)
			brokenRule(b)
		}, want: rollout.CheckWaiting, says: "division by zero"},
		"it was made again, the policy has changed": {reason: "it says nothing of this plan",
			meanwhile: replaceWeb("bad"), stopped: true, want: rollout.CheckPassed, says: "gone"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.pass.Records.Set(0, v1alpha1.TargetRecord{State: v1alpha1.TargetApplied,
				Write: &v1alpha1.WriteRecord{Action: v1alpha1.ActionDelete, UID: "u1"}})
			tc.meanwhile(b)
			got := b.pass.verify(t.Context(), 0, tc.stopped)
			if got.Result != tc.want || got.Reason != tc.why || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
		})
	}
}

// The Pod of an eviction whose place a Pod of the same name takes isn't judged by its name:
// its controller's health and what that makes say all.
func TestAnEvictedPodIsNotJudgedByItsName(t *testing.T) {
	b := newBench(t)
	b.pass.Records.Set(0, v1alpha1.TargetRecord{State: v1alpha1.TargetApplied,
		Write: &v1alpha1.WriteRecord{Action: v1alpha1.ActionEvict, UID: "older"}})
	if got := b.pass.verify(t.Context(), 0, false); got.Result != rollout.CheckPassed {
		t.Errorf("got %+v", got)
	}
}

// An object whose write was undone must be as well as before; no answer is never a yes.
func TestAnUndoneTargetRecovers(t *testing.T) {
	cases := map[string]struct {
		reason    string
		meanwhile func(*bench)
		unwritten bool
		want      rollout.CheckResult
		says      string
	}{
		"it is well": {reason: "as before", meanwhile: func(*bench) {}, want: rollout.CheckPassed, says: "healthy"},
		"it is gone": {reason: "nothing could recover", meanwhile: (*bench).deleteWeb, want: rollout.CheckPassed,
			says: "nothing of it is left"},
		"it is being deleted": {reason: "nothing could recover", meanwhile: leaveWeb, want: rollout.CheckPassed,
			says: "nothing of it is left"},
		"it was never written": {reason: "nothing could recover", meanwhile: func(*bench) {}, unwritten: true,
			want: rollout.CheckPassed, says: "nothing of it is left"},
		"it can't be read": {reason: "no answer is no yes", meanwhile: unreadable("web"),
			want: rollout.CheckWaiting, says: "couldn't be read"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			rec := b.written(fixOnly()...)
			if rec.State = v1alpha1.TargetReverted; tc.unwritten {
				rec.Write = nil
			}
			b.pass.Records.Set(0, rec)
			tc.meanwhile(b)
			if got := b.pass.CheckRecovered(t.Context(), 0); got.Result != tc.want ||
				!strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
		})
	}
}

// inForce has the plan's policy be in force as it was when the plan was made.
func (b *bench) inForce() *v1alpha1.ClusterRegoPolicy {
	b.t.Helper()
	p := untainted()
	p.Name = b.pass.policyName()
	b.pass.InForce = known(b.t, p)
	b.pass.Remediation.Spec.Plan.Policy.Revision, _ = b.pass.InForce.Revision(p.Name)
	return p
}

// What stops a plan has its writes be verified by health alone only where the rules aren't those any more by which it
// wrote.
func TestOtherRulesSayNothingOfAPlansWrites(t *testing.T) {
	cases := map[string]struct {
		stop   string
		change func(*v1alpha1.ClusterRegoPolicy) *v1alpha1.ClusterRegoPolicy
		want   rollout.CheckResult
	}{
		"nothing has changed": {want: rollout.CheckSetBack},
		"a person has turned its remediation off": {stop: "off", want: rollout.CheckSetBack,
			change: func(p *v1alpha1.ClusterRegoPolicy) *v1alpha1.ClusterRegoPolicy {
				p.Spec.Remediation.Mode = v1alpha1.RemediationDisabled
				return p
			}},
		"the plan is being deleted": {stop: "deleted", want: rollout.CheckSetBack},
		"its rules have changed": {stop: "changed", want: rollout.CheckPassed,
			change: func(p *v1alpha1.ClusterRegoPolicy) *v1alpha1.ClusterRegoPolicy {
				p.Spec.Rego.Main += "\n\ndeny contains \"b\" if input.object.b"
				return p
			}},
		"another has its name": {stop: "made again", want: rollout.CheckPassed,
			change: func(p *v1alpha1.ClusterRegoPolicy) *v1alpha1.ClusterRegoPolicy {
				p.UID = "another"
				return p
			}},
		"it is gone": {stop: "gone", want: rollout.CheckPassed,
			change: func(*v1alpha1.ClusterRegoPolicy) *v1alpha1.ClusterRegoPolicy { return nil }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.pass.Records.Set(0, b.written(fixOnly()...))
			p := b.inForce()
			b.set("web", "state", "bad")
			if tc.change != nil {
				b.pass.InForce = known(t)
				if p = tc.change(p.DeepCopy()); p != nil {
					b.pass.InForce = known(t, p)
				}
			}
			o := &rollout.Observation{Targets: b.pass.Records.Views(), Stop: tc.stop}
			o.Status.Phase = v1alpha1.PhaseVerifying
			if b.pass.CheckAll(t.Context(), o); o.Targets[0].Check.Result != tc.want {
				t.Errorf("got %+v, want %v", o.Targets[0].Check, tc.want)
			}
		})
	}
}

// While verifying only what isn't verified yet is looked at; in a soak, and where a wave is
// held, all of it.
func TestWhichTargetsOfAWaveAreVerified(t *testing.T) {
	cases := map[v1alpha1.RemediationPhase][]bool{
		v1alpha1.PhaseVerifying: {true, false, false}, v1alpha1.PhaseSoaking: {true, true, false}}
	for phase, want := range cases {
		b := newBench(t)
		rec := b.written(fixOnly()...)
		b.inForce()
		other, later := v1alpha1.Target{Object: b.target}, v1alpha1.Target{Object: b.target, Wave: 1}
		verified := rec
		verified.State = v1alpha1.TargetVerified
		b.pass.Records.Add(&v1alpha1.RemediationSlice{Targets: []v1alpha1.Target{other, later},
			Records: []v1alpha1.TargetRecord{verified, rec}})
		b.set("web", "state", "bad")
		o := &rollout.Observation{Targets: b.pass.Records.Views()}
		o.Status.Phase = phase
		b.pass.CheckAll(t.Context(), o)
		var got []bool
		for _, view := range o.Targets {
			got = append(got, view.Check != nil)
			if view.Check != nil && view.Check.Result != rollout.CheckSetBack {
				t.Errorf("%s: %+v", phase, view.Check)
			}
		}
		equal(t, want, got)
	}
}

// The list of a controller's Pods is narrowed by its selector where it has one.
func TestASelectorThatCantBeReadNarrowsNothing(t *testing.T) {
	type m = map[string]any
	in := m{"matchExpressions": []any{m{"key": "app", "operator": "In", "values": []any{"web"}}}}
	cases := map[string]struct {
		selector any
		want     string
	}{
		"none":                      {nil, labels.Everything().String()},
		"labels":                    {m{"matchLabels": m{"app": "web"}}, "app=web"},
		"expressions":               {in, "app in (web)"},
		"a ReplicationController's": {m{"app": "web"}, labels.Everything().String()},
		"no map":                    {"app=web", labels.Everything().String()},
		"labels that are none":      {m{"matchLabels": "app"}, labels.Everything().String()},
		"an unknown operator": {m{"matchExpressions": []any{m{"key": "app", "operator": "Near"}}},
			labels.Everything().String()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			controller := &unstructured.Unstructured{Object: m{"spec": m{"selector": tc.selector}}}
			if tc.selector == nil {
				controller.Object = m{"spec": m{}}
			}
			if got := selectorOf(controller).String(); got != tc.want {
				t.Errorf("it narrows to %q, want %q", got, tc.want)
			}
		})
	}
}
