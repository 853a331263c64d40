package canary

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Violations is what a complete scan says of a policy.
type Violations struct {
	// Revision is the policy's revision that was judged by.
	Revision string
	// Objects is the number of objects that violate it. Those under a waiver are
	// to be among them: else every waiver that ends would look like a storm.
	Objects int32
}

// Storm is the status of a policy's breaker after a complete scan has counted v at
// now. It lets the time pass first, as Tick does.
//
// It opens a breaker that isn't open when storm.newViolations objects more violate
// the policy than at the least within the window. The number counts until the next
// one is known, so that a rise while nobody counted is a rise all the same. The
// first number of a revision is never a storm: nothing is known from before. After
// an opening the new number is what the next rise is measured from.
func Storm(st v1alpha1.RemediationBreakerStatus, v Violations, s v1alpha1.BreakerStrategy, now time.Time) v1alpha1.RemediationBreakerStatus {
	l := limitsOf(s)
	st = tick(st, l, now)
	if st.Storm == nil || st.Storm.Revision != v.Revision {
		st.Storm = calm(v, l, now)
		return st
	}
	least := min(st.Storm.Violating, v.Objects)
	buckets := rollStorm(st.Storm.Buckets, least, l, now)
	for _, b := range buckets {
		least = min(least, b.Least)
	}
	if rise := int64(v.Objects) - int64(least); rise >= int64(l.newViolations) && st.State != v1alpha1.BreakerOpen {
		trip(&st, ReasonStorm, messageStorm(rise, v, l), l, now)
		st.Storm = calm(v, l, now)
		return st
	}
	st.Storm = &v1alpha1.BreakerStorm{Revision: v.Revision, Violating: v.Objects, SampledAt: *microTime(now), Buckets: buckets}
	return st
}

// calm is what is known when nothing is known from before.
func calm(v Violations, l limits, now time.Time) *v1alpha1.BreakerStorm {
	return &v1alpha1.BreakerStorm{Revision: v.Revision, Violating: v.Objects, SampledAt: *microTime(now),
		Buckets: rollStorm(nil, v.Objects, l, now)}
}

// rollStorm drops the buckets that left the window and counts the least number
// into the current one. What a clock gone back leaves in the future counts as now.
func rollStorm(buckets []v1alpha1.BreakerStormBucket, least int32, l limits, now time.Time) []v1alpha1.BreakerStormBucket {
	width := l.width()
	current := now.UTC().Truncate(width)
	oldest := current.Add(-(maxBuckets - 1) * width)
	var kept []v1alpha1.BreakerStormBucket
	for _, b := range buckets {
		switch {
		case b.Start.Time.Before(oldest):
		case b.Start.Time.Before(current):
			kept = append(kept, b)
		default:
			least = min(least, b.Least)
		}
	}
	slices.SortStableFunc(kept, func(a, b v1alpha1.BreakerStormBucket) int { return a.Start.Compare(b.Start.Time) })
	// More than fit, after a change of the window's length: the oldest are joined.
	for len(kept) > maxBuckets-1 {
		kept[1].Least = min(kept[0].Least, kept[1].Least)
		kept = kept[1:]
	}
	return append(kept, v1alpha1.BreakerStormBucket{Start: metav1.NewMicroTime(current), Least: least})
}
