// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/history"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// choose sorts the fixable findings into objects to fix and objects to report
// only, by their metadata as the API server holds it now.
func (p *drafter) choose(ctx context.Context, d *draft, found []policy.Finding, earlier *history.Past) error {
	d.tools, d.now = p.tools, p.clock.Now()
	kinds, byKind := p.due(d, found, earlier)
	index := newKindIndex(p.reader)
	namespaces, err := namespacesByName(ctx, index, len(kinds) > 0)
	if err != nil {
		return err
	}
	for _, gvk := range kinds {
		live, err := index.of(ctx, gvk)
		if err != nil {
			return err
		}
		for _, f := range byKind[gvk] {
			if m := live.byUID[f.UID]; m != nil && m.DeletionTimestamp == nil {
				owners, err := earlier.OwnersOf(ctx, index, m)
				if err != nil {
					return err
				}
				d.sort(f, m, namespaces[f.Namespace], earlier.Of(referenceTo(f), m, owners), &p.reach)
			}
		}
	}
	return p.ownership(ctx, d, index, found)
}

// due are the findings that a fix is offered for and that needn't wait, by kind, and the
// kinds in the order in which they come.
func (p *drafter) due(d *draft, found []policy.Finding, earlier *history.Past) (
	[]schema.GroupVersionKind, map[schema.GroupVersionKind][]policy.Finding) {
	byKind := map[schema.GroupVersionKind][]policy.Finding{}
	var kinds []schema.GroupVersionKind
	for _, f := range found {
		if !f.Fixable {
			continue
		}
		if earlier.Waiting(referenceTo(f), p.clock.Now()) {
			d.waiting++
			continue
		}
		gvk := schema.FromAPIVersionAndKind(f.APIVersion, f.Kind)
		if byKind[gvk] == nil {
			kinds = append(kinds, gvk)
		}
		byKind[gvk] = append(byKind[gvk], f)
	}
	return kinds, byKind
}

// sort puts one object where its metadata says it belongs. The protocol before
// each write asks the same again, on fresh state.
func (d *draft) sort(f policy.Finding, m, namespace *metav1.PartialObjectMetadata, earlier history.Fixes,
	reach *limits.Reach) {
	labels := labelled(f, m, namespace)
	c := candidate{critical: m.Labels[v1alpha1.LabelTier] == "critical", stage: d.stages.Of(labels),
		mayLead: d.stages.MayBeCanary(labels),
		object:  referenceTo(f), heat: earlier.Carried()}
	if why := reach.Target(fix.KindOfTarget(c.object), f.Namespace, f.Name,
		v1alpha1.OnlyCreates(d.rollout.AllowedActions)); why != "" {
		c.reason, c.message = v1alpha1.ReasonNotAllowed, why
	} else if d.optedOut(m) || d.optedOut(namespace) {
		c.reason = v1alpha1.ReasonOptOut
	} else if out, is := d.leftOut[f.Namespace]; is && f.Namespace != "" {
		c.reason, c.message = out.Reason, out.Message
	} else if d.sortOwned(&c, m, d.reachesOwned(f)); c.reason == "" && earlier.Fighting() {
		c.reason = v1alpha1.ReasonFighting
		c.message = fmt.Sprintf("violates policy %s: %s. %s: it is left alone until that stops; to go on at once: "+
			"evenkeel rollout retry %s",
			d.policy.Name, f.Message, earlier.Why(m), d.plans[len(d.plans)-1].Name)
	}
	if c.reason != "" {
		d.ineligible = append(d.ineligible, c)
		return
	}
	d.eligible = append(d.eligible, c)
}

func referenceTo(f policy.Finding) v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{APIVersion: f.APIVersion, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name,
		UID: f.UID}
}

// reachesOwned says whether an action that the strategy allows may be carried out on
// an object of a controller, and hasn't been found not to be the fix's.
func (d *draft) reachesOwned(f policy.Finding) bool {
	gvk := schema.FromAPIVersionAndKind(f.APIVersion, f.Kind)
	return action.MayReachOwned(d.rollout.AllowedActions, gvk.Group, gvk.Kind) &&
		!d.told[record.SkipKey(f.UID, v1alpha1.ReasonOwned)]
}

// namespacesByName lists the metadata of all namespaces.
func namespacesByName(ctx context.Context, index *kindIndex, needed bool) (map[string]*metav1.PartialObjectMetadata,
	error) {
	byName := map[string]*metav1.PartialObjectMetadata{}
	if !needed {
		return byName, nil
	}
	live, err := index.of(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if err != nil {
		return nil, err
	}
	for _, m := range live.byUID {
		byName[m.Name] = m
	}
	return byName, nil
}

// optedOut says whether an object or a namespace opts out now, and notes when that ends: nothing else says so then.
func (d *draft) optedOut(m *metav1.PartialObjectMetadata) bool {
	if m == nil || !v1alpha1.OptsOut(m, d.now) {
		return false
	}
	if end, err := v1alpha1.OptOutEnd(m); err == nil && !end.IsZero() {
		d.nextOptOutEnd = history.Sooner(d.nextOptOutEnd, end.Sub(d.now))
	}
	return true
}

// labelled gives the labels that stages choose by; a Namespace is in itself.
func labelled(f policy.Finding, m, namespace *metav1.PartialObjectMetadata) canary.Labelled {
	if f.APIVersion == "v1" && f.Kind == "Namespace" {
		namespace = m
	}
	if namespace == nil {
		return canary.Labelled{Own: m.Labels}
	}
	return canary.Labelled{Own: m.Labels, Namespaced: true, Namespace: namespace.Labels}
}
