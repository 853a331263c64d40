package remediate

import (
	"context"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy"
)

// leftBehind leaves alone what the breaker of its namespace keeps back, when the wave has
// nothing else to write and the plan can go on elsewhere: one namespace isn't to stop
// the others. Of a canary it is all of the stage that is kept back, for the candidates to
// be drawn from elsewhere. A later plan takes them up.
func (o Observation) leftBehind(m members) []Mark {
	if len(m.barred) == 0 || m.soon() || m.written() || len(m.intents) > 0 || !slices.ContainsFunc(o.Targets, free) {
		return nil
	}
	here := canary.StageOf(o.Spec.Plan, o.Status.Wave)
	first := here.First == o.Status.Wave
	var marks []Mark
	for i, t := range o.Targets {
		inReach := t.Wave == o.Status.Wave || first && here.Holds(t.Wave)
		if inReach && t.keptBack() {
			marks = append(marks, Mark{Target: i, State: v1alpha1.TargetSkipped, Reason: v1alpha1.ReasonBreakerOpen, Message: t.Barred})
		}
	}
	return marks
}

// keptBack says whether a breaker of the target's namespace keeps it back.
func (t TargetView) keptBack() bool {
	return t.State == v1alpha1.TargetPending && t.Barred != "" && (t.BarredReason == "" || t.BarredReason == v1alpha1.ReasonBreakerOpen)
}

// free says whether a target may still be written, now or soon.
func free(t TargetView) bool {
	return t.State == v1alpha1.TargetPending && (t.Barred == "" || t.passes())
}

// allKeptBack is closed when nothing is left of a plan but what breakers of namespaces
// keep back.
func (o Observation) allKeptBack() Gate {
	i := slices.IndexFunc(o.Targets, TargetView.keptBack)
	if i < 0 || slices.ContainsFunc(o.Targets, free) {
		return Gate{}
	}
	return Gate{Closed: true, Reason: v1alpha1.ReasonBreakerOpen, Message: o.Targets[i].Barred}
}

// keptBack are the namespaces in which breakers let a policy's plans write nothing now,
// and why: those of namespaces, and the policy's own when it is open for one.
func (b *breakers) keptBack(ctx context.Context, policyName string) (map[string]string, error) {
	list, err := b.store.list(ctx)
	if err != nil {
		return nil, err
	}
	back := map[string]string{}
	for i := range list {
		scope := list[i].Spec.Scope
		if scope.Type != v1alpha1.BreakerScopeNamespace && scope != policyScope(policyName) {
			continue
		}
		a := b.ask(ctx, &list[i], &v1alpha1.Remediation{})
		half := a.observed.State == v1alpha1.BreakerHalfOpen && a.observed.Permit == nil
		in := scope.Namespace
		if in == "" {
			in = a.only
		}
		if in != "" && !half && (a.only != "" || !a.verdict.Allowed) {
			back[in] = a.refusal
		}
	}
	return back, nil
}

// elsewhere says whether a fix is offered for any object outside of some namespaces.
func elsewhere[V any](found []policy.Finding, namespaces map[string]V) bool {
	return slices.ContainsFunc(found, func(f policy.Finding) bool {
		_, in := namespaces[f.Namespace]
		return f.Fixable && !in
	})
}

// outlasted says why a plan is no longer to wait for the breakers of namespaces, or "":
// nothing is left of it but what they keep back, and others wait for a plan meanwhile.
func (b *breakers) outlasted(ctx context.Context, rem *v1alpha1.Remediation, pending []v1alpha1.ObjectReference) (string, error) {
	if rem.Status.Phase != v1alpha1.PhaseHeld || rem.Status.Reason != v1alpha1.ReasonBreakerOpen {
		return "", nil
	}
	back, err := b.keptBack(ctx, rem.Spec.Plan.Policy.Name)
	if err != nil || len(back) == 0 {
		return "", err
	}
	for _, ref := range pending {
		if _, in := back[ref.Namespace]; !in {
			return "", nil
		}
	}
	found, revision, complete := b.findings.Findings(rem.Spec.Plan.Policy.Name)
	if !complete || revision != rem.Spec.Plan.Policy.Revision || !elsewhere(found, back) {
		return "", nil
	}
	return fmt.Sprintf("breakers keep back all that is left of the plan in namespace %s, and objects elsewhere wait; a plan for them follows", pending[0].Namespace), nil
}
