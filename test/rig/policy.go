// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// policyTimeout is how long a policy may wait for somebody who judges it.
const policyTimeout = 30 * time.Second

// CreatePolicy creates a policy, with the strategy of fixture.Remediated; it goes with the
// spec, and all that was made because of it.
func (r *Rig) CreatePolicy(ctx context.Context, p *v1alpha1.ClusterRegoPolicy) {
	GinkgoHelper()
	r.CleanUp(p.Name)
	// What judges and stamps policies fails closed: as a user would, a spec tries
	// again while nobody answers.
	var refused error
	strategy := fixture.StrategyOf(p)
	Eventually(ctx, func() error {
		refused = nil
		if strategy != nil {
			refused = client.IgnoreAlreadyExists(r.API.Create(ctx, strategy.DeepCopy()))
		}
		if refused == nil {
			refused = r.API.Create(ctx, p)
		}
		if refused != nil && strings.Contains(refused.Error(), "failed calling webhook") {
			return refused
		}
		return nil
	}).WithTimeout(policyTimeout).Should(Succeed())
	Expect(refused).To(Succeed(), "create policy %s", p.Name)
}

// CleanUp removes a policy with the spec, if there is one, and all that was made
// because of it.
func (r *Rig) CleanUp(name string) {
	DeferCleanup(func(ctx context.Context) { r.RemovePolicy(ctx, name) })
}

// RemovePolicy removes a policy, if there is one, and all that was made because
// of it.
func (r *Rig) RemovePolicy(ctx context.Context, name string) {
	GinkgoHelper()
	policy := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(client.IgnoreNotFound(r.API.Delete(ctx, policy))).To(Succeed())
	of := client.MatchingLabels{v1alpha1.LabelPolicy: name}
	for range 2 { // the planner may be about to create one
		r.removePlans(ctx, r.Plans(ctx, name))
		Expect(r.API.DeleteAllOf(ctx, &v1alpha1.RemediationSlice{}, of)).To(Succeed())
	}
	strategy := &v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(client.IgnoreNotFound(r.API.Delete(ctx, strategy))).To(Succeed())
	for _, breaker := range []string{v1alpha1.GlobalBreakerName, v1alpha1.PolicyBreakerPrefix + name} {
		r.RemoveBreaker(ctx, breaker)
	}
}

func (r *Rig) removePlans(ctx context.Context, plans []v1alpha1.Remediation) {
	GinkgoHelper()
	for _, rem := range plans {
		// The manager that would let go of it may be dead, or slow to judge this.
		free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		Eventually(ctx, func() error { return client.IgnoreNotFound(r.API.Patch(ctx, &rem, free)) }).Should(Succeed())
		Expect(client.IgnoreNotFound(r.API.Delete(ctx, &rem))).To(Succeed())
	}
}

// RemoveStrayPlans removes the plans whose policies are gone: one that was being created while its spec ended, whose
// slices went with the policy, stands still for good.
func (r *Rig) RemoveStrayPlans(ctx context.Context) {
	GinkgoHelper()
	plans, policies := &v1alpha1.RemediationList{}, &v1alpha1.ClusterRegoPolicyList{}
	Expect(r.API.List(ctx, plans)).To(Succeed())
	Expect(r.API.List(ctx, policies)).To(Succeed())
	r.removePlans(ctx, slices.DeleteFunc(plans.Items, func(rem v1alpha1.Remediation) bool {
		return slices.ContainsFunc(policies.Items, func(p v1alpha1.ClusterRegoPolicy) bool {
			return p.Name == rem.Spec.Plan.Policy.Name
		})
	}))
}

// UpdatePolicy changes a policy, again if somebody else wrote it meanwhile. The strategy of fixture.Remediated is
// created before.
func (r *Rig) UpdatePolicy(ctx context.Context, p *v1alpha1.ClusterRegoPolicy,
	change func(*v1alpha1.ClusterRegoPolicy)) {
	GinkgoHelper()
	Update(ctx, r.API, p, func() {
		change(p)
		if strategy := fixture.StrategyOf(p); strategy != nil {
			Expect(client.IgnoreAlreadyExists(r.API.Create(ctx, strategy))).To(Succeed())
		}
	})
}

// UpdateStrategy changes the strategy that a policy follows, again if somebody else wrote it
// meanwhile.
func (r *Rig) UpdateStrategy(ctx context.Context, name string, change func(*v1alpha1.RemediationStrategySpec)) {
	GinkgoHelper()
	s := &v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Update(ctx, r.API, s, func() { change(&s.Spec) })
}

// Policy reads a policy.
func (r *Rig) Policy(ctx context.Context, name string) *v1alpha1.ClusterRegoPolicy {
	GinkgoHelper()
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(r.Get(ctx, p)).To(Succeed())
	return p
}

