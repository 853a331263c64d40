// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/budget"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// holds tells what would keep the plan's first write from beginning now, in the
// order in which the rollout asks.
func (p *Previewer) holds(ctx context.Context, out *preview.Plan, rem *v1alpha1.Remediation,
	targets []v1alpha1.ObjectReference, further []permissions.Need) error {
	switch rem.Spec.Plan.Rollout.Mode {
	case v1alpha1.RemediationManual:
		hold(out, v1alpha1.ReasonAwaitingApproval, "spec.remediation.mode is Manual: a person must approve the plan")
	case v1alpha1.RemediationDryRun:
		hold(out, "DryRun", "spec.remediation.mode is DryRun: every fix is tried on the server, and nothing is written")
	case v1alpha1.RemediationDisabled, v1alpha1.RemediationAutomatic:
	}
	for _, shut := range []rollout.Gate{rollout.OutsideWindows(rem, p.Clock.Now()), budget.Invalid(rem)} {
		if shut.Closed {
			hold(out, shut.Reason, shut.Message)
		}
	}
	p.health(ctx, out, rem, targets)
	if err := p.budget(ctx, out, rem); err != nil {
		return err
	}
	if err := p.permissions(ctx, out, rem, targets, further); err != nil {
		return err
	}
	return p.breakers(ctx, out, rem, targets)
}

// health tells that nobody can tell the health of some targets, or whose word stands
// for it.
func (p *Previewer) health(ctx context.Context, out *preview.Plan, rem *v1alpha1.Remediation,
	objects []v1alpha1.ObjectReference) {
	t := &targets.Client{Reader: p.Reader, Mapper: p.Mapper, Clock: p.Clock}
	r, snapshot := rem.Spec.Plan.Rollout, p.Policies.Snapshot()
	if shut := fix.UnknownHealth(ctx, t, r, out.Policy, snapshot, objects); shut.Closed {
		hold(out, shut.Reason, shut.Message)
		return
	}
	if covered := healthcheck.Covered(r); covered != "" {
		r.Metrics, r.UnknownHealth = nil, ""
		if fix.UnknownHealth(ctx, t, r, out.Policy, snapshot, objects).Closed {
			out.Notes = append(out.Notes, "the health of some targets can't be determined: "+covered)
		}
	}
}

// budget tells how much room other plans at work leave, when that is less than the
// first wave needs.
func (p *Previewer) budget(ctx context.Context, out *preview.Plan, rem *v1alpha1.Remediation) error {
	budgets := budget.New(budget.Options{Reader: p.Reader, Records: record.NewCache(p.Reader), Floors: p.Floors})
	atWork, err := budgets.AtWork(ctx, rem, &record.Records{}, &p.Floors)
	if notInstalled(err) {
		return nil
	}
	if err != nil {
		return err
	}
	atWork = append(atWork, canary.PlanAtWork{Name: rem.Name, MaxInFlight: rem.Spec.Plan.Rollout.MaxTotalInFlight,
		MaxPerNamespace: rem.Spec.Plan.Rollout.MaxPerNamespace})
	if left := canary.RoomFor(atWork).Left(); left != math.MaxInt && left < 1 {
		hold(out, v1alpha1.ReasonBudgetSpent, "the budgets of the plans in progress leave no room for a target now")
	}
	return nil
}

func (p *Previewer) permissions(ctx context.Context, out *preview.Plan, rem *v1alpha1.Remediation,
	targets []v1alpha1.ObjectReference, further []permissions.Need) error {
	if p.Permissions == nil {
		return nil
	}
	finder := &permissions.Finder{Asker: p.Permissions, Mapper: p.Mapper}
	missing, err := finder.Missing(
		ctx, append(permissions.OnTargets(targets, rem.Spec.Plan.Rollout.AllowedActions), further...))
	if apierrors.IsForbidden(err) {
		out.Notes = append(out.Notes, "which permissions the controller lacks isn't known: you may not create "+
			"subjectaccessreviews.authorization.k8s.io; ask for that permission")
		return nil
	}
	if err != nil {
		return err
	}
	out.MissingPermissions = missing
	if len(missing) > 0 {
		hold(out, v1alpha1.ReasonMissingPermissions, "the controller lacks permissions to the targets")
	}
	return nil
}

// breakers tells of those that let nothing through, by what they have recorded.
func (p *Previewer) breakers(ctx context.Context, out *preview.Plan, rem *v1alpha1.Remediation,
	targets []v1alpha1.ObjectReference) error {
	known := &v1alpha1.RemediationBreakerList{}
	if err := p.Reader.List(ctx, known); notInstalled(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("list circuit breakers: %w", err)
	}
	slices.SortFunc(known.Items, func(a, b v1alpha1.RemediationBreaker) int { return cmp.Compare(a.Name, b.Name) })
	inNamespace := map[string]int{}
	for _, t := range targets {
		inNamespace[t.Namespace]++
	}
	for i := range known.Items {
		cb := &known.Items[i]
		only := ""
		switch scope := cb.Spec.Scope; scope.Type {
		case v1alpha1.BreakerScopePolicy:
			if scope.Policy != out.Policy {
				continue
			}
		case v1alpha1.BreakerScopeNamespace:
			only = scope.Namespace
		case v1alpha1.BreakerScopeGlobal:
		}
		if gate, within := breaker.Previewed(p.Policies, cb, rem, p.Clock.Now()); gate.Closed {
			holdIn(out, gate, cmp.Or(within, only), inNamespace)
		}
	}
	return nil
}

// holdIn tells of a breaker that lets nothing through, or nothing in one namespace.
func holdIn(out *preview.Plan, gate rollout.Gate, only string, inNamespace map[string]int) {
	switch {
	case only == "":
		hold(out, gate.Reason, gate.Message)
	case inNamespace[only] > 0:
		hold(out, gate.Reason, fmt.Sprintf("%s in namespace %s: %s",
			prose.Count(inNamespace[only], "target"), only, gate.Message))
	}
}
