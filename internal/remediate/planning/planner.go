// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/history"
)

const (
	// DefaultInterval is how often violations that can't be planned are looked at again.
	DefaultInterval = 30 * time.Second
	// DefaultDelay is how long after a plan's end its policy isn't planned again: the scan should have seen the
	// last writes first, or the next plan is made of objects that are clean already, which it skips.
	DefaultDelay = 2 * time.Second
)

// PolicyStatus is the part of the catalog that planning needs.
type PolicyStatus interface {
	breaker.Policies
	// Status says which revision of a policy is in force.
	Status(name string) (catalog.Status, bool)
	// TemplateStatus says which definition of a template the policies in force have.
	TemplateStatus(name string) (catalog.TemplateStatus, bool)
}

// Planner makes a Remediation of a policy's violations when there is none at
// work, and keeps the history short. It writes to no target.
type Planner struct {
	drafter
	client    client.Client
	status    PolicyStatus
	findings  breaker.Findings
	changes   <-chan event.GenericEvent
	events    *events.Recorder
	breakers  *breaker.Set
	announced *announcements
	// interval and delay are as the options of these names say.
	interval, delay time.Duration
}

// Reconcile looks whether a policy's violations need a plan.
func (p *Planner) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	pol := &v1alpha1.ClusterRegoPolicy{}
	if err := p.client.Get(ctx, request.NamespacedName, pol); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, p.forget(ctx, request.Name)
		}
		return ctrl.Result{}, err
	}
	if v1alpha1.Malformed(pol) != "" {
		return ctrl.Result{}, nil // nobody knows what it asks for; its next change is looked at
	}
	plans, err := p.plansOf(ctx, pol.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := p.point(ctx, pol, plans); err != nil {
		return ctrl.Result{}, err
	}
	expiry, err := p.prune(ctx, pol, plans)
	if err != nil {
		return ctrl.Result{}, err
	}
	wait, err := p.plan(ctx, pol, plans)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return ctrl.Result{RequeueAfter: kube.ConflictBackoff}, nil
	}
	return ctrl.Result{RequeueAfter: history.Sooner(wait, expiry)}, err
}

// plan makes a plan when one is due; otherwise it says when to look again, or
// zero when a change will say so.
func (p *Planner) plan(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy, plans []v1alpha1.Remediation) (
	time.Duration, error) {
	mode := p.modeOf(ctx, pol)
	if mode == v1alpha1.RemediationDisabled {
		p.announced.endSearch(pol.Name)
		return 0, nil
	}
	found, revision, complete := p.findings.Findings(pol.Name)
	if !p.current(pol, revision) || !complete {
		return p.interval, nil // the scan says when it has caught up
	}
	var err error
	if mode, err = p.breakers.Mode(ctx, pol, mode); err != nil {
		return 0, err
	}
	if len(plans) > 0 {
		if wait, early := p.tooEarly(ctx, pol, plans, revision, found); early {
			return wait, nil
		}
	}
	d, why, err := p.begin(ctx, pol)
	if err != nil || why != "" {
		p.notPlanned(ctx, pol, why) // a change of the policy, or of its strategy, is looked at
		return 0, err
	}
	if p.status.Snapshot().Unresolved(pol.Name) != nil {
		return kube.ConflictBackoff, nil // the catalog hears of the strategy soon
	}
	d.rollout.Mode, d.revision, d.plans = mode, revision, plans
	return p.draft(ctx, pol, d, found)
}

// modeOf is the mode that a policy asks for, as far as the administrator allows it.
func (p *Planner) modeOf(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy) v1alpha1.RemediationMode {
	asked := pol.Spec.Remediation.Mode
	if asked == "" || asked == v1alpha1.RemediationDisabled || pol.DeletionTimestamp != nil {
		return v1alpha1.RemediationDisabled
	}
	mode := p.floors.Mode(asked)
	if mode == v1alpha1.RemediationDisabled {
		p.notPlanned(ctx, pol, LimitedMode(pol.Name, asked, mode))
	}
	return mode
}

// draft chooses the targets, and creates the plan when any can be fixed now.
func (p *Planner) draft(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy, d draft, found []policy.Finding) (
	time.Duration, error) {
	authored, template, err := catalog.WithAuthors(ctx, p.reader, d.policy)
	if err != nil || !p.currentTemplate(pol, template) {
		return p.interval, err
	}
	d.policy = authored
	if d.rollout.Mode.Runs() {
		back, err := p.breakers.KeptBack(ctx, anyPlanOf(pol))
		if err != nil {
			return 0, err
		}
		d.keptBack = back
	}
	d.search = p.announced.search(pol.Name, d.origin())
	outcome, refused, err := p.compose(ctx, &d, found)
	if err != nil {
		return 0, err
	}
	if refused != "" {
		p.notPlanned(ctx, pol, refused)
	}
	if outcome != draftWithoutCanary {
		p.announced.endSearch(pol.Name)
	}
	var wait time.Duration
	switch outcome {
	case draftEmpty:
		wait = p.nothingEligible(ctx, pol, d, found)
	case draftWithoutCanary:
		// An object that has just changed is soon healthy, and no change says so.
		wait = p.announced.notFound(pol.Name, d.search, p.interval)
	case draftTells, draftRollout:
		err = p.create(ctx, d)
	}
	return history.Sooner(wait, d.nextOptOutEnd), err
}

