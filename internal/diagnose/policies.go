// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// staleScan is the age of a policy's full scan at which somebody should know: three
// of the manager's default intervals (--resync).
const staleScan = 30 * time.Minute

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (in *Installation) policyList(ctx context.Context) ([]v1alpha1.ClusterRegoPolicy, []Finding) {
	list := &v1alpha1.ClusterRegoPolicyList{}
	if err := in.Client.List(ctx, list); err != nil {
		return nil, []Finding{unread("policies", err)}
	}
	for i := range list.Items {
		list.Items[i].SetDefaults()
	}
	return list.Items, nil
}

func policies(ctx context.Context, in *Installation) []Finding {
	list, found := in.policyList(ctx)
	for _, p := range list {
		stalled := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled)
		ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
		switch {
		case v1alpha1.Malformed(&p) != "": // the check objects names it
		case p.Status.ObservedGeneration != p.Generation:
			found = append(found, warned("if it stays, see the check leader",
				"policy %s was changed, and the manager hasn't processed it since", p.Name))
		case stalled != nil && stalled.Status == metav1.ConditionTrue:
			found = append(found, failed("kubectl describe rego "+p.Name, "policy %s: %s: %s", p.Name, stalled.Reason,
				stalled.Message))
		case ready != nil:
			found = append(found, notInForce(&p, ready)...)
		}
		found = append(found, notLookedUp(&p)...)
	}
	return in.reported(ctx, found, len(list), "%s in force", prose.Are(len(list), "policy"))
}

// notLookedUp tells which kinds a policy refers to that its rules can't look up.
func notLookedUp(p *v1alpha1.ClusterRegoPolicy) []Finding {
	known := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReferencesKnown)
	if known == nil || known.Status == metav1.ConditionTrue {
		return nil
	}
	return []Finding{failed("kubectl describe rego "+p.Name, "policy %s: %s: %s", p.Name, known.Reason,
		known.Message)}
}

// notInForce tells what a policy waits for, if it isn't in force as it is written.
func notInForce(p *v1alpha1.ClusterRegoPolicy, ready *metav1.Condition) []Finding {
	switch ready.Reason {
	case v1alpha1.ReasonTemplateNotFound:
		return []Finding{failed("kubectl get regotemplates", "policy %s: %s: %s", p.Name, ready.Reason, ready.Message)}
	case v1alpha1.ReasonStrategyNotFound:
		return []Finding{failed("kubectl get remediationstrategies", "policy %s: %s: %s", p.Name, ready.Reason,
			ready.Message)}
	case v1alpha1.ReasonCompileFailed:
		return []Finding{failed("fix its Rego: evenkeel test shows why; the last good revision stays in force",
			"policy %s doesn't compile: %s", p.Name, ready.Message)}
	}
	return nil
}

// scans looks whether the figures cover everything, and are of now.
func scans(ctx context.Context, in *Installation) []Finding {
	list, found := in.policyList(ctx)
	var oldest time.Time
	for i := range list {
		found = append(found, in.scanOf(&list[i])...)
		if s := list[i].Status.Scan; s != nil && s.LastFullScanTime != nil &&
			(oldest.IsZero() || s.LastFullScanTime.Time.Before(oldest)) {
			oldest = s.LastFullScanTime.Time
		}
	}
	age := duration.HumanDuration(in.Clock.Since(oldest))
	switch {
	case oldest.IsZero():
		return orFine(found, "there is nothing to scan")
	case len(found) > 0:
		return found
	}
	scanned := "the scans of " + prose.Count(len(list), "policy") + " are complete"
	return orFine(in.outdated(ctx, scanned+", the oldest full one was "+age+" ago", "they are"),
		"%s and kept up to date; the oldest full one was %s ago", scanned, age)
}

func (in *Installation) scanOf(p *v1alpha1.ClusterRegoPolicy) (found []Finding) {
	s := p.Status.Scan
	switch {
	case s == nil:
		return []Finding{warned("if it stays, see the check leader", "policy %s hasn't been scanned yet", p.Name)}
	case s.State == v1alpha1.ScanIncomplete:
		for _, k := range s.Incomplete {
			found = append(found, failed("docs/runbooks/scan-incomplete.md",
				"policy %s: kind %s can't be listed: %s", p.Name, cmp.Or(k.Kind, "unknown"), k.Message))
		}
	case s.LastFullScanTime != nil && in.Clock.Since(s.LastFullScanTime.Time) > staleScan:
		found = append(found, warned("docs/runbooks/scan-stale.md", "policy %s was last scanned in full at %s",
			p.Name, s.LastFullScanTime.UTC().Format(time.RFC3339)))
	}
	if s.Errors > 0 {
		found = append(found, warned("docs/runbooks/admission-evaluation-errors.md",
			"policy %s couldn't judge %s", p.Name, prose.Count(s.Errors, "object")))
	}
	return found
}

