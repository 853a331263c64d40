// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/prose"
)

// maxAnnotation bounds what of an annotation's value is kept.
const maxAnnotation = 253

// conclude writes what a pass has seen into the status, and says when to look
// again; 0 for not before something changes.
func conclude(src *v1alpha1.PolicySource, seen observation, failed *failure, now time.Time) time.Duration {
	s := &src.Status
	observe(src, now)
	if seen.inventory != nil {
		s.Policies = int32(len(seen.inventory))
		s.Inventory = seen.inventory[:min(len(seen.inventory), v1alpha1.MaxSourcePolicies)]
	}
	if src.Spec.Suspend && failed == nil {
		return suspend(src, now)
	}
	if seen.asked {
		s.LastHandledReconcileAt = asks(src)
	}
	if seen.fetched {
		s.LastFetchedTime, s.AttemptedRevision = timeAt(now), seen.revision
	}
	noteInForce(src, seen, failed, now)
	switch {
	case failed != nil:
		fail(src, failed, now)
	case seen.complete:
		succeed(src, seen, now)
	}
	return schedule(src, seen, failed, now)
}

// noteInForce notes which revision is in force, whether or not the repository has a newer
// one: from this one the next must descend.
func noteInForce(src *v1alpha1.PolicySource, seen observation, failed *failure, now time.Time) {
	s := &src.Status
	if seen.inForce == "" || seen.inForce == s.Revision {
		return
	}
	s.Revision, s.LastAppliedTime = seen.inForce, timeAt(now)
	if failed == nil && !seen.complete {
		s.NextAttemptTime = timeAt(now) // the conditions name the one before
	}
}

func suspend(src *v1alpha1.PolicySource, now time.Time) time.Duration {
	s := &src.Status
	message := "suspended (spec.suspend); nothing is in force yet"
	if s.Revision != "" {
		message = fmt.Sprintf("suspended (spec.suspend); revision %s stays in force", s.Revision)
	}
	s.NextAttemptTime, s.Failures = nil, 0
	s.Problems, s.ProblemCount = nil, 0
	if s.Revision != "" {
		kube.SetConditions(src, now, kube.Ready(v1alpha1.ReasonSuspended, message)...)
		return 0
	}
	waits := kube.Underway(v1alpha1.ReasonSuspended, message)
	waits[0].Status = metav1.ConditionUnknown // nobody has looked
	kube.SetConditions(src, now, waits...)
	return 0
}

func fail(src *v1alpha1.PolicySource, f *failure, now time.Time) {
	s := &src.Status
	s.ProblemCount = int32(len(f.problems))
	s.Problems = f.problems[:min(len(f.problems), v1alpha1.MaxSourceProblems)]
	message := f.message
	if s.Revision != "" {
		message = fmt.Sprintf("%s. Revision %s stays in force",
			strings.TrimRight(prose.Shorten(message, maxMessage), "."), s.Revision)
	}
	ready := kube.ConditionFalse(v1alpha1.ConditionReady, f.reason, message)
	if f.stalled {
		s.Failures = 0
		kube.SetConditions(src, now, ready,
			kube.ConditionTrue(v1alpha1.ConditionStalled, f.reason, "a person must fix it: "+f.message))
		return
	}
	s.Failures++
	again := fmt.Sprintf("tried again after %s", retryAfter(s.Failures, interval(src)))
	kube.SetConditions(src, now, ready, kube.ConditionTrue(v1alpha1.ConditionReconciling, f.reason, again))
}

func succeed(src *v1alpha1.PolicySource, seen observation, now time.Time) {
	s := &src.Status
	if s.Revision != seen.revision || seen.wrote() || s.LastAppliedTime == nil {
		s.LastAppliedTime = timeAt(now)
	}
	s.Revision, s.AttemptedRevision, s.Failures = seen.revision, seen.revision, 0
	s.Problems, s.ProblemCount = nil, 0
	kube.SetConditions(src, now, kube.Ready(v1alpha1.ReasonApplied, inForce(src, seen))...)
}

func inForce(src *v1alpha1.PolicySource, seen observation) string {
	s := &src.Status
	message := fmt.Sprintf("revision %s is in force: %d %s", s.Revision, s.Policies,
		prose.Plural(int(s.Policies), "policy"))
	if seen.kept > 0 {
		message += fmt.Sprintf(", of which %d have left the repository and are kept (spec.prune: false)", seen.kept)
	}
	if _, stay := orphans(src, true); !stay {
		message += fmt.Sprintf("; they go with this source when it is deleted (spec.deletionPolicy: %s)",
			v1alpha1.DeletionDelete)
	}
	return message
}

// schedule says when to look again, and writes down when the repository is asked.
func schedule(src *v1alpha1.PolicySource, seen observation, failed *failure, now time.Time) time.Duration {
	s := &src.Status
	switch {
	case failed != nil && failed.reason == v1alpha1.ReasonNamespaceNotAllowed:
		s.NextAttemptTime = nil
		return 0
	case failed != nil && !failed.stalled:
		s.NextAttemptTime = timeAt(now.Add(retryAfter(s.Failures, interval(src))))
	case seen.asked || s.NextAttemptTime == nil:
		s.NextAttemptTime = timeAt(now.Add(jittered(interval(src), src.UID)))
	}
	return max(s.NextAttemptTime.Sub(now), soon)
}

// observe notes that this generation was looked at, whatever comes of it.
func observe(src *v1alpha1.PolicySource, now time.Time) {
	kube.SetConditions(src, now, slices.Clone(src.Status.Conditions)...)
}
