// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

var waiverNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// insists is an enforced policy on cluster-scoped Widgets that wants a label.
func insists(name, label string) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Admission.Action = v1alpha1.AdmissionDeny
	p.Spec.Match.Resources = []v1alpha1.ResourceMatch{{APIGroups: []string{"example.com"}, Kinds: []string{"Widget"}}}
	p.Spec.Rego = v1alpha1.RegoSource{File: "p.rego", Main: fmt.Sprintf(`package p

import rego.v1

deny contains "no label %[1]s" if not input.object.metadata.labels.%[1]s

remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/metadata/labels/%[1]s", "value": "x"}]} if not input.object.metadata.labels.%[1]s
`, label)}
	p.SetDefaults()
	return p
}

func widget(labels map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "uid": "u", "labels": labels}}}
}

// waived is a catalog of the policies "owner" and "team" with a waiver from
// one of them until the time given.
func waived(t *testing.T, policyName string, until time.Time) *catalog.Snapshot {
	t.Helper()
	c := catalog.New(catalog.Options{TimeLimit: time.Minute})
	for _, p := range []*v1alpha1.ClusterRegoPolicy{insists("owner", "owner"), insists("team", "team")} {
		if err := c.Set(p); err != nil {
			t.Fatal(err)
		}
	}
	e := &v1alpha1.ClusterWaiver{ObjectMeta: metav1.ObjectMeta{Name: "legacy"}}
	e.Spec.WaiverTerms = v1alpha1.WaiverTerms{Policies: []string{policyName}, Reason: "moves next quarter",
		ExpirationTime: metav1.NewTime(until)}
	if err := c.SetWaiver(e); err != nil {
		t.Fatal(err)
	}
	return c.Snapshot()
}

// targetsAt knows no kind and reads nothing.
func targetsAt(now time.Time) *targets {
	return &targets{mapper: meta.NewDefaultRESTMapper(nil), clock: clocktesting.NewFakePassiveClock(now)}
}

func attemptAt(snapshot *catalog.Snapshot, object *unstructured.Unstructured) *attempt {
	a := &attempt{targets: targetsAt(waiverNow), snapshot: snapshot, object: object}
	a.plan.Policy.Name = "owner"
	a.plan.Policy.Revision, _ = snapshot.Revision("owner")
	return a
}

func TestProtocolLeavesWaivedObjectsAlone(t *testing.T) {
	cases := map[string]struct {
		reason string
		policy string
		until  time.Time
		want   string
	}{
		"a waived target is skipped, by name of the waiver": {
			policy: "owner", until: waiverNow.Add(time.Hour),
			want: "Skipped Waived: ClusterWaiver legacy until 2026-03-01T13:00:00Z covers the object: moves next " +
				"quarter"},
		"at its expiry the target is fixed": {
			reason: "the same moment as everywhere", policy: "owner", until: waiverNow},
		"a waiver of another policy is none": {policy: "team", until: waiverNow.Add(time.Hour)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attemptAt(waived(t, tc.policy, tc.until), widget(map[string]any{}))
			got := ""
			if rec := judgeAgain(t.Context(), a); rec != nil {
				got = fmt.Sprintf("%s %s: %s", rec.State, rec.Reason, rec.Message)
			}
			if got != tc.want || (got == "") != (len(a.decision.Actions) > 0) {
				t.Errorf("%s: got %q with %d actions, want %q", tc.reason, got, len(a.decision.Actions), tc.want)
			}
		})
	}
}

func TestAFixMayBringAWaivedViolation(t *testing.T) {
	for reason, until := range map[string]time.Time{
		"": waiverNow.Add(time.Hour), v1alpha1.ReasonFixBreaksPolicy: waiverNow} {
		a := attemptAt(waived(t, "team", until), widget(map[string]any{"team": "x"}))
		a.patched = widget(map[string]any{"owner": "x"}).Object
		got := ""
		if rec := passEveryPolicy(t.Context(), a); rec != nil {
			got = rec.Reason
		}
		if got != reason {
			t.Errorf("with a waiver until %s the fix that takes the label team off is %q, want %q", until, got, reason)
		}
	}
}

func TestVerificationPassesAWaivedObject(t *testing.T) {
	for want, until := range map[string]time.Time{
		"": waiverNow.Add(time.Hour), v1alpha1.ReasonStillViolating: waiverNow} {
		snapshot := waived(t, "owner", until)
		p := &pass{targets: targetsAt(waiverNow), rem: &v1alpha1.Remediation{}, snapshot: snapshot}
		p.rem.Spec.Plan.Policy.Name = "owner"
		got := ""
		if c := p.checkPolicy(t.Context(), widget(map[string]any{})); c != nil {
			got = c.Reason
			if !strings.Contains(c.Message, "no label owner") {
				t.Errorf("message %q", c.Message)
			}
		}
		if got != want {
			t.Errorf("with a waiver until %s verification says %q, want %q", until, got, want)
		}
	}
}
