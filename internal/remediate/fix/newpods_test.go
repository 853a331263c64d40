// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/remediate/history"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
	"evenkeel.dev/evenkeel/test/fixture"
)

// running is a StatefulSet with three ready Pods; the spec in JSON is put on top.
func running(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet",
		"metadata": map[string]any{"name": "db", "namespace": "shop", "generation": int64(2)},
		"status": map[string]any{"observedGeneration": int64(2), "replicas": int64(3), "readyReplicas": int64(3),
			"currentReplicas": int64(3),
			"updatedReplicas": int64(3), "currentRevision": "a", "updateRevision": "a"}}}
	full := map[string]any{"replicas": int64(3), "template": map[string]any{"metadata": map[string]any{}}}
	var more map[string]any
	if err := json.Unmarshal([]byte(spec), &more); err != nil {
		t.Fatal(err)
	}
	for k, v := range more {
		if n, is := v.(float64); is {
			v = int64(n) // as the API server's objects are read
		}
		full[k] = v
	}
	obj.Object["spec"] = full
	return obj
}

func TestAFixThatNoPodWouldRunIsNotMade(t *testing.T) {
	template, replicas, label := []string{"spec", "template", "metadata", "labels"}, []string{"spec", "replicas"},
		[]string{"metadata", "labels"}
	allowed := func(p *v1alpha1.RemediationPlan) {
		p.Rollout.UnknownHealth = v1alpha1.UnknownHealthAllow
	}
	measured := func(p *v1alpha1.RemediationPlan) {
		p.Rollout.Metrics = []v1alpha1.PlannedMetric{{Name: "errors"}}
	}
	dryRun := func(p *v1alpha1.RemediationPlan) { p.Rollout.Mode = v1alpha1.RemediationDryRun }
	const onDelete, partition = `{"updateStrategy":{"type":"OnDelete"}}`,
		`{"updateStrategy":{"rollingUpdate":{"partition":5}}}`
	cases := map[string]struct {
		reason, spec string
		place        []string
		canary       bool
		change       func(*v1alpha1.RemediationPlan)
		want         string
		state        v1alpha1.TargetState
	}{
		"A template that rolls out": {reason: "new Pods prove it", spec: `{}`, place: template},
		"OnDelete": {reason: "the ready Pods are old ones", spec: onDelete, place: template,
			want: v1alpha1.ReasonHealthUnknown, state: v1alpha1.TargetFailed},
		"A partition": {reason: "the ready Pods are old ones", spec: partition, place: template,
			want: v1alpha1.ReasonHealthUnknown, state: v1alpha1.TargetFailed},
		"OnDelete in the canary": {reason: "another one is drawn", spec: onDelete, place: template, canary: true,
			want: v1alpha1.ReasonUnhealthyBefore, state: v1alpha1.TargetPending},
		"A label of the object itself": {reason: "no Pod runs it anyway", spec: onDelete, place: label},
		"The replicas":                 {reason: "they are all of the same template", spec: onDelete, place: replicas},
		"A person said so": {reason: "health.unknown: Allow", spec: onDelete, place: template,
			change: allowed},
		"Metrics don't stand for it": {reason: "they measure the old Pods", spec: onDelete, place: template,
			change: measured, want: v1alpha1.ReasonHealthUnknown, state: v1alpha1.TargetFailed},
		"A dry run writes nothing": {reason: "nothing to prove", spec: onDelete, place: template, change: dryRun},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := &Attempt{Object: running(t, tc.spec), Canary: tc.canary,
				Previous: v1alpha1.TargetRecord{State: v1alpha1.TargetPending}}
			a.Plan.Waves = fixture.PlannedWaves(1, 1)
			if tc.change != nil {
				tc.change(&a.Plan)
			}
			patched := a.Object.DeepCopy()
			var value any = map[string]any{"tier": "gold"}
			if tc.place[len(tc.place)-1] == "replicas" {
				value = int64(4)
			}
			if err := unstructured.SetNestedField(patched.Object, value, tc.place...); err != nil {
				t.Fatal(err)
			}
			a.Patched = patched.Object
			rec := RequireNewPods(t.Context(), a)
			if rec == nil && tc.want != "" || rec != nil && (rec.Reason != tc.want || rec.State != tc.state) {
				t.Fatalf("%s\nwant %s (%s), got %+v", tc.reason, tc.state, tc.want, rec)
			}
			if rec != nil && !strings.Contains(rec.Message, "health.unknown: Allow") {
				t.Errorf("the message doesn't say what to do: %s", rec.Message)
			}
		})
	}
}

