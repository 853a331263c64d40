// SPDX-License-Identifier: Apache-2.0

package source

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestJitterIsStableBoundedAndSpread(t *testing.T) {
	const every = 5 * time.Minute
	seen := map[time.Duration]bool{}
	for _, uid := range []types.UID{"", "a", "b", "0b2e3f5c-7d6e-4a57-9d39-0f3f9b1c2d3e",
		"9f0d7c55-9d30-4a5e-8d0f-4a4be6d3f6a1"} {
		got := jittered(every, uid)
		if got < every || got > every+every/10 {
			t.Errorf("uid %q: %s is outside of %s and a tenth more", uid, got, every)
		}
		if again := jittered(every, uid); again != got {
			t.Errorf("uid %q: %s, then %s: the jitter must be the same each time", uid, got, again)
		}
		seen[got] = true
	}
	if len(seen) < 4 {
		t.Errorf("five sources share %d times: they would all ask at once", len(seen))
	}
}

func TestRetryAfter(t *testing.T) {
	tests := map[string]struct {
		reason   string
		failures int32
		interval time.Duration
		want     time.Duration
	}{
		"a first failure":     {"a hiccup costs little", 1, 5 * time.Minute, 5 * time.Second},
		"a third failure":     {"each waits twice as long", 3, 5 * time.Minute, 20 * time.Second},
		"many failures":       {"never longer than the interval", 1000, 5 * time.Minute, 5 * time.Minute},
		"a short interval":    {"the interval is the longest wait", 2, 7 * time.Second, 7 * time.Second},
		"no failure recorded": {"the least wait, whatever the status says", 0, time.Minute, 5 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := retryAfter(tc.failures, tc.interval); got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestDue(t *testing.T) {
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }
	tests := map[string]struct {
		reason string
		change func(*v1alpha1.PolicySource)
		want   bool
	}{
		"before its time": {"nothing asks for a look", func(*v1alpha1.PolicySource) {}, false},
		"at its time": {"the interval is over", func(s *v1alpha1.PolicySource) {
			s.Status.NextAttemptTime = at(now)
		}, true},
		"never looked at": {"there is no time yet", func(s *v1alpha1.PolicySource) {
			s.Status.NextAttemptTime = nil
		}, true},
		"a changed spec": {"what is read may be another", func(s *v1alpha1.PolicySource) { s.Generation++ },
			true},
		"a new annotation": {"somebody wants it", func(s *v1alpha1.PolicySource) {
			s.Annotations[v1alpha1.AnnotationReconcile] = "2"
		}, true},
		"a handled annotation": {"the same value asks once", func(s *v1alpha1.PolicySource) {
			s.Annotations["other"] = "x"
		}, false},
		"a removed annotation": {"a look more does no harm", func(s *v1alpha1.PolicySource) {
			s.Annotations = nil
		}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			src := &v1alpha1.PolicySource{
				ObjectMeta: metav1.ObjectMeta{
					Generation: 3, Annotations: map[string]string{v1alpha1.AnnotationReconcile: "1"}},
				Status: v1alpha1.PolicySourceStatus{ObservedGeneration: 3, LastHandledReconcileAt: "1",
					NextAttemptTime: at(now.Add(time.Second))}}
			tc.change(src)
			if got := due(src, now); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}
