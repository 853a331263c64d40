// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnOptOutThatHasNoEffectIsToldFromOneThatHas(t *testing.T) {
	type words = map[string]string
	now := time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC)
	until := func(text string) words { return words{AnnotationRemediation: "paused", AnnotationPausedUntil: text} }
	const wrong = `must be "paused"`
	cases := map[string]struct {
		annotations, labels words
		out                 bool
		ends                time.Time
		// ineffective is for doctor and whoever writes it, doubt for the latter.
		ineffective, doubt string
	}{
		"nothing is said": {},
		"it opts out":     {annotations: words{AnnotationRemediation: "paused"}, out: true},
		"another value": {annotations: words{AnnotationRemediation: "disabled"}, ineffective: wrong,
			doubt: `it is "disabled"`},
		"another case": {annotations: words{AnnotationRemediation: "Paused"}, ineffective: wrong,
			doubt: `it is "Paused"`},
		"no value": {annotations: words{AnnotationRemediation: ""}, ineffective: wrong, doubt: `it is ""`},
		"a label": {labels: words{AnnotationRemediation: "paused"}, ineffective: wrong,
			doubt: "a label of that name has no effect"},
		"a label and an annotation": {annotations: words{AnnotationRemediation: "paused"},
			labels: words{AnnotationRemediation: "x"}, out: true},
		"an end to come": {annotations: until("2027-01-07T08:00:01Z"), out: true, ends: now.Add(time.Second)},
		"an end to come in another zone": {annotations: until("2027-01-07T09:00:01+01:00"), out: true,
			ends: now.Add(time.Second)},
		"an end that has just come": {annotations: until("2027-01-07T08:00:00Z"), ends: now,
			doubt: "ended at 2027-01-07T08:00:00Z"},
		"an end long ago": {annotations: until("2020-01-01T00:00:00Z"),
			ends: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), doubt: "set a later time"},
		"an end that can't be read": {annotations: until("2027-01-08"), out: true,
			doubt: `must be a time such as 2027-01-07T08:00:00Z: it is "2027-01-08"`},
		"an empty end": {annotations: until(""), out: true, doubt: `it is ""`},
		"an end, and a label beside": {annotations: until("2020-01-01T00:00:00Z"),
			labels: words{AnnotationRemediation: "x"},
			ends:   time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), doubt: "ended at"},
		"a key with a slip": {annotations: words{"evenkeel.dev/remediaton": "paused"},
			doubt: "no annotation evenkeel.dev/remediaton, so that it has no effect; did you mean the annotation " +
				"evenkeel.dev/remediation?"},
		"an end with a slip": {
			annotations: words{AnnotationRemediation: "paused", "evenkeel.dev/remediation-until": "x"},
			out:         true, doubt: "did you mean the annotation evenkeel.dev/remediation-paused-until?"},
		"an end as a label": {labels: words{AnnotationPausedUntil: "x"},
			doubt: "no label evenkeel.dev/remediation-paused-until, "},
		"another key of ours": {labels: words{LabelRemediation: "web-1"},
			annotations: words{AnnotationLastRemediation: "web-1", "evenkeel.dev/owner": "x"}},
		"nothing but an end": {annotations: words{AnnotationPausedUntil: "2028-01-01T00:00:00Z"}, ineffective: wrong,
			doubt: "has no effect without it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := &metav1.ObjectMeta{Annotations: tc.annotations, Labels: tc.labels}
			if got := OptsOut(obj, now); got != tc.out {
				t.Errorf("opts out: %v", got)
			}
			if got, _ := OptOutEnd(obj); !got.Equal(tc.ends) {
				t.Errorf("it ends at %s, want %s", got, tc.ends)
			}
			for which, pair := range map[string][2]string{"ineffective": {IneffectiveOptOut(obj), tc.ineffective},
				"doubtful": {DoubtfulOptOut(obj, now), tc.doubt}} {
				if (pair[0] == "") != (pair[1] == "") || !strings.Contains(pair[0], pair[1]) {
					t.Errorf("%s: %q, want %q", which, pair[0], pair[1])
				}
			}
		})
	}
}

func TestAnOptOutTellsASlipBesideIt(t *testing.T) {
	obj := &metav1.ObjectMeta{Annotations: map[string]string{AnnotationRemediation: RemediationPaused,
		"evenkeel.dev/remediation-until": "2027-01-07T08:00:00Z"}}
	want := "the annotation evenkeel.dev/remediation: paused; Evenkeel knows no annotation " +
		"evenkeel.dev/remediation-until, so that it has no effect; did you mean the annotation " +
		"evenkeel.dev/remediation-paused-until?"
	if got := OptOutText(obj); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnOptOutSaysUntilWhen(t *testing.T) {
	for end, want := range map[string]string{
		"":                          "the annotation evenkeel.dev/remediation: paused",
		"2027-01-07T09:00:01+01:00": "the annotation evenkeel.dev/remediation: paused, until 2027-01-07T08:00:01Z",
		"tomorrow": `the annotation evenkeel.dev/remediation: paused, without an end: the ` +
			`annotation evenkeel.dev/remediation-paused-until must be a time such as 2027-01-07T08:00:00Z: it is ` +
			`"tomorrow", and the opt-out goes on until that is corrected`,
	} {
		obj := &metav1.ObjectMeta{Annotations: map[string]string{AnnotationRemediation: RemediationPaused}}
		if end != "" {
			obj.Annotations[AnnotationPausedUntil] = end
		}
		if got := OptOutText(obj); got != want {
			t.Errorf("%q: got %q, want %q", end, got, want)
		}
	}
}
