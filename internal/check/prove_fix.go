// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
)

// maxDiff bounds the diff of one fix, in bytes.
const maxDiff = 32 << 10

// ProvenFix is what a proven fix comes to.
type ProvenFix struct {
	// Steps are the writes that the fix is made of.
	Steps []action.Step
	// Object is how the object looks after them; nil when they remove it.
	Object map[string]any
	// Before and After are the verdicts of all policies on both; none when the object is removed.
	Before, After []catalog.Result
}

// ProveFix applies what a policy proposes for a subject to a copy, and proves it as a
// rollout does before it writes: the object must change or another be made, the policy must find
// nothing afterwards, also where it looks up what was made, and no policy that is enforced may find what it didn't find
// before. The error says what doesn't hold.
func ProveFix(ctx context.Context, snapshot *catalog.Snapshot, subject *Subject, name string, actions []policy.Action,
	now time.Time) (ProvenFix, error) {
	steps, after, err := action.Steps(subject.Object, actions, now)
	if err != nil {
		return ProvenFix{}, fmt.Errorf("the fix can't be applied: %w", err)
	}
	resolved := ProvenFix{Steps: steps, Object: after}
	if after == nil {
		return resolved, nil // what is gone violates nothing
	}
	made := action.Made(subject.Object, steps)
	if len(made) == 0 && len(action.Diff(subject.Object, after)) == 0 {
		return ProvenFix{}, errors.New("the fix leaves the object as it is")
	}
	given, fixed := subject.Request(now), subject.requestOf(after, now)
	fixed.Beside = slices.Concat(subject.Beside, made, subject.LookedUp(after))
	resolved.Before, resolved.After = snapshot.Evaluate(ctx, given), snapshot.Evaluate(ctx, fixed)
	return resolved, proves(name, resolved.Before, resolved.After)
}

// ProveHarmless is ProveFix for what is left in a file: what harms finds is an error too.
func ProveHarmless(ctx context.Context, snapshot *catalog.Snapshot, subject *Subject, name string,
	actions []policy.Action, now time.Time) (ProvenFix, error) {
	resolved, err := ProveFix(ctx, snapshot, subject, name, actions, now)
	if err != nil || resolved.Object == nil {
		return resolved, err
	}
	if harm := harms(name, resolved.Before, resolved.After); harm != "" {
		return resolved, errors.New(harm)
	}
	return resolved, nil
}

// proves compares the verdicts of all policies before and after a fix.
func proves(name string, verdictsBefore, verdictsAfter []catalog.Result) error {
	before := map[string][]policy.Violation{}
	for i := range verdictsBefore {
		before[verdictsBefore[i].Policy] = verdictsBefore[i].Violations
	}
	for i := range verdictsAfter {
		r := &verdictsAfter[i]
		resolves := r.Policy == name
		switch {
		case !resolves && r.Definition.Spec.Admission.Action == v1alpha1.AdmissionAudit:
		case r.Err != nil:
			return fmt.Errorf("policy %s can't judge the fixed object: %w", r.Policy, r.Err)
		case resolves && len(r.Violations) > 0:
			return fmt.Errorf("the fixed object still violates: %s", r.Violations[0].Message)
		default:
			if added := policy.NewSince(before[r.Policy], r.Enforced()); len(added) > 0 {
				return fmt.Errorf("the fixed object would violate policy %s: %s", r.Policy, added[0].Message)
			}
		}
	}
	return nil
}

// harms says what any policy finds that it didn't find before, the milder ones
// included, or that the policy looks away instead of being content: what fix leaves in a
// file. It is empty for a fix that does no harm.
func harms(resolved string, before, after []catalog.Result) string {
	known := map[string][]policy.Violation{}
	for i := range before {
		known[before[i].Policy] = before[i].Violations
	}
	matched := false
	for i := range after {
		v := &after[i]
		matched = matched || v.Policy == resolved
		if v.Err != nil {
			return fmt.Sprintf("policy %s can't judge the fixed object: %v", v.Policy, v.Err)
		}
		if added := policy.NewSince(known[v.Policy], v.Enforced()); len(added) > 0 {
			return fmt.Sprintf("the fixed object would violate policy %s: %s", v.Policy, added[0].Message)
		}
	}
	if !matched {
		return "its fix makes the policy leave the object out: that is no fix"
	}
	return ""
}

// Unoffered says why a policy has no fix that may be made: it proposes none, or one that it doesn't allow. It is empty
// where there is one.
func Unoffered(p *v1alpha1.ClusterRegoPolicy, actions []policy.Action) string {
	if len(actions) == 0 {
		return "the policy offers no fix for it"
	}
	strategy := p.Spec.Remediation.DeepCopy()
	strategy.SetDefaults()
	if verb, add, forbidden := action.Forbidden(strategy.AllowedActions, actions); forbidden {
		return fmt.Sprintf("its fix uses %q, which the policy's allowedActions leave out: add %s to them", verb, add)
	}
	return ""
}

// fix finds the fix of a result, if its actions are proven to work, else why there is none.
func (w *worker) fix(ctx context.Context, r *Result) {
	switch {
	case r.Waived != nil || len(r.Violations) == 0:
		return
	case len(r.Actions) == 0 && r.Err != nil:
		return // the error is told
	}
	if r.NoFix = Unoffered(r.Policy, r.Actions); r.NoFix != "" {
		return
	}
	resolved, err := ProveHarmless(ctx, w.opts.Among, &r.Subject, r.Policy.Name, r.Actions, w.opts.Now)
	if err == nil {
		r.Fix, err = action.Propose(r.Title(), r.Object, resolved.Object, resolved.Steps, maxDiff)
	}
	if err != nil {
		r.NoFix = policy.SecretsOf(r.Object).Redact(prose.OneLine(err.Error()))
		return
	}
	if r.Document != nil { // of a live object nobody asks, and a cluster's would fill the memory
		r.Fixed = resolved.Object
	}
}
