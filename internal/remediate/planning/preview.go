// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/history"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Previewer says what a policy's remediation would do now. It drafts plans as the
// planner does and computes fixes as the protocol before a write does, but it only
// reads: no dry run is sent to the server, so that what admission would say of a
// fix isn't known.
type Previewer struct {
	// Reader reads past every cache.
	Reader client.Reader
	Mapper meta.RESTMapper
	// Policies are all that are in force, the one previewed among them.
	Policies breaker.Policies
	Clock    clock.PassiveClock
	// Tools finds the tools that manage objects, as the controller's flags say.
	Tools kube.Tools
	// Reach is what the manager's flags let fixes write.
	Reach limits.Reach
	// Floors is how careful the manager's flags ask every strategy to be.
	Floors limits.Floors
	// Permissions asks what the controller may do; nil leaves that out.
	Permissions permissions.Asker
	// Diffs is how many targets' fixes are computed; negative means all.
	Diffs int
	// Progress is told how many fixes have been computed, of how many; nil for
	// nobody.
	Progress func(done, all int)
}

// Preview drafts the plan that the controller would make of the findings. A policy
// whose mode is Disabled is previewed as if it were Automatic.
func (p *Previewer) Preview(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy, found []policy.Finding) (
	*preview.Plan, error) {
	snapshot := p.Policies.Snapshot()
	pol = cmp.Or(snapshot.Definition(pol.Name), pol)
	s, mode := snapshot.Follows(pol.Name).DeepCopy(), pol.Spec.Remediation.Mode
	revision, _ := snapshot.Revision(pol.Name)
	out := &preview.Plan{Policy: pol.Name, Revision: revision, Mode: mode, Waves: []preview.Wave{}}
	if problems := canary.ValidatePolicy(&pol.Spec.Remediation); len(problems) > 0 {
		return nil, fmt.Errorf("policy %s: spec.remediation.%s", pol.Name, problems[0])
	}
	if problem := snapshot.Unresolved(pol.Name); problem != nil {
		hold(out, problem.Reason, problem.Message)
		p.unfixable(out, found)
		return out, nil
	}
	if mode == v1alpha1.RemediationDisabled {
		mode = v1alpha1.RemediationAutomatic
		hold(out, "ModeDisabled", "spec.remediation.mode is Disabled: nothing is planned until it is Automatic, "+
			"Manual or DryRun; the waves are those of Automatic")
	}
	drafts := &drafter{reader: p.Reader, policies: p.Policies, clock: p.Clock, mapper: p.Mapper, tools: p.Tools,
		reach: p.Reach, floors: p.Floors}
	plans, err := drafts.plansOf(ctx, pol.Name)
	if err != nil && !notInstalled(err) {
		return nil, err
	}
	d := newDraft(pol, sharedStrategy(snapshot, pol), *s)
	d.rollout.Mode, d.revision, d.plans = mode, revision, plans
	d.search = search{reads: previewCanaryReads, once: true}
	p.inTheWay(out, &d, found)
	outcome, refused, err := drafts.compose(ctx, &d, found)
	if err != nil {
		return nil, err
	}
	if refused != "" {
		hold(out, v1alpha1.ReasonNoViableCanary, refused)
	}
	out.Waiting = d.waiting
	p.unfixable(out, found)
	if outcome == draftEmpty || outcome == draftWithoutCanary {
		for _, c := range slices.Concat(d.eligible, d.ineligible) {
			out.Skipped = append(out.Skipped, alone(c))
		}
		return out, nil
	}
	return out, p.fill(ctx, out, &d)
}

// inTheWay tells of an earlier plan that keeps another one from being made.
func (p *Previewer) inTheWay(out *preview.Plan, d *draft, found []policy.Finding) {
	if len(d.plans) == 0 {
		return
	}
	for i := range d.plans {
		if rem := &d.plans[i]; !rem.Rests() {
			hold(out, "PlanAtWork", fmt.Sprintf("plan %s is %s: no other is made before its end", rem.Name,
				rem.Phase()))
			return
		}
	}
	stand := history.StandingOf(d.policy, d.plans, d.revision, p.Clock.Now())
	if why := history.Blocked(d.policy, d.plans, d.revision, stand, found); why != "" {
		hold(out, "Blocked", why)
	}
}

// unfixable tells of the findings that the policy offers no fix for.
func (p *Previewer) unfixable(out *preview.Plan, found []policy.Finding) {
	for _, f := range found {
		if !f.Fixable {
			out.Skipped = append(out.Skipped, preview.Target{Reason: v1alpha1.ReasonNoFix, Message: f.Message,
				Object: v1alpha1.ObjectReference{APIVersion: f.APIVersion, Kind: f.Kind, Namespace: f.Namespace,
					Name: f.Name, UID: f.UID}})
		}
	}
}

func alone(c candidate) preview.Target {
	reason := c.reason
	if reason == "" {
		reason = v1alpha1.ReasonNoViableCanary
	}
	return preview.Target{Object: c.object, Reason: reason, Message: c.message}
}

