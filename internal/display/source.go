// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Source is a PolicySource as it is shown to people.
type Source struct {
	*v1alpha1.PolicySource
	Now time.Time
}

// Ready is the status, reason and message of the source's Ready condition; Unknown
// before the controller has looked at the newest spec, and when it doesn't look any more.
func (s Source) Ready() (status metav1.ConditionStatus, reason, message string) {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case c == nil:
		return metav1.ConditionUnknown, "", "the controller hasn't processed it yet"
	case s.Status.ObservedGeneration != s.Generation:
		return metav1.ConditionUnknown, "", "its spec has changed; the controller hasn't processed it since"
	case s.overdue() > 0:
		return metav1.ConditionUnknown, "", fmt.Sprintf("the manager was to ask the repository again %s ago, and "+
			"hasn't: is it running? See: evenkeel doctor. It said last: %s", duration.HumanDuration(s.overdue()),
			c.Message)
	default:
		return c.Status, c.Reason, c.Message
	}
}

// Outdated says that the conditions of the source are no more what Ready gives: the manager doesn't look after it.
func (s Source) Outdated() bool {
	ready, _, _ := s.Ready()
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	return c != nil && c.Status != ready
}

// overdue is since when the repository should have been asked again; zero when that is in order.
func (s Source) overdue() time.Duration {
	if s.Now.IsZero() {
		return 0
	}
	return s.Overdue(s.Now)
}

// SourceColumns head the rows of sources in a table.
func SourceColumns() []string {
	return []string{"NAME", "READY", "REVISION", "POLICIES", "AGE", "STATUS"}
}

// Row is the source in a table.
func (s Source) Row() []string {
	ready, _, message := s.Ready()
	return []string{s.Name, string(ready), shortRevision(s.Status.Revision), fmt.Sprint(s.Status.Policies),
		s.ago(&s.CreationTimestamp), oneLine(message)}
}

// Lines show the source whole.
func (s Source) Lines() []string {
	ready, reason, message := s.Ready()
	state := string(ready)
	if reason != "" {
		state += " (" + reason + ")"
	}
	lines := []string{
		fmt.Sprintf("PolicySource %s/%s", s.Namespace, s.Name),
		"  Repository  " + s.Spec.URL + ", " + followed(s.Spec.Ref) + inPath(s.Spec.Path),
		"  Ready       " + state + ": " + oneLine(message),
		fmt.Sprintf("  In force    %s, %d %s, applied %s", orDash(s.Status.Revision), s.Status.Policies,
			prose.Plural(int(s.Status.Policies), "policy"), s.since(s.Status.LastAppliedTime)),
		fmt.Sprintf("  Answered    %s; %s", s.since(s.Status.LastFetchedTime), s.next()),
	}
	if s.Status.AttemptedRevision != "" && s.Status.AttemptedRevision != s.Status.Revision {
		lines = append(lines, "  Newest      "+s.Status.AttemptedRevision)
	}
	if s.Status.ProblemCount > 0 {
		lines = append(lines, fmt.Sprintf("  Problems    %d", s.Status.ProblemCount))
	}
	for _, p := range s.Status.Problems {
		lines = append(lines, "    "+Place(p)+": "+oneLine(p.Message))
	}
	if more := int(s.Status.ProblemCount) - len(s.Status.Problems); more > 0 {
		lines = append(lines, fmt.Sprintf("    and %d more", more))
	}
	return lines
}

// Place is where a problem is, as compilers print it: file:line.
func Place(p v1alpha1.SourceProblem) string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return p.File
}

func followed(ref *v1alpha1.SourceReference) string {
	switch {
	case ref == nil:
		return "its default branch"
	case ref.Branch != "":
		return "branch " + ref.Branch
	case ref.Tag != "":
		return "tag " + ref.Tag
	case ref.Semver != "":
		return "the highest tag within " + ref.Semver
	case ref.Commit != "":
		return "commit " + ref.Commit
	default:
		return "its default branch"
	}
}

func inPath(path string) string {
	if path == "" || path == "." {
		return ""
	}
	return ", directory " + path
}

// shortRevision shortens the commit of a revision to twelve digits.
func shortRevision(revision string) string {
	name, hash, found := strings.Cut(revision, ":")
	if !found {
		return orDash(revision)
	}
	return name + ":" + hash[:min(len(hash), 12)]
}

func (s Source) ago(at *metav1.Time) string { return duration.HumanDuration(s.Now.Sub(at.Time)) }

func (s Source) since(at *metav1.Time) string {
	if at == nil {
		return "never"
	}
	return s.ago(at) + " ago"
}

// next is when the repository is asked again.
func (s Source) next() string {
	at := s.Status.NextAttemptTime
	switch {
	case at == nil:
		return "asked again not before something changes"
	case s.overdue() > 0:
		return "was to be asked again " + s.since(at)
	case at.Before(&metav1.Time{Time: s.Now}):
		return "should have been asked " + s.since(at)
	default:
		return "asked again in " + duration.HumanDuration(at.Sub(s.Now))
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
