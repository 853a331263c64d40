package remediate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

func TestCheckHealthOfWhatNobodyCanTell(t *testing.T) {
	widget := func(status map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "status": status,
			"metadata": map[string]any{"name": "x", "namespace": "shop"}}}
	}
	ruled := v1alpha1.RemediationStrategy{Health: &v1alpha1.HealthStrategy{Rules: []v1alpha1.HealthRule{
		{APIGroup: "example.com", Kind: "Widget", Current: "object.status.phase == 'Running'", Failed: "object.status.phase == 'Broken'"}}}}
	allowed := v1alpha1.RemediationStrategy{Health: &v1alpha1.HealthStrategy{Unknown: v1alpha1.UnknownHealthAllow}}
	measured := v1alpha1.RemediationStrategy{Analysis: &v1alpha1.AnalysisStrategy{Metrics: []v1alpha1.AnalysisMetric{{Name: "errors"}}}}
	wrong := v1alpha1.RemediationStrategy{Health: &v1alpha1.HealthStrategy{Rules: []v1alpha1.HealthRule{{APIGroup: "example.com", Kind: "Widget", Current: "nonsense("}}}}
	cases := map[string]struct {
		reason   string
		strategy v1alpha1.RemediationStrategy
		object   *unstructured.Unstructured
		before   kube.Health
		want     CheckResult
		says     string
	}{
		"Without a word nothing is verified":                    {reason: "absence of evidence is no proof", object: widget(nil), before: kube.Unknown, want: CheckWaiting, says: "no rule tells the health of a Widget.example.com"},
		"The strategy's word stands for it":                     {reason: "a person said so", strategy: allowed, object: widget(nil), before: kube.Unknown, want: CheckPassed, says: "health.unknown: Allow"},
		"Metrics stand for it":                                  {reason: "they tell of harm", strategy: measured, object: widget(nil), before: kube.Unknown, want: CheckPassed, says: "metrics"},
		"Health that was told must be told again":               {reason: "its status has vanished", strategy: allowed, object: widget(nil), before: kube.Current, want: CheckWaiting, says: "no rule"},
		"A rule that holds is health":                           {reason: "it tells", strategy: ruled, object: widget(map[string]any{"phase": "Running"}), before: kube.Current, want: CheckPassed},
		"A rule's failure fails":                                {reason: "it tells", strategy: ruled, object: widget(map[string]any{"phase": "Broken"}), before: kube.Current, want: CheckFailed, says: "object.status.phase == 'Broken'"},
		"A rule that doesn't hold waits":                        {reason: "it tells", strategy: ruled, object: widget(map[string]any{"phase": "Starting"}), before: kube.Current, want: CheckWaiting, says: "doesn't hold"},
		"What can't be calculated waits":                        {reason: "there is no status yet", strategy: ruled, object: widget(nil), before: kube.Current, want: CheckWaiting, says: "can't be calculated"},
		"An observed failure counts, whatever was known before": {reason: "it got a status that says so", strategy: ruled, object: widget(map[string]any{"phase": "Broken"}), before: kube.Unknown, want: CheckFailed},
		"Being in progress is no proof after nothing was known": {reason: "neither says that it is well", strategy: ruled, object: widget(map[string]any{"phase": "Starting"}), before: kube.Unknown, want: CheckWaiting},
		"A rule that is wrong tells nothing":                    {reason: "admission was away when it was written", strategy: wrong, object: widget(nil), before: kube.Unknown, want: CheckWaiting, says: "is wrong"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := checkHealth(tc.strategy, tc.object, tc.before)
			if got.Result != tc.want || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s\ncheckHealth: want %d with %q, got %d: %s", tc.reason, tc.want, tc.says, got.Result, got.Message)
			}
		})
	}
}