// nothingEligible says, once, why fixable violations lead to no plan.
func (p *Planner) nothingEligible(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy, d draft,
	found []policy.Finding) time.Duration {
	if fixable(found) == 0 {
		return 0
	}
	if len(d.ineligible) > len(d.toTell()) {
		p.tellFights(pol, d)
		p.notPlanned(ctx, pol, fmt.Sprintf("%s can't be fixed here: %s%s",
			prose.Count(len(d.ineligible), "violating object"), d.reasons(), d.outside()))
	}
	if d.waiting > 0 {
		p.notPlanned(ctx, pol, fmt.Sprintf(
			"%s couldn't be fixed by plan %s and %s for another try; its slices say why",
			prose.Count(d.waiting, "violating object"), d.plans[len(d.plans)-1].Name,
			prose.Verb(d.waiting, "waits", "wait")))
	}
	return p.interval
}

// create writes the slices first and the Remediation last: a plan without its
// Remediation isn't one, and its slices are swept up by the next try.
func (p *Planner) create(ctx context.Context, d draft) error {
	rem, parts, err := d.build()
	if err != nil {
		return err
	}
	existing := &v1alpha1.Remediation{}
	if err := p.reader.Get(ctx, client.ObjectKeyFromObject(rem), existing); err == nil {
		return nil // the same plan was made before: a dry run whose targets are still the same
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	if err := p.sweep(ctx, d); err != nil {
		return err
	}
	for _, slice := range parts {
		if err := p.client.Create(ctx, slice, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
			return fmt.Errorf("create slice %s: %w", slice.Name, err)
		}
	}
	if err := p.client.Create(ctx, rem, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("create remediation %s: %w", rem.Name, err)
	}
	p.tellFights(d.policy, d)
	p.warnManaged(d)
	p.events.Rollout(rem, v1alpha1.EventPlanMade, d.announce(rem))
	log.FromContext(ctx).Info("plan made", "remediation", rem.Name, "targets", rem.Spec.Plan.Targets, "waves",
		canary.Targets(rem.Spec.Plan.Waves))
	return nil
}

// current says whether the revision that was scanned is the one that the
// policy's spec asks for and that is in force.
func (p *Planner) current(pol *v1alpha1.ClusterRegoPolicy, scanned string) bool {
	status, known := p.status.Status(pol.Name)
	return known && p.policies.Complete() && status.Err == nil && status.Revision == scanned &&
		status.Generation == pol.Generation
}

// currentTemplate says that a policy in force has its rule from the template as it is now, so
// that the template's authors are those of the rule.
func (p *Planner) currentTemplate(pol *v1alpha1.ClusterRegoPolicy, t *v1alpha1.RegoTemplate) bool {
	if pol.Spec.TemplateRef == nil || t == nil {
		return pol.Spec.TemplateRef == nil
	}
	status, known := p.status.TemplateStatus(t.Name)
	return known && status.UID == t.UID && status.Generation == t.Generation
}

// tellFights tells, once, of objects that are left alone because somebody keeps
// setting them back.
func (p *Planner) tellFights(pol *v1alpha1.ClusterRegoPolicy, d draft) {
	for _, c := range d.ineligible {
		if c.reason == v1alpha1.ReasonFighting && p.announced.isNew(pol.Name+"/"+c.object.UID, c.message) {
			p.events.Target(c.object, pol, v1alpha1.EventRemediationFight, c.message)
		}
	}
}

// notPlanned says why no plan is made.
func (p *Planner) notPlanned(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy, why string) {
	if why != "" && p.announced.isNew(pol.Name, why) {
		p.events.Policy(pol, v1alpha1.EventRemediationNotPlanned, why)
		log.FromContext(ctx).Info("no plan is made", "policy", pol.Name, "why", why)
	}
}

func fixable(found []policy.Finding) int {
	n := 0
	for _, f := range found {
		if f.Fixable {
			n++
		}
	}
	return n
}

// reasons counts the ineligible objects by reason: "3 Managed, 1 OptOut".
func (d *draft) reasons() string {
	counts := map[string]int{}
	for _, c := range d.ineligible {
		counts[c.reason]++
	}
	var parts []string
	for reason, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
