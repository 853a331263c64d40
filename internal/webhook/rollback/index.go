// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"context"
	"strings"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// place names where an object lives, whatever its API version.
type place struct{ group, kind, namespace, name string }

// placeOf goes by the object: a request for a Namespace names it as its namespace too.
func placeOf(r *policy.Request) place {
	namespace, _ := action.Lookup(r.Object, "/metadata/namespace")
	name, _ := action.Lookup(r.Object, "/metadata/name")
	at := place{group: r.Kind.Group, kind: r.Kind.Kind}
	at.namespace, _ = namespace.(string)
	at.name, _ = name.(string)
	return at
}

func placeOfTarget(ref v1alpha1.ObjectReference) place {
	group, _, grouped := strings.Cut(ref.APIVersion, "/")
	if !grouped {
		group = ""
	}
	return place{group, ref.Kind, ref.Namespace, ref.Name}
}

// sliceOf names a slice of a plan.
type sliceOf struct{ plan, slice string }

// index knows in which slices of the plans at work an object is a target: a plan's
// targets never change. It is a shortcut, never a proof.
type index struct {
	mu    sync.Mutex
	plans map[string]map[place]sliceOf
}

// slices are those that hold an object as a target.
func (x *index) slices(at place) []sliceOf {
	x.mu.Lock()
	defer x.mu.Unlock()
	var found []sliceOf
	for _, places := range x.plans {
		if s, ok := places[at]; ok {
			found = append(found, s)
		}
	}
	return found
}

// refresh takes up the plans that have come to work, and drops those that have ended.
func (x *index) refresh(ctx context.Context, reader client.Reader) error {
	list := &v1alpha1.RemediationList{}
	if err := reader.List(ctx, list); err != nil {
		return err
	}
	x.mu.Lock()
	known := x.plans
	x.mu.Unlock()
	plans := map[string]map[place]sliceOf{}
	for i := range list.Items {
		plan := &list.Items[i]
		if plan.Status.Phase.Final() || plan.Status.Phase == "" {
			continue
		}
		places := known[string(plan.UID)]
		if places == nil {
			var err error
			if places, err = targetsOf(ctx, reader, plan); err != nil {
				return err
			}
		}
		plans[string(plan.UID)] = places
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.plans = plans
	return nil
}

// targetsOf are a plan's targets. A slice that is missing, or isn't proven to be the
// manager's, tells nothing.
func targetsOf(ctx context.Context, reader client.Reader, plan *v1alpha1.Remediation) (map[place]sliceOf, error) {
	places := map[place]sliceOf{}
	for _, name := range plan.Spec.Plan.Slices {
		slice := &v1alpha1.RemediationSlice{}
		err := reader.Get(ctx, client.ObjectKey{Name: name}, slice)
		if tellsNothing(err) != nil {
			return nil, err
		}
		if err != nil {
			continue
		}
		for _, t := range slice.Targets {
			places[placeOfTarget(t.Object)] = sliceOf{plan.Name, name}
		}
	}
	return places, nil
}