// AwaitScan waits until the scan has looked at everything that the policy's
// newest generation concerns, and what holds is what accept asks for.
func (r *Rig) AwaitScan(ctx context.Context, name string, accept func(Gomega, *v1alpha1.ScanStatus)) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
		g.Expect(r.Get(ctx, p)).To(Succeed())
		g.Expect(p.Status.ObservedGeneration).To(Equal(p.Generation))
		g.Expect(p.Status.Scan).NotTo(BeNil())
		accept(g, p.Status.Scan)
	}).Should(Succeed())
}

// Plans are a policy's remediations, oldest first.
func (r *Rig) Plans(ctx context.Context, policy string) []v1alpha1.Remediation {
	GinkgoHelper()
	plans, err := r.plans(ctx, policy)
	Expect(err).NotTo(HaveOccurred())
	return plans
}

func (r *Rig) plans(ctx context.Context, policy string) ([]v1alpha1.Remediation, error) {
	list := &v1alpha1.RemediationList{}
	if err := r.API.List(ctx, list); err != nil {
		return nil, err
	}
	plans := slices.DeleteFunc(list.Items, func(rem v1alpha1.Remediation) bool {
		return rem.Spec.Plan.Policy.Name != policy
	})
	slices.SortFunc(plans, func(a, b v1alpha1.Remediation) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return plans, nil
}

// AwaitPhase waits until the policy's only plan, or its latest, is in the phase. An API
// server that doesn't answer is asked again.
func (r *Rig) AwaitPhase(ctx context.Context, policy string, phase v1alpha1.RemediationPhase) *v1alpha1.Remediation {
	GinkgoHelper()
	var latest v1alpha1.Remediation
	Eventually(ctx, func() (string, error) {
		plans, err := r.plans(ctx, policy)
		if err != nil {
			return "", err
		}
		if len(plans) == 0 {
			return "no plan; " + r.why(ctx, policy), nil
		}
		latest = plans[len(plans)-1]
		if latest.Status.Phase != phase {
			return fmt.Sprintf("%s: %s: %s", latest.Status.Phase, latest.Status.Reason, latest.Status.Message), nil
		}
		return string(phase), nil
	}).Should(Equal(string(phase)))
	return &latest
}

// why tells what the policy itself says, for the message of a failure.
func (r *Rig) why(ctx context.Context, name string) string {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := r.Get(ctx, p); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("policy: %+v", p.Status)
}

// Record is one target with what was done to it.
type Record struct {
	v1alpha1.TargetRecord
	// Object is the target, and PlannedWave the wave that the plan put it in.
	Object      v1alpha1.ObjectReference
	PlannedWave int32
}

// Records are the targets of a plan in order. A missing record is Pending.
func (r *Rig) Records(ctx context.Context, rem *v1alpha1.Remediation) []Record {
	GinkgoHelper()
	var out []Record
	for _, name := range rem.Spec.Plan.Slices {
		slice := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Expect(r.Get(ctx, slice)).To(Succeed())
		for i, target := range slice.Targets {
			rec := Record{TargetRecord: v1alpha1.TargetRecord{State: v1alpha1.TargetPending}, Object: target.Object,
				PlannedWave: target.Wave}
			if i < len(slice.Records) {
				rec.TargetRecord = slice.Records[i]
			}
			out = append(out, rec)
		}
	}
	return out
}

// RecordOf is the record of the target with the given name.
func (r *Rig) RecordOf(ctx context.Context, rem *v1alpha1.Remediation, name string) Record {
	GinkgoHelper()
	for _, rec := range r.Records(ctx, rem) {
		if rec.Object.Name == name {
			return rec
		}
	}
	Fail(fmt.Sprintf("plan %s has no target %s", rem.Name, name))
	return Record{}
}

// Events are the notes of the events with a reason whose regarding object has
// the given name.
func (r *Rig) Events(ctx context.Context, reason, regarding string) []string {
	GinkgoHelper()
	notes, err := r.events(ctx, reason, regarding)
	Expect(err).NotTo(HaveOccurred())
	return notes
}

func (r *Rig) events(ctx context.Context, reason, regarding string) ([]string, error) {
	list := &eventsv1.EventList{}
	// Thousands of events pile up while a suite runs: the server selects those that are read.
	of := client.MatchingFields{"reason": reason, "regarding.name": regarding}
	if err := r.API.List(ctx, list, of); err != nil {
		return nil, err
	}
	var notes []string
	for _, e := range list.Items {
		notes = append(notes, strings.TrimSpace(e.Note))
	}
	return notes, nil
}

// AwaitEvent waits for an event whose note matches.
func (r *Rig) AwaitEvent(ctx context.Context, reason, regarding string, note any) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) { return r.events(ctx, reason, regarding) }).Should(ContainElement(note))
}
