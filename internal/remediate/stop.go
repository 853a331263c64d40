// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate/planning"
)

// strategyStops says why a plan may begin no further target because of what is said of
// its strategy by now, or "".
func strategyStops(rem *v1alpha1.Remediation, snapshot *catalog.Snapshot) (
	reason, message string) {
	if reason, message = strategyGone(rem, snapshot); message != "" {
		return reason, message
	}
	if healthSaid(rem, snapshot) {
		return v1alpha1.ReasonPolicyChanged,
			fmt.Sprintf("policy %s now defines how the health of its targets is determined; a new plan follows",
				rem.Spec.Plan.Policy.Name)
	}
	return "", ""
}

// strategyGone says why a plan may begin no further target for want of a strategy, or "":
// the policy refers to one that isn't known, or the one that the plan was made by is gone,
// also where another has got its name since. An edit changes nothing of a plan.
func strategyGone(rem *v1alpha1.Remediation, snapshot *catalog.Snapshot) (reason, message string) {
	if problem := snapshot.Unresolved(rem.Spec.Plan.Policy.Name); problem != nil {
		return problem.Reason, fmt.Sprintf("policy %s: %s", rem.Spec.Plan.Policy.Name, problem.Message)
	}
	by := rem.Spec.Plan.StrategyRef
	if by == nil {
		return "", ""
	}
	if is := snapshot.Strategy(by.Name); is == nil || string(is.UID) != by.UID {
		return v1alpha1.ReasonStrategyNotFound,
			fmt.Sprintf("RemediationStrategy %s, by which the plan was made, was deleted", by.Name)
	}
	return "", ""
}

// healthSaid says whether a plan that is held because nobody can tell its targets'
// health has a policy that has said since how it is told. Its own strategy is frozen.
func healthSaid(rem *v1alpha1.Remediation, snapshot *catalog.Snapshot) bool {
	if !rem.Status.Phase.Facts().Holds || rem.Status.Reason != v1alpha1.ReasonHealthUnknown {
		return false
	}
	now := canary.Rollout(v1alpha1.PolicyRemediation{}, snapshot.Follows(rem.Spec.Plan.Policy.Name), 0)
	was := &rem.Spec.Plan.Rollout
	return now.UnknownHealth != was.UnknownHealth ||
		!equality.Semantic.DeepEqual(now.HealthRules, was.HealthRules) ||
		!equality.Semantic.DeepEqual(now.Metrics, was.Metrics)
}

// abort says that a person wants the plan undone and ended, or "".
func abort(rem *v1alpha1.Remediation) string {
	by, why := "a person", ""
	if asked := rem.AskedBy(); asked != nil {
		by = asked.User
		if asked.Reason != "" {
			why = ": " + asked.Reason
		}
	}
	switch rem.Spec.DesiredState {
	case v1alpha1.StateUndone:
		return by + " has all of the plan undone (spec.desiredState: Undone)" + why
	case v1alpha1.StateAborted:
		return by + " has ended the rollout (spec.desiredState: Aborted)" + why
	case v1alpha1.StateRunning, v1alpha1.StatePaused:
	}
	return ""
}

// stop says why a plan may begin no further target, or "". demoted is the policy's
// demotion, or nil.
func stop(rem *v1alpha1.Remediation, snapshot *catalog.Snapshot, demoted *v1alpha1.BreakerDemotion,
	floors *limits.Floors) (reason, message string) {
	if rem.DeletionTimestamp != nil {
		return v1alpha1.ReasonPolicyChanged,
			"the Remediation is being deleted; writes in flight are verified or undone first"
	}
	current := snapshot.Definition(rem.Spec.Plan.Policy.Name)
	revision, _ := snapshot.Revision(rem.Spec.Plan.Policy.Name)
	switch {
	case current == nil || string(current.UID) != rem.Spec.Plan.Policy.UID:
		return v1alpha1.ReasonPolicyChanged, fmt.Sprintf("policy %s was deleted", rem.Spec.Plan.Policy.Name)
	case revision != rem.Spec.Plan.Policy.Revision:
		return v1alpha1.ReasonPolicyChanged,
			fmt.Sprintf("policy %s changed from revision %s to %s; a new plan follows", rem.Spec.Plan.Policy.Name,
				rem.Spec.Plan.Policy.Revision, revision)
	}
	if reason, message = strategyStops(rem, snapshot); message != "" {
		return reason, message
	}
	asked := current.Spec.Remediation.Mode
	allowed := floors.Mode(asked)
	mode := allowed
	if demoted != nil && mode.Runs() {
		mode = v1alpha1.RemediationDryRun
	}
	switch {
	case mode == rem.Spec.Plan.Rollout.Mode:
		return "", ""
	case mode != allowed:
		return v1alpha1.ReasonDemoted, demoted.Message
	case mode != asked:
		return v1alpha1.ReasonPolicyChanged, planning.LimitedMode(rem.Spec.Plan.Policy.Name, asked, allowed)
	default:
		return v1alpha1.ReasonPolicyChanged,
			fmt.Sprintf("policy %s changed spec.remediation.mode from %s to %s", rem.Spec.Plan.Policy.Name,
				rem.Spec.Plan.Rollout.Mode, mode)
	}
}

// stopped says why a plan may begin no further target, or "". It asks the catalog,
// and the policy itself for its mode: the catalog keeps the last good revision of a
// policy that doesn't compile, but whoever turns its remediation off must be heard.
func (c *Controller) stopped(ctx context.Context, rem *v1alpha1.Remediation, snapshot *catalog.Snapshot,
	demoted *v1alpha1.BreakerDemotion) (reason, message string, err error) {
	if reason, message = stop(rem, snapshot, demoted, &c.floors); message != "" {
		return reason, message, nil
	}
	live := &v1alpha1.ClusterRegoPolicy{}
	if err := c.reader.Get(ctx, client.ObjectKey{Name: rem.Spec.Plan.Policy.Name}, live); err != nil {
		return "", "", client.IgnoreNotFound(err) // the catalog hears of that soon
	}
	live.SetDefaults()
	was, is := snapshot.Definition(rem.Spec.Plan.Policy.Name).Spec.Remediation.Mode, live.Spec.Remediation.Mode
	if string(live.UID) == rem.Spec.Plan.Policy.UID && c.floors.Mode(is) != c.floors.Mode(was) {
		return v1alpha1.ReasonPolicyChanged,
			fmt.Sprintf("policy %s changed spec.remediation.mode from %s to %s", live.Name, was, is), nil
	}
	return "", "", nil
}
