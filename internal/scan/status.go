// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/template"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

const (
	// sampleSize bounds status.scan.sample.
	sampleSize = 5
	// maxIncomplete bounds status.scan.incomplete.
	maxIncomplete = 32
)

// applyStatus sets the parts of a policy's status that the scan owns. summary is
// nil while no revision of the policy is scanned. It never touches
// status.remediation, which belongs to the rollout.
func applyStatus(p *v1alpha1.ClusterRegoPolicy, c catalog.Status, summary *index.Summary, now metav1.Time) {
	s := &p.Status
	conditions := conditionsOf(c, summary)
	if c.Err == nil && pending(summary) && scannedBefore(p, c.Revision) {
		conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c metav1.Condition) bool {
			return slices.Contains([]string{v1alpha1.ConditionOverridden, v1alpha1.ConditionReferencesKnown},
				c.Type) // they are of now
		})
	}
	s.Revision, s.InForce = c.Revision, c.InForce
	s.Scan = nil
	if summary != nil {
		s.Scan = scanStatus(summary)
	}
	if c.Override != nil {
		conditions = append(conditions,
			kube.ConditionTrue(v1alpha1.ConditionOverridden, v1alpha1.ReasonPolicyOverridden, c.Override.String()))
	}
	known := referencesKnown(p, c)
	ready := meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady)
	if i := slices.IndexFunc(known, isFalse); ready && i >= 0 {
		conditions = slices.DeleteFunc(conditions, func(c metav1.Condition) bool {
			return c.Type == v1alpha1.ConditionReady
		})
		// The rule can't be evaluated. The objects are listed again and again.
		conditions = append(conditions, kube.Underway(v1alpha1.ReasonReferencesUnknown, known[i].Message)...)
	}
	conditions = append(conditions, known...)
	kube.SetConditions(p, now.Time, conditions...)
}

func isFalse(c metav1.Condition) bool { return c.Status == metav1.ConditionFalse }

func scanStatus(s *index.Summary) *v1alpha1.ScanStatus {
	out := &v1alpha1.ScanStatus{
		State:      s.State,
		Scanned:    toInt32(s.Scanned),
		Violating:  toInt32(s.Violating),
		Violations: toInt32(s.Violations),
		Waived:     toInt32(s.Waived),
		Errors:     toInt32(s.Errors),
		Incomplete: s.Incomplete[:min(maxIncomplete, len(s.Incomplete))],
	}
	if !s.LastFullScan.IsZero() {
		// The API keeps whole seconds.
		at := metav1.NewTime(s.LastFullScan).Rfc3339Copy()
		out.LastFullScanTime = &at
	}
	for _, f := range s.Sample {
		out.Sample = append(out.Sample, sampleOf(f))
	}
	return out
}

func sampleOf(f policy.Finding) v1alpha1.ViolationSample {
	return v1alpha1.ViolationSample{
		Object: v1alpha1.ObjectReference{
			APIVersion: f.APIVersion, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name, UID: f.UID,
		},
		Message: f.Message, Violations: toInt32(f.Violations), Fixable: f.Fixable,
	}
}

func conditionsOf(c catalog.Status, s *index.Summary) []metav1.Condition {
	switch {
	case c.Err != nil:
		return brokenConditions(c)
	case c.Ahead != nil:
		return scanning(aheadMessage(c))
	case pending(s):
		return scanning(fmt.Sprintf("revision %s is in force for admission; the first pass over what exists isn't "+
			"finished", c.Revision))
	case s.State == v1alpha1.ScanIncomplete:
		return kube.Underway(v1alpha1.ReasonScanIncomplete, incompleteMessage(s)) // it is listed again and again
	case c.Unresolved != nil && c.Unresolved.Reason == v1alpha1.ReasonStrategyNotFound:
		return kube.Underway(c.Unresolved.Reason, unresolvedMessage(c, s)) // it may be applied in any order
	case c.Unresolved != nil:
		return kube.Stalled(c.Unresolved.Reason, unresolvedMessage(c, s))
	default:
		return kube.Ready(v1alpha1.ReasonCompiled, completeMessage(s))
	}
}

