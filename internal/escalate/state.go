// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"cmp"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/prose"
)

// State is what alerts are derived from: the objects as they stand now.
type State struct {
	Policies     []v1alpha1.ClusterRegoPolicy
	Strategies   []v1alpha1.RemediationStrategy
	Remediations []v1alpha1.Remediation
	Breakers     []v1alpha1.RemediationBreaker
	// Evidence tells of targets that a person must look at, by the name of their
	// Remediation. Without it a description is shorter; no alert depends on it.
	Evidence map[string]Evidence
}

// AlertOptions say how alerts are named.
type AlertOptions struct {
	// Cluster is the label of that name.
	Cluster string
	// Namespace is the controller's own.
	Namespace string
	// Owner is the label of what concerns no single policy; it may be empty.
	Owner string
	// Dashboard makes the link of an alert; nil makes none.
	Dashboard func(Identity) string
	// Docs is where the runbooks are published.
	Docs policy.Docs
}

// Alerts are the alerts that a state calls for, in a stable order. Those that
// fire at now have a StartsAt that has passed; those with GoesOn and without it
// are to be kept if they fire already. The same state gives the same alerts, at
// any replica and after any restart. There is at most one for each policy's
// plans, besides one for a plan that makes no progress, and one for each breaker.
func Alerts(s State, now time.Time, o AlertOptions) []Alert {
	return slices.DeleteFunc(candidates(s, now, o), func(a Alert) bool {
		return !a.fires(now) && !a.GoesOn
	})
}

// Due is when the next alert begins to fire if nothing changes; zero if none does.
func Due(s State, now time.Time, o AlertOptions) time.Time {
	var due time.Time
	for _, a := range candidates(s, now, o) {
		if a.StartsAt.After(now) && (due.IsZero() || a.StartsAt.Before(due)) {
			due = a.StartsAt
		}
	}
	return due
}

// candidates are all alerts of a state, those that aren't due yet among them.
func candidates(s State, now time.Time, o AlertOptions) []Alert {
	world := newWorld(s)
	var alerts []Alert
	for _, policy := range world.policyNames() {
		for _, f := range planFindings(world, policy, now) {
			alerts = append(alerts, world.alert(f, policy, o))
		}
		if f, ok := idleFinding(world, policy, now); ok {
			alerts = append(alerts, world.alert(f.noLater(now), policy, o))
		}
		if f, ok := policyFinding(world, policy); ok {
			alerts = append(alerts, world.alert(f.noLater(now), policy, o))
		}
	}
	for i := range s.Breakers {
		cb := &s.Breakers[i]
		if f, ok := breakerFinding(cb, now); ok {
			alerts = append(alerts, world.breakerAlert(f.noLater(now), cb, o))
		}
		if f, ok := demotedFinding(world, cb); ok {
			alerts = append(alerts, world.breakerAlert(f.noLater(now), cb, o))
		}
	}
	slices.SortFunc(alerts, func(a, b Alert) int { return compare(a.Identity, b.Identity) })
	return alerts
}

func compare(a, b Identity) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Scope, b.Scope),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Owner, b.Owner))
}

// world is a state by policy.
type world struct {
	policies   map[string]*v1alpha1.ClusterRegoPolicy
	strategies []v1alpha1.RemediationStrategy
	// plans are a policy's, oldest first.
	plans    map[string][]*v1alpha1.Remediation
	evidence map[string]Evidence
}

func newWorld(s State) *world {
	w := &world{policies: map[string]*v1alpha1.ClusterRegoPolicy{}, plans: map[string][]*v1alpha1.Remediation{},
		evidence: s.Evidence, strategies: s.Strategies}
	for i := range s.Policies {
		w.policies[s.Policies[i].Name] = &s.Policies[i]
	}
	for i := range s.Remediations {
		rem := &s.Remediations[i]
		w.plans[rem.Spec.Plan.Policy.Name] = append(w.plans[rem.Spec.Plan.Policy.Name], rem)
	}
	for _, plans := range w.plans {
		slices.SortStableFunc(plans, byAge)
	}
	return w
}

// deadline is how long a policy's strategy lets people wait. A strategy that isn't there changes no policy's mode
// here: an alert mustn't end because a strategy was deleted.
func (w *world) deadline(p *v1alpha1.ClusterRegoPolicy) time.Duration {
	var named *v1alpha1.RemediationStrategy
	for i := range w.strategies {
		if w.strategies[i].Name == strategy.Named(p) {
			named = &w.strategies[i]
		}
	}
	s, _ := strategy.Resolve(p.DeepCopy(), named)
	return s.Escalation.Deadline.Duration
}

// byAge puts the latest plan last. Creation times are whole seconds: within one,
// a plan at work is later than one that has ended.
func byAge(a, b *v1alpha1.Remediation) int {
	rank := func(rem *v1alpha1.Remediation) int {
		if rem.IsFinal() {
			return 0
		}
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(rank(a), rank(b)),
		a.EndTime().Compare(b.EndTime()), cmp.Compare(a.Name, b.Name))
}

// policyNames are the policies that exist or still have a plan.
func (w *world) policyNames() []string {
	var names []string
	for name := range w.policies {
		names = append(names, name)
	}
	for name := range w.plans {
		if w.policies[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// alert gives a finding the labels and links of a policy.
func (w *world) alert(f finding, policyName string, o AlertOptions) Alert {
	owner, severity, runbook := w.answersFor(policyName)
	a := Alert{
		Identity: Identity{Name: f.alert, Severity: severityOf(f.urgency, severity), Cluster: o.Cluster,
			Namespace: o.Namespace,
			Policy:    policyName, Owner: cmp.Or(owner, o.Owner)},
		Summary: prose.OneLine(f.summary), Description: prose.Shorten(f.description, maxDescription),
		RunbookURL: o.Docs.Page("runbooks/" + RunbookPage(f.alert)), PolicyRunbookURL: o.Docs.Runbook(runbook),
		Since: f.since, StartsAt: f.due, GoesOn: f.goesOn,
	}
	if o.Dashboard != nil {
		a.DashboardURL = o.Dashboard(a.Identity)
	}
	return a
}

// answersFor says who answers for a policy: as it stands, or as its latest plan
// froze it when the policy is gone.
func (w *world) answersFor(policy string) (owner string, severity v1alpha1.Severity, runbook string) {
	if p := w.policies[policy]; p != nil {
		return p.Spec.Owner, p.Spec.Severity, p.Spec.RunbookURL
	}
	if plans := w.plans[policy]; len(plans) > 0 {
		latest := plans[len(plans)-1].Spec.Plan.Policy
		return latest.Owner, "", latest.RunbookURL
	}
	return "", "", ""
}
