// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	// policiesToTrip is how many policies must have failed before a breaker that
	// they share opens: one bad policy has a breaker of its own, and must not stop
	// all others.
	policiesToTrip = 2
	// maxFailingPolicies bounds the list; two are enough to decide.
	maxFailingPolicies = 8
)

// ForShared is the event as a breaker that several policies share, the global one
// or a namespace's, is to record it: one policy's canary failure is an ordinary
// failure there, and neither a row nor a ratio opens it for the failures of a
// single policy.
func (e Event) ForShared() Event {
	if e.Type == CanaryFailed {
		e.Type = TargetFailed
	}
	e.shared = true
	return e
}

// ForGlobal is the event as the global breaker is to record it: as a shared one does,
// and neither a row nor a ratio opens it for the failures of a single namespace.
func (e Event) ForGlobal() Event {
	e = e.ForShared()
	e.global = true
	return e
}

// blame keeps who failed in a shared breaker. A success ends the row, of whichever
// policy it is.
func blame(st *v1alpha1.RemediationBreakerStatus, e Event, now time.Time) {
	if !e.shared {
		return
	}
	list := slices.Clone(st.FailingPolicies)
	switch e.Type {
	case TargetSucceeded:
		for i := range list {
			list[i].InRow = false
		}
	case TargetFailed, CanaryFailed:
		list = slices.DeleteFunc(list, func(f v1alpha1.FailingPolicy) bool { return f.Policy == e.Policy })
		list = append(list, v1alpha1.FailingPolicy{Policy: e.Policy, LastFailedTime: *MicroTime(now), InRow: true})
		list = list[max(len(list)-maxFailingPolicies, 0):]
	case PlanSucceeded, PlanFailed:
	}
	st.FailingPolicies = list
}

// forgive drops those whose failures have left the window, and the row.
func forgive(st *v1alpha1.RemediationBreakerStatus, l limits, now time.Time) {
	st.FailingPolicies = unforgiven(st.FailingPolicies, now, func(f *v1alpha1.FailingPolicy) *metav1.MicroTime {
		return &f.LastFailedTime
	},
		func(f v1alpha1.FailingPolicy) bool { return f.InRow || inWindow(f.LastFailedTime, l, now) })
}

// unforgiven are those of a list of who failed that still count. at is when one last did.
func unforgiven[T any](list []T, now time.Time, at func(*T) *metav1.MicroTime, counts func(T) bool) []T {
	var kept []T
	for _, f := range list {
		if failed := at(&f); failed.After(now) {
			*failed = *MicroTime(now) // a clock gone back has made it
		}
		if counts(f) {
			kept = append(kept, f)
		}
	}
	return kept
}

func inWindow(at metav1.MicroTime, l limits, now time.Time) bool { return now.Sub(at.Time) < l.window }

// enoughInRow says whether a row of failures is that of enough policies and namespaces.
func enoughInRow(st *v1alpha1.RemediationBreakerStatus, e Event) bool {
	policies := howMany(st.FailingPolicies, func(f v1alpha1.FailingPolicy) bool { return f.InRow })
	namespaces := howMany(st.FailingNamespaces, func(f v1alpha1.FailingNamespace) bool { return f.InRow })
	return (!e.shared || policies >= policiesToTrip) && (!e.global || namespaces >= namespacesToTrip)
}

// enoughInWindow says the same of the failures in the window.
func enoughInWindow(st *v1alpha1.RemediationBreakerStatus, e Event, l limits, now time.Time) bool {
	policies := howMany(st.FailingPolicies, func(f v1alpha1.FailingPolicy) bool {
		return inWindow(f.LastFailedTime, l, now)
	})
	namespaces := howMany(st.FailingNamespaces, func(f v1alpha1.FailingNamespace) bool {
		return inWindow(f.LastFailedTime, l, now)
	})
	return (!e.shared || policies >= policiesToTrip) && (!e.global || namespaces >= namespacesToTrip)
}

func howMany[T any](list []T, counts func(T) bool) int {
	n := 0
	for _, f := range list {
		if counts(f) {
			n++
		}
	}
	return n
}
