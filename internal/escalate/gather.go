// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// listPage is the page size of the lists.
const listPage = 500

// gather reads the state past every cache: what a stale one doesn't show yet
// would otherwise be resolved, and people told that a fault is over.
func gather(ctx context.Context, reader client.Reader) (State, error) {
	policies := &v1alpha1.ClusterRegoPolicyList{}
	breakers := &v1alpha1.RemediationBreakerList{}
	plans := &v1alpha1.RemediationList{}
	if err := list(ctx, reader, policies); err != nil {
		return State{}, err
	}
	strategies := &v1alpha1.RemediationStrategyList{}
	if err := list(ctx, reader, strategies); err != nil {
		return State{}, err
	}
	if err := list(ctx, reader, breakers); err != nil {
		return State{}, err
	}
	if err := list(ctx, reader, plans); err != nil {
		return State{}, err
	}
	for i := range policies.Items {
		policies.Items[i].SetDefaults()
	}
	// Of a plan or breaker without its spec nobody knows whose it is.
	return State{
		Policies: policies.Items, Strategies: strategies.Items,
		Breakers: slices.DeleteFunc(breakers.Items, func(cb v1alpha1.RemediationBreaker) bool {
			return v1alpha1.Malformed(&cb) != ""
		}),
		Remediations: slices.DeleteFunc(plans.Items, func(rem v1alpha1.Remediation) bool {
			return v1alpha1.Malformed(&rem) != ""
		}),
	}, nil
}

func list(ctx context.Context, reader client.Reader, into client.ObjectList) error {
	var all []runtime.Object
	for next := ""; ; {
		if err := reader.List(ctx, into, client.Limit(listPage), client.Continue(next)); err != nil {
			return fmt.Errorf("read what alerts are derived from: %w", err)
		}
		page, err := meta.ExtractList(into)
		if err != nil {
			return fmt.Errorf("read what alerts are derived from: %w", err)
		}
		all = append(all, page...)
		if next = into.GetContinue(); next == "" {
			return meta.SetList(into, all)
		}
	}
}

// evidenceReader reads the slices of the plans that alerts may be about. It keeps
// what it read for as long as the plan stays as it is; losing that costs reads.
type evidenceReader struct {
	reader client.Reader
	kept   map[string]keptEvidence
}

type keptEvidence struct {
	resourceVersion string
	evidence        Evidence
}

// read gives the evidence of the plans that may need it. A plan whose slices
// can't be read has none, and its error is given: people are told all the same.
func (r *evidenceReader) read(ctx context.Context, s State) (map[string]Evidence, error) {
	kept, found := map[string]keptEvidence{}, map[string]Evidence{}
	var failed error
	for _, rem := range wanting(s) {
		entry, ok := r.kept[rem.Name]
		if !ok || entry.resourceVersion != rem.ResourceVersion {
			evidence, err := r.of(ctx, rem)
			if err != nil {
				failed = err
				continue
			}
			entry = keptEvidence{resourceVersion: rem.ResourceVersion, evidence: evidence}
		}
		kept[rem.Name], found[rem.Name] = entry, entry.evidence
	}
	r.kept = kept
	return found, failed
}

// wanting are the plans whose targets an alert may tell of: of each policy the
// latest plan, the last one that ended, and the last one in which targets failed.
func wanting(s State) []*v1alpha1.Remediation {
	w := newWorld(s)
	var list []*v1alpha1.Remediation
	for _, plans := range w.plans {
		chosen := []int{len(plans) - 1, lastEnded(plans), lastFailing(plans)}
		slices.Sort(chosen)
		for _, i := range slices.Compact(chosen) {
			if i >= 0 && tells(plans[i]) {
				list = append(list, plans[i])
			}
		}
	}
	return list
}

// tells says whether a plan's targets may tell a person anything yet. Those of a
// rollout that moves change with each step, and have nothing to tell.
func tells(rem *v1alpha1.Remediation) bool {
	c := rem.Status.Counts
	facts := rem.Phase().Facts()
	waits := facts.Final || facts.Holds || facts.Reverts
	return waits && c.Failed+c.Reverted+c.RevertConflict+c.Skipped+c.InFlight > 0
}

func (r *evidenceReader) of(ctx context.Context, rem *v1alpha1.Remediation) (Evidence, error) {
	var parts []v1alpha1.RemediationSlice
	for _, name := range rem.Spec.Plan.Slices {
		part := v1alpha1.RemediationSlice{}
		if err := r.reader.Get(ctx, client.ObjectKey{Name: name}, &part); client.IgnoreNotFound(err) != nil {
			return Evidence{}, fmt.Errorf("read the evidence of plan %s: %w", rem.Name, err)
		}
		parts = append(parts, part)
	}
	return EvidenceOf(rem.Status, parts), nil
}
