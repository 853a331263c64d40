// SPDX-License-Identifier: Apache-2.0

package source

import (
	"hash/fnv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// firstRetry is the wait after a first failure; it doubles with each further one.
	firstRetry = 5 * time.Second
	// jitterSteps is how finely the jitter is cut.
	jitterSteps = 1000
)

// jittered is the interval, longer by up to a tenth. How much is the source's own,
// so that many sources of one interval don't ask at the same time, and the same
// after a restart.
func jittered(interval time.Duration, uid types.UID) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid)) // a hash never fails to take bytes
	return interval + interval/10*time.Duration(h.Sum32()%jitterSteps)/jitterSteps
}

// retryAfter is the wait after so many failures in a row, never longer than the
// interval.
func retryAfter(failures int32, interval time.Duration) time.Duration {
	wait := firstRetry
	for range failures - 1 {
		if wait >= interval {
			break
		}
		wait *= 2
	}
	return min(wait, interval)
}

// interval is the source's, also for objects that no schema has defaulted.
func interval(src *v1alpha1.PolicySource) time.Duration {
	if src.Spec.Interval.Duration > 0 {
		return src.Spec.Interval.Duration
	}
	return v1alpha1.DefaultSourceInterval
}

// timeout is the source's, also for objects that no schema has defaulted.
func timeout(src *v1alpha1.PolicySource) time.Duration {
	if src.Spec.Timeout.Duration > 0 {
		return src.Spec.Timeout.Duration
	}
	return v1alpha1.DefaultSourceTimeout
}

// prunes says whether policies are removed that have left the repository.
func prunes(src *v1alpha1.PolicySource) bool { return src.Spec.Prune == nil || *src.Spec.Prune }

// due says whether the repository is to be asked now: the time has come, somebody
// wants it, or the spec has changed.
func due(src *v1alpha1.PolicySource, now time.Time) bool {
	s := &src.Status
	return src.Generation != s.ObservedGeneration ||
		asks(src) != s.LastHandledReconcileAt || accepted(src) != "" ||
		s.NextAttemptTime == nil || !now.Before(s.NextAttemptTime.Time)
}

// untilEarly is how long the repository isn't asked yet by a pass that isn't due, such as
// one that a policy's change has led to, though a revision waits: it comes into force only
// where the repository still gives it. While a failure is tried again the schedule holds.
func untilEarly(src *v1alpha1.PolicySource, at *remembered, now time.Time) time.Duration {
	if !at.pending() || src.Status.Failures > 0 {
		return interval(src)
	}
	return at.askedAt.Add(firstRetry).Sub(now)
}

// waiting says that the last pass has failed, and the next look has its time.
func waiting(src *v1alpha1.PolicySource) bool {
	return !meta.IsStatusConditionTrue(src.Status.Conditions, v1alpha1.ConditionReady)
}

// asks is what the annotation says by which people and pushes ask for a look.
func asks(src *v1alpha1.PolicySource) string {
	return prose.Shorten(src.Annotations[v1alpha1.AnnotationReconcile], maxAnnotation)
}

// timeAt is a time as the API stores it, in whole seconds.
func timeAt(t time.Time) *metav1.Time {
	at := metav1.NewTime(t).Rfc3339Copy()
	return &at
}
