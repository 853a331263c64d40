// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// The bounds of a RemediationBreakerStatus, as its schema states them.
const (
	maxRecorded  = 64
	maxKeyLength = 128
	// mostDoublings of a millisecond, the shortest cooldown, are more than a day, the longest.
	mostDoublings = 27
	maxReason     = 64
	maxMessage    = 1024
	// maxSLOMessage is that of a BreakerSLO.
	maxSLOMessage = 512
)

// limits is a BreakerStrategy in the form that the rules use: set and sane.
type limits struct {
	consecutive, ratio, minSamples, newViolations int32
	window, cooldown                              time.Duration
}

// limitsOf fills defaults. A negative limit, which the schema refuses, becomes
// the strictest one.
func limitsOf(s v1alpha1.BreakerStrategy) limits {
	s.Window.Duration, s.Cooldown.Duration = max(s.Window.Duration, 0), max(s.Cooldown.Duration, 0)
	s.SetDefaults()
	return limits{
		consecutive:   max(s.ConsecutiveFailures, 1),
		ratio:         max(s.FailurePercent, 1),
		minSamples:    max(s.MinSamples, 1),
		newViolations: max(s.Storm.NewViolations, 1),
		window:        s.Window.Duration,
		cooldown:      s.Cooldown.Duration,
	}
}

// openFor is the cooldown of the given opening, counted from 1: doubled with
// each, 24 h at most.
func (l limits) openFor(opening int32) time.Duration {
	d := min(max(l.cooldown, time.Millisecond), v1alpha1.MaxBreakerCooldown)
	for range min(opening-1, mostDoublings) {
		d = min(2*d, v1alpha1.MaxBreakerCooldown)
	}
	return d
}

// width is the length of one bucket.
func (l limits) width() time.Duration {
	return max(l.window/v1alpha1.MaxBreakerBuckets, time.Millisecond)
}

// roll drops the buckets that left the window, and keeps those of a future that
// a clock gone back has made, but no further ahead than one window, so that they
// leave in the end. Oldest first.
func roll(buckets []v1alpha1.BreakerBucket, l limits, now time.Time) []v1alpha1.BreakerBucket {
	width := l.width()
	current := now.UTC().Truncate(width)
	oldest, latest := current.Add(-(v1alpha1.MaxBreakerBuckets-1)*width), current.Add(v1alpha1.MaxBreakerBuckets*width)
	var kept []v1alpha1.BreakerBucket
	for _, b := range buckets {
		if b.StartTime.Time.Before(oldest) {
			continue
		}
		if b.StartTime.After(latest) {
			b.StartTime = *MicroTime(latest)
		}
		kept = append(kept, b)
	}
	slices.SortStableFunc(kept, func(a, b v1alpha1.BreakerBucket) int { return a.StartTime.Compare(b.StartTime.Time) })
	return merge(kept)
}

// merge joins buckets of one start, and the oldest ones while there are too many
// (after a change of the window's length): outcomes leave late rather than early.
func merge(buckets []v1alpha1.BreakerBucket) []v1alpha1.BreakerBucket {
	var merged []v1alpha1.BreakerBucket
	for i, b := range buckets {
		last := len(merged) - 1
		tooMany := len(buckets)-i+len(merged) > v1alpha1.MaxBreakerBuckets
		if last >= 0 && (tooMany || merged[last].StartTime.Time.Equal(b.StartTime.Time)) {
			b.Successes = add(b.Successes, merged[last].Successes)
			b.Failures = add(b.Failures, merged[last].Failures)
			merged[last] = b
			continue
		}
		merged = append(merged, b)
	}
	return merged
}

// count adds a target's outcome to the window and to the row of failures. A
// plan's outcome isn't one: its targets are counted.
func count(st *v1alpha1.RemediationBreakerStatus, e EventType, l limits, now time.Time) {
	var successes, failures int32
	switch e {
	case TargetSucceeded:
		successes, st.ConsecutiveFailures = 1, 0
	case TargetFailed, CanaryFailed:
		failures, st.ConsecutiveFailures = 1, add(st.ConsecutiveFailures, 1)
	case PlanSucceeded, PlanFailed:
		return
	}
	st.LastOutcomeTime = MicroTime(now)
	current := now.UTC().Truncate(l.width())
	buckets := st.Buckets
	if last := len(buckets) - 1; last < 0 || buckets[last].StartTime.Time.Before(current) {
		buckets = append(buckets, v1alpha1.BreakerBucket{StartTime: metav1.NewMicroTime(current)})
	}
	last := &buckets[len(buckets)-1]
	last.Successes, last.Failures = add(last.Successes, successes), add(last.Failures, failures)
	setWindow(st, merge(buckets))
}

// setWindow sets the buckets with the sums that people read.
func setWindow(st *v1alpha1.RemediationBreakerStatus, buckets []v1alpha1.BreakerBucket) {
	st.Buckets, st.Failures, st.Outcomes = buckets, 0, 0
	for _, b := range buckets {
		st.Failures = add(st.Failures, b.Failures)
		st.Outcomes = add(st.Outcomes, add(b.Failures, b.Successes))
	}
}

// remember records an outcome's key. False means that it was counted before.
func remember(st *v1alpha1.RemediationBreakerStatus, key string) bool {
	if key == "" {
		return true
	}
	if len(key) > maxKeyLength {
		sum := sha256.Sum256([]byte(key))
		key = "sha256:" + hex.EncodeToString(sum[:])
	}
	if slices.Contains(st.Recorded, key) {
		return false
	}
	st.Recorded = append(st.Recorded, key)
	st.Recorded = slices.Clone(st.Recorded[max(len(st.Recorded)-maxRecorded, 0):])
	return true
}
