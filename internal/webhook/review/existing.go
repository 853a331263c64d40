// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// allowsExisting says that violations which the object had before the update don't count.
func allowsExisting(p *v1alpha1.ClusterRegoPolicy, r *policy.Request) bool {
	// An update that the policy judges only for what it adds has nothing else to answer for.
	on := p.Spec.Admission.ExistingViolations != v1alpha1.ExistingDeny || !match.JudgesUpdates(p)
	return on && r.Operation == policy.Update && r.OldObject != nil
}

// since tells the violations that an update brings from those that the object had.
//
// A fix of the manager's own changes what its plan says and nothing else, and has
// been found to violate nothing new before it is sent. So one that fixes a container
// for one policy isn't refused for what another policy has had against the same
// container all along: two policies could keep each other from ever being met.
func since(ctx context.Context, judge Judge, r *policy.Request, res *catalog.Result) (policy.Change, error) {
	if !allowsExisting(res.Definition, r) {
		return policy.Change{Counted: res.Violations}, nil
	}
	before, err := violationsBefore(ctx, judge, r, res.Policy)
	if err != nil {
		return policy.Change{}, err
	}
	if r.OwnFix {
		counted := policy.NewSince(before, res.Violations)
		return policy.Change{Counted: counted, Old: policy.NewSince(counted, res.Violations)}, nil
	}
	return policy.Compare(
		policy.Judged{Object: r.OldObject, Violations: before},
		policy.Judged{Object: r.Object, Violations: res.Violations},
	), nil
}

// violationsBefore judges the object as it was before the update. A policy that
// didn't concern it found nothing in it.
func violationsBefore(ctx context.Context, judge Judge, r *policy.Request, name string) ([]policy.Violation, error) {
	before := *r
	before.Object, before.Before = r.OldObject, true
	res, matched := judge.EvaluateOne(ctx, name, &before)
	if !matched {
		return nil, nil
	}
	return res.Violations, res.Err
}
