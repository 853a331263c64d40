// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func selector(expressions ...metav1.LabelSelectorRequirement) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: expressions}
}

var (
	ours = metav1.LabelSelectorRequirement{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn,
		Values: []string{"kube-system"}}
	before = metav1.LabelSelectorRequirement{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn,
		Values: []string{"kube-system", "old"}}
	theirs  = metav1.LabelSelectorRequirement{Key: "control-plane", Operator: metav1.LabelSelectorOpDoesNotExist}
	isTheir = admissionregistrationv1.MatchCondition{Name: "theirs", Expression: "true"}
	isOurs  = admissionregistrationv1.MatchCondition{Name: "is-the-act", Expression: "has(object.spec.desiredState)"}
)

func TestAdded(t *testing.T) {
	cases := map[string]struct {
		reason               string
		now, applied, wanted entry
		want                 additions
		text                 string
	}{
		"an expression that a cloud adds is kept": {
			now: entry{Namespaces: selector(ours, theirs)}, applied: entry{Namespaces: selector(ours)},
			wanted: entry{Namespaces: selector(ours)},
			want:   additions{Namespaces: *selector(theirs)}, text: "namespaceSelector !control-plane",
		},
		"what we applied before isn't taken for theirs": {
			reason: "a flag has changed since",
			now:    entry{Namespaces: selector(before)}, applied: entry{Namespaces: selector(before)},
			wanted: entry{Namespaces: selector(ours)},
		},
		"what they have removed isn't an addition": {
			reason: "it is restored",
			now:    entry{Namespaces: selector()}, applied: entry{Namespaces: selector(ours)},
			wanted: entry{Namespaces: selector(ours)},
		},
		"labels and conditions are kept too": {
			now: entry{Objects: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
				Conditions: []admissionregistrationv1.MatchCondition{isTheir}},
			want: additions{Objects: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
				Conditions: []admissionregistrationv1.MatchCondition{isTheir}},
			text: "objectSelector a=b; matchCondition theirs",
		},
		"a condition of ours that they changed isn't theirs": {
			now: entry{Conditions: []admissionregistrationv1.MatchCondition{
				{Name: isOurs.Name, Expression: "false"}}},
			applied: entry{Conditions: []admissionregistrationv1.MatchCondition{isOurs}},
			wanted:  entry{Conditions: []admissionregistrationv1.MatchCondition{isOurs}},
		},
		"nobody chooses which of Evenkeel's own objects are checked": {
			reason: "whoever leaves a stamp out speaks in another's name; namespaces hold none of these but waivers",
			now: entry{Namespaces: selector(theirs),
				Objects:    &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
				Conditions: []admissionregistrationv1.MatchCondition{isTheir}},
			wanted: entry{Own: true}, want: additions{Namespaces: *selector(theirs)},
			text: "namespaceSelector !control-plane",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := addedTo(&tc.now, &tc.applied, &tc.wanted)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
			}
			if got.String() != tc.text || got.None() != (tc.text == "") {
				t.Errorf("text %q, want %q", got.String(), tc.text)
			}
		})
	}
}

func TestJoinedKeepsBoth(t *testing.T) {
	for name, tc := range map[string]struct{ now, want *metav1.LabelSelector }{
		"as they are there":       {now: selector(theirs, ours), want: selector(theirs, ours)},
		"ours first, if it isn't": {now: selector(theirs), want: selector(ours, theirs)},
		"without what was ours":   {now: selector(before, theirs), want: selector(ours, theirs)},
	} {
		if diff := cmp.Diff(tc.want, joined(selector(ours), tc.now, *selector(theirs))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestThePausesGrowAndBeginAnew(t *testing.T) {
	now := time.Unix(1e9, 0)
	var p pace
	puts := 0
	for end := now.Add(24 * time.Hour); now.Before(end); puts++ {
		now = now.Add(p.Wait(now))
		if p.Wait(now) != 0 {
			t.Fatal("it waits on")
		}
		p.Restored(now)
	}
	if puts > 24*12+15 {
		t.Errorf("%d times in a day", puts)
	}
	now = now.Add(10 * time.Minute)
	if p.Restored(now); p.Wait(now) != time.Second {
		t.Errorf("after a quiet time the pause is %s", p.Wait(now))
	}
}