// fill tells a plan's targets, wave by wave, and what would hold it.
func (p *Previewer) fill(ctx context.Context, out *preview.Plan, d *draft) error {
	rem, parts, err := d.build()
	if err != nil {
		return err
	}
	for _, limit := range rem.Spec.Plan.Limits {
		out.Notes = append(out.Notes, limit.String())
	}
	if d.policy.UID != "" {
		out.Remediation = rem.Name
	}
	out.Later = len(d.eligible) - d.size()
	waves := make([]preview.Wave, len(rem.Spec.Plan.Waves))
	for i := range waves {
		at := canary.StageOf(rem.Spec.Plan, int32(i))
		waves[i] = preview.Wave{Stage: at.Name, Canary: at.First == int32(i), Targets: []preview.Target{}}
	}
	f := p.newForecast(rem, len(d.eligible))
	written := f.run(ctx, out, d, parts, waves)
	out.Waves = slices.DeleteFunc(waves, func(w preview.Wave) bool { return len(w.Targets) == 0 })
	if len(written) == 0 {
		return nil
	}
	if left := len(written) - f.seen; left > 0 && p.Diffs >= 0 {
		out.Notes = append(out.Notes,
			fmt.Sprintf("fixes were computed for %d of %s; --diff computes all", f.seen,
				prose.Count(len(written), "target")))
	}
	out.LeastDuration = leastDuration(rem).String()
	return p.holds(ctx, out, rem, written, f.needs)
}

// run adds what would become of every target of a plan, and returns those that would be written.
func (f *forecast) run(ctx context.Context, out *preview.Plan, d *draft, parts []*v1alpha1.RemediationSlice,
	waves []preview.Wave) []v1alpha1.ObjectReference {
	var written []v1alpha1.ObjectReference
	inPlan := map[string]bool{}
	for _, slice := range parts {
		for _, t := range slice.Targets {
			inPlan[t.Object.UID] = true
			target := f.target(ctx, t)
			if t.SkipReason != "" {
				out.Skipped = append(out.Skipped, target)
				continue
			}
			written = append(written, t.Object)
			waves[t.Wave].Targets = append(waves[t.Wave].Targets, target)
		}
	}
	for _, c := range d.ineligible {
		if !inPlan[c.object.UID] {
			out.Skipped = append(out.Skipped, alone(c))
		}
	}
	return written
}

// leastDuration is how long the waves of a plan soak, and their metrics are asked,
// at the least. What verification, windows and people take isn't in it.
func leastDuration(rem *v1alpha1.Remediation) time.Duration {
	total := time.Duration(0)
	for wave := range rem.Spec.Plan.Waves {
		o := rollout.Observation{Spec: rem.Spec, Status: v1alpha1.RemediationStatus{Wave: int32(wave)}}
		least := o.Soak()
		for _, m := range rem.Spec.Plan.Rollout.Metrics {
			least = max(least, time.Duration(max(m.Samples-1, 0))*m.Interval.Duration)
		}
		total += least
	}
	return total
}

// forecast computes the fixes of a plan's first targets without any write.
type forecast struct {
	attempt fix.Attempt
	left    int
	seen    int
	all     int
	needs   []permissions.Need
	tell    func(done, all int)
}

func (p *Previewer) newForecast(rem *v1alpha1.Remediation, all int) *forecast {
	f := &forecast{left: p.Diffs, all: all, tell: p.Progress}
	if f.left < 0 {
		f.left = v1alpha1.MaxTargets
	}
	f.attempt = fix.Attempt{Plan: rem.Spec.Plan, Remediation: rem.Name, Snapshot: p.Policies.Snapshot(),
		Targets: &targets.Client{Reader: p.Reader, Mapper: p.Mapper, Clock: p.Clock, Tools: p.Tools, Reach: p.Reach,
			Owners: targets.OwnerMemo{Reader: p.Reader}}}
	return f
}

// foreseen is the part of the protocol before a write that only reads.
func foreseen() []fix.Check {
	return []fix.Check{fix.ReadFresh, fix.RespectReach, fix.RespectOptOut, fix.JudgeAgain, fix.RespectOwnership,
		fix.RespectAllowed, fix.ComputeFix,
		fix.RequireNewPods, fix.RespectFields, fix.PassEveryPolicy}
}

// target returns what would become of a target.
func (f *forecast) target(ctx context.Context, t v1alpha1.Target) preview.Target {
	out := preview.Target{Object: t.Object, Reason: t.SkipReason}
	if f.left == 0 {
		return out
	}
	f.left--
	if t.SkipReason == "" {
		f.seen++
	}
	a := f.attempt
	a.Target = t
	for _, step := range foreseen() {
		if rec := step(ctx, &a); rec != nil {
			out.Reason, out.Message, out.Diff = rec.Reason, rec.Message, rec.Proposal
			return out
		}
	}
	f.needs = append(f.needs, a.PermissionNeeds()...)
	diff, err := action.Propose(t.Object.String(), a.Object.Object, a.Patched, a.Steps, fix.MaxProposal)
	if err != nil {
		out.Reason, out.Message = v1alpha1.ReasonFixInvalid, err.Error()
	}
	out.Diff = diff
	if f.tell != nil {
		f.tell(f.seen, f.all)
	}
	return out
}

// notInstalled says that the cluster doesn't know Evenkeel's kinds.
func notInstalled(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

func hold(out *preview.Plan, reason, message string) {
	out.Holds = append(out.Holds, preview.Hold{Reason: reason, Message: message})
}
