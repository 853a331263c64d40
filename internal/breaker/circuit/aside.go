// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"maps"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Aside is why a namespace is left out of a revision's next plan: a plan failed there,
// and nowhere else.
type Aside struct {
	// End is the place of that plan among the revision's ends.
	End int
	// Until is when its objects are planned again by themselves; zero: only once the
	// policy changes, or a person says to try again.
	Until time.Time
}

// Standing is what the ends of a revision's plans say of the next one.
type Standing struct {
	// Blocks is the place of the end that keeps the revision from being planned at all
	// (see Blocks); -1 when none does.
	Blocks int
	// Wait is how long after the latest end another plan is made (see ReplanAfter).
	Wait time.Duration
	// Aside are the namespaces that the next plan leaves out.
	Aside map[string]Aside
}

// Stand judges the ends of a revision's plans, the oldest first. What failed in one
// namespace alone keeps that namespace out of the next plan and no other, for whoever
// edits it can make any fix fail there; that plan draws its canary elsewhere. When plans
// have failed in two namespaces, or in cluster scope, the fix is at fault: it is blocked.
func Stand(ends []v1alpha1.RemediationStatus, now time.Time) Standing {
	s := Standing{Blocks: -1, Aside: map[string]Aside{}}
	for i, end := range ends {
		switch namespace := FailedAlone(end); {
		case !end.BlocksReplanning():
		case namespace != "":
			s.Aside[namespace] = Aside{End: i}
		case i == len(ends)-1:
			s.Blocks = i
		}
	}
	if len(s.Aside) > 1 {
		for _, aside := range s.Aside {
			s.Blocks = max(s.Blocks, aside.End)
		}
	}
	s.pace(ends, now)
	return s
}

// pace lets the namespaces wait in which alone plans ended without an answer, and the
// revision when it was in several, or nobody knows where.
func (s *Standing) pace(ends []v1alpha1.RemediationStatus, now time.Time) {
	within := map[string][]v1alpha1.RemediationStatus{}
	last := map[string]int{}
	for i, end := range ends {
		namespace := FailedAlone(end)
		if end.Reason == v1alpha1.ReasonNoAnswer && namespace != "" && now.Sub(endedAt(end)) < maxReplanUndone {
			within[namespace], last[namespace] = append(within[namespace], end), i
		}
	}
	for namespace, list := range within {
		until := endedAt(list[len(list)-1]).Add(ReplanAfter(list))
		if aside, known := s.Aside[namespace]; now.Before(until) && (!known || !aside.Until.IsZero()) {
			s.Aside[namespace] = Aside{End: last[namespace], Until: until}
		}
	}
	if row := unanswered(ends); !allIn(row) {
		s.Wait = ReplanAfter(row)
	}
}

// unanswered are the latest ends in a row that were without an answer.
func unanswered(ends []v1alpha1.RemediationStatus) []v1alpha1.RemediationStatus {
	from := len(ends)
	for from > 0 && ends[from-1].Reason == v1alpha1.ReasonNoAnswer {
		from--
	}
	return ends[from:]
}

// allIn says whether all ends happened in one and the same namespace alone.
func allIn(ends []v1alpha1.RemediationStatus) bool {
	for _, end := range ends {
		if in := FailedAlone(end); in == "" || in != FailedAlone(ends[0]) {
			return false
		}
	}
	return true
}

// FailedAlone is the namespace in which alone targets failed, of a plan that ended for
// that; empty when they failed in several, in cluster scope, or when it ended for another
// reason.
func FailedAlone(s v1alpha1.RemediationStatus) string {
	switch s.Reason {
	case v1alpha1.ReasonVerificationFailed, v1alpha1.ReasonAnalysisFailed, v1alpha1.ReasonNoViableCanary,
		v1alpha1.ReasonLostToFights, v1alpha1.ReasonNoAnswer:
		if len(s.FailedIn) == 1 {
			return s.FailedIn[0]
		}
	}
	return ""
}

// Fault are the namespaces that a canary is blamed on which couldn't be had, by how many
// of its candidates failed in each: the one with the most, unless at least half of
// v1alpha1.MaxCanaryFailures failed elsewhere.
func Fault(failed map[string]int) []string {
	all := slices.Sorted(maps.Keys(failed))
	total, most := 0, ""
	for _, namespace := range all {
		total += failed[namespace]
		if failed[namespace] > failed[most] {
			most = namespace
		}
	}
	if total > 0 && 2*(total-failed[most]) < v1alpha1.MaxCanaryFailures {
		return []string{most}
	}
	return all
}

func endedAt(s v1alpha1.RemediationStatus) time.Time {
	if s.CompletionTime == nil {
		return time.Time{}
	}
	return s.CompletionTime.Time
}
