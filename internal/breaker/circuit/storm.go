// SPDX-License-Identifier: Apache-2.0

package circuit

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
	// In counts them by namespace, the most first; cluster scope isn't among them. It is
	// asked when that matters only, and may be nil: then nobody knows where they are.
	In func() []v1alpha1.ViolatingNamespace
}

// maxStormNamespaces bounds how many namespaces are kept of a number.
const maxStormNamespaces = 8

// in are the namespaces that are kept of a number.
func (v Violations) in() []v1alpha1.ViolatingNamespace {
	if v.In == nil {
		return nil
	}
	all := v.In()
	return slices.Clone(all[:min(len(all), maxStormNamespaces)])
}

// Storm is the status of a policy's breaker after a complete scan has counted v at
// now. It lets the time pass first, as Tick does.
//
// It opens a breaker that isn't open when storm.newViolations objects more violate
// the policy than at the least within the window. Unless half as many as that came up
// outside of the namespace with the largest rise, it opens for that namespace alone:
// whoever edits it can make as many as they like. The number counts until the next
// one is known, so that a rise while nobody counted is a rise all the same. The
// first number of a revision is never a storm: nothing is known from before. After
// an opening the new number is what the next rise is measured from.
func Storm(st v1alpha1.RemediationBreakerStatus, v Violations, s v1alpha1.BreakerStrategy,
	now time.Time) v1alpha1.RemediationBreakerStatus {
	l := limitsOf(s)
	st = tick(st, l, now)
	if st.Storm == nil || st.Storm.Revision != v.Revision {
		st.Storm = calm(v, l, now)
		return st
	}
	buckets := rollStorm(st.Storm.Buckets, stormBucket(st.Storm, v), l, now)
	least := buckets[len(buckets)-1]
	for _, b := range slices.Backward(buckets) {
		if b.Least < least.Least {
			least = b // of equal ones the latest
		}
	}
	if rise := int64(v.Objects) - int64(least.Least); rise >= int64(l.newViolations) && !opensAll(&st) {
		if only := stormIn(least, v, rise, l); st.State != v1alpha1.BreakerOpen || only != st.OnlyNamespace {
			if st.State == v1alpha1.BreakerOpen {
				only = "" // another namespace has opened it already
			}
			trip(&st, v1alpha1.ReasonStorm, messageStorm(rise, v, l), only, l, now)
			st.Storm = calm(v, l, now)
			return st
		}
	}
	st.Storm = sample(v, now, buckets)
	return st
}

// stormBucket is the lower one of the number that stood until now and the new one.
func stormBucket(known *v1alpha1.BreakerStorm, v Violations) v1alpha1.BreakerStormBucket {
	if v.Objects <= known.Violating {
		return v1alpha1.BreakerStormBucket{Least: v.Objects, Namespaces: v.in()}
	}
	return v1alpha1.BreakerStormBucket{Least: known.Violating, Namespaces: slices.Clone(known.Namespaces)}
}

// stormIn is the namespace that has risen so much more than all others together that
// they are no storm; empty when there is none. One that wasn't among the largest
// before counts with all that it has.
func stormIn(least v1alpha1.BreakerStormBucket, v Violations, rise int64, l limits) string {
	if v.In == nil {
		return ""
	}
	before := map[string]int64{}
	for _, n := range least.Namespaces {
		before[n.Namespace] = int64(n.Violating)
	}
	largest, only := int64(0), ""
	for _, n := range v.In() {
		if more := int64(n.Violating) - before[n.Namespace]; more > largest {
			largest, only = more, n.Namespace
		}
	}
	if 2*(rise-largest) >= int64(l.newViolations) {
		return ""
	}
	return only
}

// calm is what is known when nothing is known from before.
func calm(v Violations, l limits, now time.Time) *v1alpha1.BreakerStorm {
	return sample(v, now,
		rollStorm(nil, v1alpha1.BreakerStormBucket{Least: v.Objects, Namespaces: v.in()}, l, now))
}

// sample is what is kept of a scan.
func sample(v Violations, now time.Time, buckets []v1alpha1.BreakerStormBucket) *v1alpha1.BreakerStorm {
	return &v1alpha1.BreakerStorm{Revision: v.Revision, Violating: v.Objects, SampledTime: *MicroTime(now),
		Namespaces: v.in(), Buckets: buckets}
}

// rollStorm drops the buckets that left the window and counts the least number
// into the current one. What a clock gone back leaves in the future counts as now.
func rollStorm(buckets []v1alpha1.BreakerStormBucket, least v1alpha1.BreakerStormBucket, l limits,
	now time.Time) []v1alpha1.BreakerStormBucket {
	width := l.width()
	current := now.UTC().Truncate(width)
	oldest := current.Add(-(v1alpha1.MaxBreakerBuckets - 1) * width)
	var kept []v1alpha1.BreakerStormBucket
	for _, b := range buckets {
		switch {
		case b.StartTime.Time.Before(oldest):
		case b.StartTime.Time.Before(current):
			kept = append(kept, b)
		default:
			least = lower(least, b) // the newer one, when they are equal
		}
	}
	slices.SortStableFunc(kept, func(a, b v1alpha1.BreakerStormBucket) int {
		return a.StartTime.Compare(b.StartTime.Time)
	})
	// More than fit, after a change of the window's length: the oldest are joined.
	for len(kept) > v1alpha1.MaxBreakerBuckets-1 {
		start := kept[1].StartTime
		kept[1] = lower(kept[0], kept[1])
		kept[1].StartTime = start
		kept = kept[1:]
	}
	least.StartTime = metav1.NewMicroTime(current)
	return append(kept, least)
}

// lower is the bucket with the lower number; the first when they are equal.
func lower(a, b v1alpha1.BreakerStormBucket) v1alpha1.BreakerStormBucket {
	if b.Least < a.Least {
		return b
	}
	return a
}
