// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/rollout"
)

func TestCheckHealthOfWhatNobodyCanTell(t *testing.T) {
	widget := func(status map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{
			Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "status": status,
				"metadata": map[string]any{"name": "x", "namespace": "shop"}}}
	}
	ruled := v1alpha1.PlannedRollout{HealthRules: []v1alpha1.PlannedHealthRule{
		{APIGroup: "example.com", Kind: "Widget", Current: "object.status.phase == 'Running'",
			Failed: "object.status.phase == 'Broken'"}}}
	allowed := v1alpha1.PlannedRollout{UnknownHealth: v1alpha1.UnknownHealthAllow}
	measured := v1alpha1.PlannedRollout{Metrics: []v1alpha1.PlannedMetric{{Name: "errors"}}}
	wrong := v1alpha1.PlannedRollout{HealthRules: []v1alpha1.PlannedHealthRule{
		{APIGroup: "example.com", Kind: "Widget", Current: "nonsense("}}}
	cases := map[string]struct {
		reason   string
		strategy v1alpha1.PlannedRollout
		object   *unstructured.Unstructured
		before   kube.Health
		want     rollout.CheckResult
		says     string
	}{
		"Without a word nothing is verified": {
			reason: "absence of evidence is no proof", object: widget(nil), before: kube.Unknown,
			want: rollout.CheckWaiting, says: "no rule defines the health of a Widget.example.com"},
		"The strategy's word stands for it": {reason: "a person said so", strategy: allowed,
			object: widget(nil), before: kube.Unknown, want: rollout.CheckPassed, says: "health.unknown: Allow"},
		"Metrics stand for it": {reason: "they tell of harm", strategy: measured,
			object: widget(nil), before: kube.Unknown, want: rollout.CheckPassed, says: "metrics"},
		"Health that was told must be told again": {reason: "its status has vanished", strategy: allowed,
			object: widget(nil), before: kube.Current, want: rollout.CheckWaiting, says: "no rule"},
		"A rule that holds is health": {
			reason: "it tells", strategy: ruled, object: widget(map[string]any{"phase": "Running"}),
			before: kube.Current, want: rollout.CheckPassed},
		"A rule's failure fails": {
			reason: "it tells", strategy: ruled, object: widget(map[string]any{"phase": "Broken"}),
			before: kube.Current, want: rollout.CheckFailed, says: "object.status.phase == 'Broken'"},
		"A rule that doesn't hold waits": {
			reason: "it tells", strategy: ruled, object: widget(map[string]any{"phase": "Starting"}),
			before: kube.Current, want: rollout.CheckWaiting, says: "doesn't hold"},
		"What can't be calculated waits": {reason: "there is no status yet", strategy: ruled,
			object: widget(nil), before: kube.Current, want: rollout.CheckWaiting, says: "can't be calculated"},
		"An observed failure counts, whatever was known before": {
			reason: "it got a status that says so", strategy: ruled, object: widget(map[string]any{"phase": "Broken"}),
			before: kube.Unknown, want: rollout.CheckFailed},
		"Being in progress is no proof after nothing was known": {
			reason: "neither says that it is well", strategy: ruled,
			object: widget(map[string]any{"phase": "Starting"}), before: kube.Unknown, want: rollout.CheckWaiting},
		"A rule that is wrong tells nothing": {reason: "admission was away when it was written",
			strategy: wrong, object: widget(nil), before: kube.Unknown, want: rollout.CheckWaiting, says: "is wrong"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Check(tc.strategy, tc.object, tc.before)
			if got.Result != tc.want || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s\ncheckHealth: want %d with %q, got %d: %s", tc.reason, tc.want, tc.says, got.Result,
					got.Message)
			}
		})
	}
}

// An object that was on its way before the write proves nothing while it still is: it
// must be well, or its time runs out, which is told as no proof and not as harm. The
// undoing of a write waits for what was there before, and for no more.
func TestAnObjectInProgressBeforeIsNoProofWhileItStillIs(t *testing.T) {
	deployment := func(ready, observed int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "web", "namespace": "shop", "generation": int64(2)},
			"spec":     map[string]any{"replicas": int64(2)},
			"status": map[string]any{"observedGeneration": observed, "replicas": int64(2), "updatedReplicas": int64(2),
				"readyReplicas":     ready,
				"availableReplicas": ready,
				"conditions":        []any{map[string]any{"type": "Available", "status": "True"}}}}}
	}
	late := deployment(1, 2)
	late.Object["status"].(map[string]any)["conditions"] = []any{
		map[string]any{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}}
	cases := map[string]struct {
		object         *unstructured.Unstructured
		before         kube.Health
		want, restored rollout.CheckResult
		reason         string
	}{
		"It is well by now": {deployment(2, 2), kube.InProgress, rollout.CheckPassed,
			rollout.CheckPassed, ""},
		"It is on its way still": {deployment(1, 2), kube.InProgress, rollout.CheckWaiting,
			rollout.CheckPassed, v1alpha1.ReasonUnhealthyBefore},
		"Its controller hasn't seen it": {deployment(2, 1), kube.InProgress, rollout.CheckWaiting,
			rollout.CheckWaiting, v1alpha1.ReasonUnhealthyBefore},
		"It fails by now": {late, kube.InProgress, rollout.CheckFailed, rollout.CheckFailed,
			v1alpha1.ReasonUnhealthy},
		"It was well before": {deployment(1, 2), kube.Current, rollout.CheckWaiting, rollout.CheckWaiting,
			""},
		"It had failed, and does so still": {late, kube.Failed, rollout.CheckPassed, rollout.CheckPassed, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if c := Check(v1alpha1.PlannedRollout{}, tc.object, tc.before); c.Result != tc.want ||
				c.Reason != tc.reason {
				t.Errorf("verified: want %d (%s), got %+v", tc.want, tc.reason, c)
			}
			if c := AsWellAsBefore(v1alpha1.PlannedRollout{}, tc.object, tc.before); c.Result != tc.restored {
				t.Errorf("undone: want %d, got %+v", tc.restored, c)
			}
		})
	}
}
