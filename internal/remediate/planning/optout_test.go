// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// Nothing changes when an opt-out ends, so a plan that leaves objects out for it says when to look again.
func TestTheNextEndOfAnOptOutIsKnown(t *testing.T) {
	now := breakertest.Noon
	out := func(end string) *metav1.PartialObjectMetadata {
		m := &metav1.PartialObjectMetadata{}
		m.SetAnnotations(map[string]string{v1alpha1.AnnotationRemediation: v1alpha1.RemediationPaused})
		if end != "" {
			m.Annotations[v1alpha1.AnnotationPausedUntil] = end
		}
		return m
	}
	in := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	cases := map[string]struct {
		objects []*metav1.PartialObjectMetadata
		out     int
		want    time.Duration
	}{
		"nobody opts out": {objects: []*metav1.PartialObjectMetadata{nil, {}}},
		"for good":        {objects: []*metav1.PartialObjectMetadata{out("")}, out: 1},
		"an end": {objects: []*metav1.PartialObjectMetadata{out(""), out(in(time.Hour))}, out: 2,
			want: time.Hour},
		"the first of two": {objects: []*metav1.PartialObjectMetadata{out(in(time.Hour)), out(in(time.Minute))}, out: 2,
			want: time.Minute},
		"one that has come":      {objects: []*metav1.PartialObjectMetadata{out(in(0)), out(in(-time.Hour))}},
		"one that can't be read": {objects: []*metav1.PartialObjectMetadata{out("soon")}, out: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, n := draft{now: now}, 0
			for _, m := range tc.objects {
				if d.optedOut(m) {
					n++
				}
			}
			if n != tc.out || d.nextOptOutEnd != tc.want {
				t.Errorf("%d opt out, the next end is in %s; want %d, %s", n, d.nextOptOutEnd, tc.out, tc.want)
			}
		})
	}
}