// brokenConditions are those of a policy whose newest definition isn't in force, and why.
func brokenConditions(c catalog.Status) []metav1.Condition {
	switch {
	case errors.Is(c.Err, catalog.ErrMalformed):
		return kube.Stalled(v1alpha1.ReasonInvalid, malformedMessage(c))
	case errors.Is(c.Err, template.ErrNotFound):
		// it may be on its way
		return kube.Underway(v1alpha1.ReasonTemplateNotFound, notInForce(c, "make it, or correct spec.templateRef"))
	case errors.Is(c.Err, template.ErrFailed):
		return kube.Stalled(v1alpha1.ReasonTemplateFailed, notInForce(c, "correct the template"))
	case errors.As(c.Err, new(*template.ParametersError)):
		return kube.Stalled(v1alpha1.ReasonParametersInvalid, notInForce(c, "correct spec.parameters"))
	default:
		return kube.Stalled(v1alpha1.ReasonCompileFailed, notInForce(c, "correct spec.rego"))
	}
}

// scanning are the conditions until the first pass has ended: whether some kind can't be listed shows then.
func scanning(message string) []metav1.Condition {
	unknown := kube.Underway(v1alpha1.ReasonScanning, message)
	unknown[0].Status = metav1.ConditionUnknown
	return unknown
}

func pending(s *index.Summary) bool { return s == nil || s.State == v1alpha1.ScanPending }

// scannedBefore says whether the policy as it is has been scanned already, by a manager
// before this one say: what that has found stands until it is found anew, so that no
// condition changes for a restart.
func scannedBefore(p *v1alpha1.ClusterRegoPolicy, revision string) bool {
	ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && p.Status.ObservedGeneration == p.Generation && p.Status.Revision == revision &&
		slices.Contains([]string{v1alpha1.ReasonCompiled, v1alpha1.ReasonScanIncomplete,
			v1alpha1.ReasonReferencesUnknown, v1alpha1.ReasonStrategyNotFound,
			v1alpha1.ReasonStrategyInvalid}, ready.Reason)
}

func malformedMessage(c catalog.Status) string {
	if c.Revision == "" {
		return fmt.Sprintf("%v; no revision is in force: apply the policy again", c.Err)
	}
	return fmt.Sprintf("%v; the last good revision %s stays in force: apply the policy again", c.Err, c.Revision)
}

// notInForce says why the newest definition isn't in force, what is, and what to do.
func notInForce(c catalog.Status, do string) string {
	if c.Revision == "" {
		return fmt.Sprintf("%v; no revision was ever good, so failurePolicy decides on what the policy matches: %s",
			c.Err, do)
	}
	return fmt.Sprintf("%v; the last good revision %s stays in force: %s", c.Err, c.Revision, do)
}

// aheadMessage says what the newest definition waits for.
func aheadMessage(c catalog.Status) string {
	message := fmt.Sprintf("revision %s stays in force until the objects are listed that the newest one looks up, "+
		"for a minute at most", c.Revision)
	for _, u := range c.Ahead.Awaits {
		message += "; being listed: " + u.Reference.String()
	}
	return message
}

// unresolvedMessage says first what doesn't hold: the policy gates and scans all the same.
func unresolvedMessage(c catalog.Status, s *index.Summary) string {
	return c.Unresolved.Message + "; " + completeMessage(s)
}

func incompleteMessage(s *index.Summary) string {
	message := "the figures are a lower bound"
	for _, k := range s.Incomplete {
		message += "; " + k.Message
	}
	return message
}

func completeMessage(s *index.Summary) string {
	message := fmt.Sprintf("revision %s is in force; %s it", s.Revision, share(s.Violating, s.Scanned))
	if s.Waived > 0 {
		message += fmt.Sprintf("; %d more %s waived", s.Waived, prose.Verb(s.Waived, "is", "are"))
	}
	if s.Errors > 0 {
		message += fmt.Sprintf("; %d couldn't be judged, the first is %s", s.Errors, s.FirstError)
	}
	return message
}

func toInt32(n int) int32 { return int32(min(n, math.MaxInt32)) }