func breakers(ctx context.Context, in *Installation) []Finding {
	list := &v1alpha1.RemediationBreakerList{}
	if err := in.Client.List(ctx, list); err != nil {
		return []Finding{unread("circuit breakers", err)}
	}
	var found []Finding
	for _, cb := range list.Items {
		const do = "docs/runbooks/breaker-open.md; when the cause is gone: evenkeel breaker reset "
		switch {
		case cb.Spec.ForcedOpen(in.Clock.Now()):
			found = append(found, warned("evenkeel breaker close "+cb.Name,
				"a person holds breaker %s open%s (%s): no write begins in its scope", cb.Name,
				v1alpha1.UntilText(cb.Spec.ForcedOpenUntilTime), cb.ForcedBy()))
		case cb.Status.State != "" && cb.Status.State != v1alpha1.BreakerClosed:
			found = append(found, warned(do+cb.Name+" --reason REASON", "breaker %s is %s: %s", cb.Name,
				cb.Status.State, cb.Status.Message))
		}
		if cb.Status.Demoted != nil {
			found = append(found, warned("docs/runbooks/policy-demoted.md", "policy %s is demoted to dry runs: %s",
				cb.Spec.Scope.Policy, cb.Status.Demoted.Message))
		}
	}
	return in.reported(ctx, found, len(list.Items), "%s closed", prose.Are(len(list.Items), "breaker"))
}

func rollouts(ctx context.Context, in *Installation) []Finding {
	list := &v1alpha1.RemediationList{}
	if err := in.Client.List(ctx, list); err != nil {
		return []Finding{unread("remediations", err)}
	}
	latest := map[string]*v1alpha1.Remediation{}
	for i := range list.Items {
		rem := &list.Items[i]
		if v1alpha1.Malformed(rem) != "" {
			continue // the check objects names it
		}
		if before := latest[rem.Spec.Plan.Policy.Name]; before == nil ||
			before.CreationTimestamp.Before(&rem.CreationTimestamp) {
			latest[rem.Spec.Plan.Policy.Name] = rem
		}
	}
	var found []Finding
	for _, policy := range sorted(latest) {
		if f := in.waiting(latest[policy]); f.Status != OK {
			found = append(found, f)
		}
	}
	return in.reported(ctx, found, len(latest), "no rollout of %s waits for a person",
		prose.Count(len(latest), "policy"))
}

func (in *Installation) waiting(rem *v1alpha1.Remediation) Finding {
	look := "evenkeel rollout get " + rem.Name
	stalled := meta.FindStatusCondition(rem.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled != nil && stalled.Reason == v1alpha1.ReasonSliceMissing {
		return failed("docs/runbooks/remediation-stuck.md", "remediation %s: %s: %s", rem.Name, stalled.Reason,
			stalled.Message)
	}
	switch facts := rem.Status.Phase.Facts(); {
	case facts.Incomplete:
		return failed("docs/runbooks/rollback-incomplete.md", "remediation %s: %s", rem.Name, rem.Status.Message)
	case facts.Holds:
		if rem.Status.Reason == v1alpha1.ReasonOutsideWindow || rem.Status.Reason == v1alpha1.ReasonFrozen {
			return fine("remediation %s waits for its window, or for the end of a freeze", rem.Name)
		}
		return warned(look, "remediation %s is held: %s: %s", rem.Name, rem.Status.Reason, rem.Status.Message)
	case facts.AsksPerson:
		return warned("evenkeel rollout approve "+rem.Name+", or reject", "remediation %s waits for a person to answer",
			rem.Name)
	case facts.Undoing() && stalled != nil:
		return failed("docs/runbooks/remediation-stuck.md", "the rollback of remediation %s can't go on: %s",
			rem.Name, rem.Status.Message)
	}
	return fine("remediation %s is %s", rem.Name, rem.Status.Phase)
}
