// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	// globalTripThreshold is how many open policy breakers open the global one.
	globalTripThreshold = 3
	// namespacesToTrip is in how many namespaces targets must have failed before the
	// global breaker opens: whoever edits one namespace can make any policy fail
	// there, and must not stop remediation for all others.
	namespacesToTrip = 2
	// maxFailingNamespaces bounds the list; two are enough to decide.
	maxFailingNamespaces = 8
)

// TripGlobal tells whether the policies' breakers that are open open the global one:
// three of them, for what happened in more than one namespace. One that neither a failure of
// a target nor a single namespace has opened, a storm over several say, speaks for itself. A
// half-open breaker isn't an open one: else the global breaker, opening again at each probe, would
// never let the policies' probes through.
func TripGlobal(open []v1alpha1.RemediationBreakerStatus) bool {
	origins := map[string]bool{}
	for i, st := range open {
		if st.OnlyNamespace != "" {
			origins["namespace "+st.OnlyNamespace] = true
			continue
		}
		if len(st.FailingNamespaces) == 0 || !openedByFailures(st.Reason) {
			origins[fmt.Sprintf("breaker %d", i)] = true
			continue
		}
		for _, f := range st.FailingNamespaces {
			origins["namespace "+f.Namespace] = true
		}
	}
	return len(open) >= globalTripThreshold && len(origins) >= namespacesToTrip
}

func openedByFailures(reason string) bool {
	return slices.Contains(
		[]string{v1alpha1.ReasonCanaryFailed, v1alpha1.ReasonConsecutiveFailures, v1alpha1.ReasonFailurePercent,
			v1alpha1.ReasonProbeFailed}, reason)
}

// HeldByPolicies says whether the global breaker is open for no other reason than that
// policies' breakers are.
func HeldByPolicies(st *v1alpha1.RemediationBreakerStatus) bool {
	return st.State == v1alpha1.BreakerOpen && st.Reason == v1alpha1.ReasonPolicyBreakersOpen
}

// ReleaseGlobal is the status of the global breaker once the policies' breakers that held it
// open do so no more (see TripGlobal): closed, as if it hadn't opened for them, unless
// what it has counted itself meanwhile keeps it open.
func ReleaseGlobal(in v1alpha1.RemediationBreakerStatus, s v1alpha1.BreakerStrategy,
	now time.Time) v1alpha1.RemediationBreakerStatus {
	st := *in.DeepCopy()
	if !HeldByPolicies(&st) || inconsistency(&st) != "" {
		return st
	}
	l := limitsOf(s)
	setWindow(&st, roll(st.Buckets, l, now))
	if reason, why := tripped(&st, Event{Type: TargetFailed}.ForGlobal(), l, now); reason != "" {
		st.Reason, st.Message = reason, messageOpen(why, "", st.NextProbeTime.Time)
		return st
	}
	st.Openings--
	closed(&st, v1alpha1.ReasonWithinLimits, messageReleased)
	return st
}

// blameNamespaces keeps where targets failed, in the breaker of a policy and the global
// one. A success ends the row, wherever it is, unless the breaker is half-open: there it
// takes two plans that succeed in full.
func blameNamespaces(st *v1alpha1.RemediationBreakerStatus, e Event, now time.Time) {
	if e.shared && !e.global {
		return // a namespace's own breaker
	}
	list := slices.Clone(st.FailingNamespaces)
	switch e.Type {
	case TargetSucceeded:
		for i := range list {
			list[i].InRow = list[i].InRow && st.State == v1alpha1.BreakerHalfOpen
		}
	case TargetFailed, CanaryFailed:
		in := e.Namespaces
		if len(in) == 0 {
			in = []string{""}
		}
		list = slices.DeleteFunc(list, func(f v1alpha1.FailingNamespace) bool {
			return slices.Contains(in, f.Namespace)
		})
		for _, namespace := range in {
			list = append(list, v1alpha1.FailingNamespace{Namespace: namespace, LastFailedTime: *MicroTime(now),
				InRow: true})
		}
		list = list[max(len(list)-maxFailingNamespaces, 0):]
	case PlanSucceeded, PlanFailed:
	}
	st.FailingNamespaces = list
}

// forgiveNamespaces drops those whose failures have left the window, and the row. A
// breaker that isn't closed keeps what has opened it.
func forgiveNamespaces(st *v1alpha1.RemediationBreakerStatus, l limits, now time.Time) {
	st.FailingNamespaces = unforgiven(st.FailingNamespaces, now, func(f *v1alpha1.FailingNamespace) *metav1.MicroTime {
		return &f.LastFailedTime
	},
		func(f v1alpha1.FailingNamespace) bool {
			return f.InRow || inWindow(f.LastFailedTime, l, now) || st.State != v1alpha1.BreakerClosed
		})
}
