// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
)

// maxTold bounds the objects of one plan that are left to their owners.
const maxTold = 10_000

// ownership says which of the candidates somebody else must be told of: those
// of other tools, and those of controllers whose root the policy doesn't judge.
// What it judges at the root is fixed, or told of, there.
func (p *drafter) ownership(ctx context.Context, d *draft, index *kindIndex, found []policy.Finding) error {
	violating := map[string]bool{}
	for _, f := range found {
		violating[f.UID] = true
	}
	roots := map[string]bool{} // judged, by UID
	for i := range d.ineligible {
		c := &d.ineligible[i]
		if c.reason != v1alpha1.ReasonOwned {
			c.told = c.reason == v1alpha1.ReasonManaged
			continue
		}
		lineage, err := kube.RootOf(ctx, index, c.meta)
		if err != nil {
			return err
		}
		root, known := lineage.Top()
		if !known || lineage.Stopped != "" {
			c.told = true
			continue
		}
		judged, asked := roots[root.UID]
		if !asked {
			judged = violating[root.UID]
			if !judged {
				if judged, err = p.judges(ctx, d.policy, root); err != nil {
					return err
				}
			}
			roots[root.UID] = judged
		}
		c.told = !judged
	}
	return nil
}

// judges says whether a policy concerns an object, as it is now.
func (p *drafter) judges(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy, ref v1alpha1.ObjectReference) (
	bool, error) {
	if !fix.JudgesKind(pol, ref) {
		return false, nil
	}
	t := &targets.Client{Reader: p.reader, Mapper: p.mapper, Clock: p.clock}
	obj, err := t.Read(ctx, ref)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	_, matched, err := t.Judge(ctx, p.policies.Snapshot(), pol.Name, obj)
	return matched, client.IgnoreNotFound(err)
}

// toTell are the objects whose owners are to be told, in order of name.
func (d *draft) toTell() []candidate {
	told := slices.DeleteFunc(slices.Clone(d.ineligible), func(c candidate) bool { return !c.told })
	slices.SortFunc(told, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.object.Kind, b.object.Kind), cmp.Compare(a.object.Namespace, b.object.Namespace),
			cmp.Compare(a.object.Name, b.object.Name))
	})
	return told[:min(len(told), maxTold)]
}

// untold says whether some owner hasn't got the fix of its object by the latest
// plan: then a plan is made that has nothing to fix, and tells them.
func (d *draft) untold() bool {
	return slices.ContainsFunc(d.toTell(), func(c candidate) bool {
		return !d.told[record.SkipKey(c.object.UID, c.reason)]
	})
}

// toldBefore are the objects that the latest plan of this revision has left alone.
func (p *drafter) toldBefore(ctx context.Context, d *draft) (map[string]bool, error) {
	if len(d.plans) == 0 {
		return nil, nil
	}
	latest := &d.plans[len(d.plans)-1]
	if latest.Status.Counts.Skipped == 0 || latest.Spec.Plan.Policy.Revision != d.revision ||
		latest.Spec.Plan.Policy.UID != string(d.policy.UID) {
		return nil, nil
	}
	b, err := record.Read(ctx, p.reader, latest)
	var incomplete record.IncompleteError
	if errors.As(err, &incomplete) {
		return nil, nil // somebody deleted a part of it: they are told again
	}
	if err != nil {
		return nil, fmt.Errorf("what plan %s has left alone counts for the next: %w", latest.Name, err)
	}
	return b.Skipped(), nil
}

// warnManaged tells of objects that are fixed though another tool manages them.
func (p *Planner) warnManaged(d draft) {
	for _, c := range d.eligible {
		if c.manager != "" && p.announced.isNew(d.policy.Name+"/"+c.object.UID, c.manager) {
			p.events.Target(c.object, d.policy, v1alpha1.EventManagedByOther, fmt.Sprintf(
				"violates policy %s and is to be fixed here, as its managedObjects: Remediate says; %s manages it and "+
					"may revert it: fix it at its source too",
				d.policy.Name, c.manager))
		}
	}
}

// sortOwned says whose an object is, when it isn't ours to fix: a controller's,
// or another tool's.
func (d *draft) sortOwned(c *candidate, m *metav1.PartialObjectMetadata, reachesOwned bool) {
	manager, managed := d.tools.ManagedBy(m)
	switch {
	case kube.Owned(m) && reachesOwned:
	case kube.Owned(m):
		c.reason, c.meta = v1alpha1.ReasonOwned, m
	case managed && d.strategy.ManagedObjects == v1alpha1.ManagedRemediate:
		c.manager = manager.String()
	case managed:
		c.reason = v1alpha1.ReasonManaged
	}
}
