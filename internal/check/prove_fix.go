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
}

// ProveFix applies what a policy proposes for a subject to a copy, and proves it more strictly than a rollout does
// before it writes: the object must change or another be made, the policy must find nothing afterwards, also where it
// looks up what was made, and still match the object, and no policy, audited ones included, may find what it didn't
// find before. The error says what doesn't hold.
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
	return resolved, proves(name, snapshot.Evaluate(ctx, given), snapshot.Evaluate(ctx, fixed))
}

// proves compares the verdicts of all policies before and after a fix.
func proves(name string, before, after []catalog.Result) error {
	known := map[string][]policy.Violation{}
	for i := range before {
		known[before[i].Policy] = before[i].Violations
	}
	matched := false
	for i := range after {
		r := &after[i]
		matched = matched || r.Policy == name
		switch {
		case r.Err != nil:
			return fmt.Errorf("policy %s can't judge the fixed object: %w", r.Policy, r.Err)
		case r.Policy == name && len(r.Violations) > 0:
			return fmt.Errorf("the fixed object still violates: %s", r.Violations[0].Message)
		}
		if added := policy.NewSince(known[r.Policy], r.Enforced()); len(added) > 0 {
			return fmt.Errorf("the fixed object would violate policy %s: %s", r.Policy, added[0].Message)
		}
	}
	if !matched {
		return errors.New("its fix makes the policy leave the object out: that is no fix")
	}
	return nil
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
	resolved, err := ProveFix(ctx, w.opts.Among, &r.Subject, r.Policy.Name, r.Actions, w.opts.Now)
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