// After the write it is what Pods the check has seen: whoever has changed the update
// strategy, paused the workload or scaled it away, has taken the evidence away.
func TestOldPodsAndNoPodsVerifyNothing(t *testing.T) {
	status := func(more map[string]any) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			for k, v := range more {
				obj.Object["status"].(map[string]any)[k] = v
			}
		}
	}
	scaled := status(map[string]any{"replicas": int64(0), "readyReplicas": int64(0), "currentReplicas": int64(0),
		"updatedReplicas": int64(0)})
	cases := map[string]struct {
		reason, spec, path string
		change             func(*unstructured.Unstructured)
		ready              int64
		before             kube.Health
		allow              bool
		want               rollout.CheckResult
		says               string
	}{
		"Every Pod runs the fix": {
			reason: "that is proof", spec: `{}`, path: "/spec/template/metadata/labels", ready: 3,
			want: rollout.CheckPassed},
		"OnDelete set after the write": {
			reason: "kstatus calls it current", spec: `{"updateStrategy":{"type":"OnDelete"}}`,
			path: "/spec/template/metadata/labels", ready: 3, want: rollout.CheckWaiting, says: "OnDelete"},
		"A partition set after the write": {
			reason: "kstatus calls it current", spec: `{"updateStrategy":{"rollingUpdate":{"partition":5}}}`,
			path: "/spec/template/spec", ready: 3, change: status(map[string]any{"updatedReplicas": int64(0)}),
			want: rollout.CheckWaiting, says: "partition 5"},
		"A person took it for well": {
			reason: "health.unknown: Allow", spec: `{"updateStrategy":{"type":"OnDelete"}}`,
			path: "/spec/template/metadata/labels", ready: 3, allow: true, want: rollout.CheckPassed},
		"A label of the object itself": {
			reason: "no Pod runs it anyway", spec: `{"updateStrategy":{"type":"OnDelete"}}`, path: "/metadata/labels",
			ready: 3, want: rollout.CheckPassed},
		"Scaled to 0 by a neighbour": {reason: "no Pod runs the fix", spec: `{"replicas":0}`,
			path: "/spec/template/metadata/labels", change: scaled, ready: 3, want: rollout.CheckWaiting,
			says: "it had 3 ready Pods before the write, and has been scaled to 0 since"},
		"Scaled to 0, and the fix was elsewhere": {reason: "its Pods could show no harm", spec: `{"replicas":0}`,
			path: "/metadata/labels", change: scaled, ready: 3, want: rollout.CheckWaiting, says: "scaled to 0"},
		"Scaled to 0 by the fix": {reason: "that is what it is to do", spec: `{"replicas":0}`,
			path: "/spec/replicas", change: scaled, ready: 3, want: rollout.CheckPassed},
		"It had none before": {reason: "the canary's proof covers it", spec: `{"replicas":0}`,
			path: "/spec/template/metadata/labels", change: scaled, want: rollout.CheckPassed},
		"What had failed before needs no new Pod": {
			reason: "it is no worse", spec: `{}`, path: "/spec/template/metadata/labels",
			change: status(map[string]any{"updatedReplicas": int64(0)}), ready: 1, before: kube.Failed,
			want: rollout.CheckPassed},
		"Old Pods that kstatus doesn't see": {
			reason: "the count tells", spec: `{}`, path: "/spec/template/metadata/labels",
			change: status(map[string]any{"updatedReplicas": int64(1)}), ready: 3, want: rollout.CheckWaiting,
			says: "1 of 3 Pods"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := running(t, tc.spec)
			if tc.change != nil {
				tc.change(obj)
			}
			rec := &v1alpha1.TargetRecord{
				Write: &v1alpha1.WriteRecord{HealthBefore: tc.before.String(), ReadyBefore: tc.ready,
					Fields: []v1alpha1.FieldChange{{Path: tc.path}}}}
			s := v1alpha1.PlannedRollout{}
			if tc.allow {
				s.UnknownHealth = v1alpha1.UnknownHealthAllow
			}
			c := healthcheck.CheckNewPods(s, obj, rec, healthcheck.Check(s, obj, tc.before))
			if c.Result != tc.want || !strings.Contains(c.Message, tc.says) {
				t.Fatalf("%s\nwant %d with %q, got %+v", tc.reason, tc.want, tc.says, c)
			}
			if tc.want == rollout.CheckWaiting &&
				(c.Reason != v1alpha1.ReasonHealthUnknown || !circuit.ProvesNothing(c.Reason)) {
				t.Errorf("at its deadline it is %s, want HealthUnknown", c.Reason)
			}
		})
	}
}

// A target that nothing was proven of speaks neither for nor against the fix: its wave
// is undone, no breaker counts it, and it waits alone while the next plan goes on.
func TestHealthThatNothingProvesIsNoFailureOfTheFix(t *testing.T) {
	if rec := (&v1alpha1.TargetRecord{
		State: v1alpha1.TargetReverted, Reason: v1alpha1.ReasonHealthUnknown}); !history.Unproven(rec) {
		t.Error("the target doesn't wait, and the next plan fails in the same way")
	}
}

// The intent keeps how many Pods were ready, for what comes after the write.
func TestTheRecordKeepsHowManyPodsWereReady(t *testing.T) {
	a := &Attempt{Targets: targetsAt(fixtest.Now), Object: running(t, `{}`), Writes: []*Write{{Step: action.Step{}}}}
	a.Plan.Rollout = fixture.Planned(v1alpha1.RemediationAutomatic)
	rec, err := a.Intent()
	if err != nil || rec.Write.ReadyBefore != 3 {
		t.Errorf("want 3, got %+v (%v)", rec.Write, err)
	}
}
