// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/override"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// Judge is one immutable set of policies, such as a catalog's snapshot.
type Judge interface {
	// EvaluateWhere judges a request by every policy that concerns it and that
	// keep wants, sorted by name.
	EvaluateWhere(ctx context.Context, r *policy.Request, keep func(*v1alpha1.ClusterRegoPolicy) bool) []catalog.Result
	// EvaluateOne judges by the policy of that name; matched is false when it
	// doesn't concern the request.
	EvaluateOne(ctx context.Context, name string, r *policy.Request) (res catalog.Result, matched bool)
	// Concerning are the policies that would judge a request, without asking them,
	// sorted by name; not those whose violations would be waived.
	Concerning(r *policy.Request) []*v1alpha1.ClusterRegoPolicy
	// Override is what a PolicyOverride makes of a policy at a time; nil while none is in
	// force.
	Override(policyName string, now time.Time) *override.Override
}

// finding is what one policy found in a request, as one enforcement action.
type finding struct {
	policy, title, runbook string
	severity               v1alpha1.Severity
	action                 v1alpha1.AdmissionAction
	// old says that an update's object had the violations before, so they aren't
	// blocked.
	old bool
	// altered says that some were there before, but what violates has been changed.
	altered bool
	// atWorkload says that they stand in the template of the workload that makes the
	// object, and so aren't blocked.
	atWorkload bool
	// waived is the waiver under which they aren't blocked either; nil for none.
	waived *catalog.Waiver
	// overridden is why they are enforced more softly than the policy declares; nil when they
	// aren't.
	overridden *override.Override
	violations []policy.Violation
	actions    []policy.Action
	// fixErr says why actions is empty where remediation failed.
	fixErr error
}

func (f *finding) blocks() bool {
	return f.action == v1alpha1.AdmissionDeny && !f.old && !f.atWorkload && f.waived == nil
}

// failure is a policy that couldn't be evaluated; policy is empty when no
// policy could be.
type failure struct {
	policy string
	err    error
	// partly says that the policy found violations all the same, which count.
	partly bool
	// overridden says that the policy refuses nothing for the time being, and so not for
	// want of an answer either.
	overridden bool
}

// passes says that it passes without a change of a policy or of the object.
func (f *failure) passes() bool {
	var namespace *unreadNamespaceError
	return policy.LookupUnknown(f.err) || errors.As(f.err, &namespace)
}

// verdict is what the policies of one class say of a request.
type verdict struct {
	class    v1alpha1.FailurePolicy
	findings []finding
	failed   []failure
	maker    maker
}

func decide(ctx context.Context, judge Judge, class v1alpha1.FailurePolicy, r *policy.Request,
	workloads Workloads) *verdict {
	v := &verdict{class: class, maker: maker{workloads: workloads}}
	ofClass := func(p *v1alpha1.ClusterRegoPolicy) bool { return serving.Class(p) == class }
	for _, res := range judge.EvaluateWhere(ctx, r, ofClass) {
		if res.Err != nil {
			v.fail(&res, res.Err)
		}
		v.violated(ctx, judge, r, &res)
		v.add(&res, v1alpha1.AdmissionWarn, visibleWarnings(r, &res))
	}
	return v
}

// visibleWarnings are the results of warn. A policy in DryRun only records, and
// nobody reads what a controller is warned of.
func visibleWarnings(r *policy.Request, res *catalog.Result) []policy.Violation {
	if _, made := match.Maker(res.Definition, r); made ||
		res.Action() == v1alpha1.AdmissionAudit {
		return nil
	}
	return res.Warnings
}

func (v *verdict) violated(ctx context.Context, judge Judge, r *policy.Request, res *catalog.Result) {
	action := res.Action()
	if len(res.Enforced()) == 0 || action != v1alpha1.AdmissionDeny {
		v.add(res, action, res.Violations, waivedBy(res.Waived))
		return
	}
	change, err := since(ctx, judge, r, res)
	if err != nil {
		// What isn't known to be old is new: a known violation is never passed for
		// an error.
		v.fail(res, fmt.Errorf("judging the object as it was before the update: %w", err))
		change = policy.Change{Counted: res.Violations}
	}
	standing, err := v.maker.standing(ctx, judge, r, res, change.Counted)
	if err != nil {
		// What is known to violate counts unless it is known to stand at the workload.
		v.fail(res, fmt.Errorf("judging the workload that makes the object: %w", err))
	}
	v.add(res, action, policy.NewSince(standing, change.Counted), func(f *finding) {
		f.altered = len(change.Altered) > 0
	})
	v.add(res, action, standing, func(f *finding) { f.atWorkload = true })
	v.add(res, action, change.Old, func(f *finding) { f.old = true })
}

func (v *verdict) add(res *catalog.Result, action v1alpha1.AdmissionAction, violations []policy.Violation,
	marks ...func(*finding)) {
	if len(violations) == 0 {
		return
	}
	f := finding{
		policy:     res.Policy,
		title:      res.Definition.Spec.Title,
		runbook:    res.Definition.Spec.RunbookURL,
		severity:   res.Definition.Spec.Severity,
		action:     action,
		violations: violations,
		actions:    res.Actions,
		fixErr:     res.FixErr,
	}
	if res.Override != nil && res.Override.Softens() {
		f.overridden = res.Override
	}
	for _, mark := range marks {
		mark(&f)
	}
	v.findings = append(v.findings, f)
}

func waivedBy(w *catalog.Waiver) func(*finding) {
	return func(f *finding) { f.waived = w }
}

func (v *verdict) fail(res *catalog.Result, err error) {
	v.failed = append(v.failed, failure{policy: res.Policy, err: err, partly: len(res.Violations) > 0,
		overridden: res.Override != nil && res.Action() != v1alpha1.AdmissionDeny})
}

func (v *verdict) blocking() []finding {
	var out []finding
	for _, f := range v.findings {
		if f.blocks() {
			out = append(out, f)
		}
	}
	return out
}

func (v *verdict) failsClosed() bool {
	return v.class == v1alpha1.FailurePolicyFail && len(v.refusing()) > 0
}

// refusing are the failures for whose sake the request may be refused: those of policies that nobody has softened.
func (v *verdict) refusing() []failure {
	return slices.DeleteFunc(slices.Clone(v.failed), func(f failure) bool { return f.overridden })
}
