// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Live is the Cluster of a constraint and its policy in a real one.
type Live struct {
	Objects dynamic.Interface
	Client  client.Client
	// Of is the constraint, and PolicyName its policy.
	Of         *Constraint
	PolicyName string
	// Cause is why enforcement is handed over, or back, in spite of what stands against it; empty where nothing does.
	Cause string
}

// Policy reads the policy.
func (l *Live) Policy(ctx context.Context) (*v1alpha1.ClusterRegoPolicy, error) {
	p := &v1alpha1.ClusterRegoPolicy{}
	if err := l.Client.Get(ctx, client.ObjectKey{Name: l.PolicyName}, p); err != nil {
		return nil, fmt.Errorf("read policy %s: %w", l.PolicyName, err)
	}
	p.SetDefaults()
	return p, nil
}

// Constraint reads the constraint.
func (l *Live) Constraint(ctx context.Context) (*Constraint, error) {
	object, err := l.Objects.Resource(l.Of.Resource).Get(ctx, l.Of.Object.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read constraint %s: %w", l.Of.ID(), err)
	}
	return &Constraint{Object: object, Resource: l.Of.Resource}, nil
}

// MarkConstraint keeps in the constraint which run was the last to begin with it.
func (l *Live) MarkConstraint(ctx context.Context, c *Constraint, run string) error {
	return l.patch(ctx, c, map[string]any{}, mark(run))
}

// MarkPolicy keeps in the policy which run was the last to begin with it.
func (l *Live) MarkPolicy(ctx context.Context, p *v1alpha1.ClusterRegoPolicy, run string) error {
	return l.patchPolicy(ctx, p, map[string]any{}, mark(run))
}

func mark(run string) map[string]any {
	if run == "" {
		return map[string]any{v1alpha1.AnnotationHandover: nil}
	}
	return map[string]any{v1alpha1.AnnotationHandover: run}
}

// SetAction changes what the policy does at admission.
func (l *Live) SetAction(ctx context.Context, p *v1alpha1.ClusterRegoPolicy, action v1alpha1.AdmissionAction) error {
	return l.patchPolicy(ctx, p, map[string]any{"spec": map[string]any{"admission": map[string]any{"action": action}}},
		nil)
}

// patchPolicy merges a change and annotations into the policy.
func (l *Live) patchPolicy(ctx context.Context, p *v1alpha1.ClusterRegoPolicy, change,
	annotations map[string]any) error {
	return write("policy "+p.Name, p, func() (metav1.Object, error) { return l.Policy(ctx) },
		func(guard map[string]any) error {
			if annotations != nil {
				guard["annotations"] = annotations
			}
			change["metadata"] = guard
			patch, err := json.Marshal(change)
			if err != nil {
				return fmt.Errorf("encode a patch: %w", err)
			}
			return l.Client.Patch(ctx, &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: p.Name}},
				client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldOwner))
		})
}

// Yield has the constraint only record.
func (l *Live) Yield(ctx context.Context, c *Constraint, policy string) error {
	annotations := map[string]any{v1alpha1.AnnotationEnforcedBy: policy,
		v1alpha1.AnnotationEnforcementAction: c.Enforcement(), v1alpha1.AnnotationHandover: nil}
	return l.patch(ctx, c, map[string]any{"spec": map[string]any{"enforcementAction": dryRun}}, l.forced(annotations))
}

// forced keeps in some annotations why enforcement is handed over all the same, and takes an earlier reason away.
func (l *Live) forced(annotations map[string]any) map[string]any {
	annotations[v1alpha1.AnnotationSwitchReason] = nil
	if l.Cause != "" {
		annotations[v1alpha1.AnnotationSwitchReason] = l.Cause
	}
	return annotations
}

// Restore has the constraint enforce as it did before Yield.
func (l *Live) Restore(ctx context.Context, c *Constraint) error {
	var action any = c.own()
	if action == "" {
		action = nil // it named none
	}
	return l.patch(ctx, c, map[string]any{"spec": map[string]any{"enforcementAction": action}},
		l.forced(map[string]any{v1alpha1.AnnotationEnforcedBy: nil, v1alpha1.AnnotationEnforcementAction: nil}))
}

// patch merges a change and annotations into the constraint.
func (l *Live) patch(ctx context.Context, c *Constraint, change, annotations map[string]any) error {
	now := func() (metav1.Object, error) {
		read, err := l.Constraint(ctx)
		if err != nil {
			return nil, err
		}
		return read.Object, nil
	}
	return write("constraint "+c.ID(), c.Object, now, func(guard map[string]any) error {
		guard["annotations"] = annotations
		change["metadata"] = guard
		patch, err := json.Marshal(change)
		if err != nil {
			return fmt.Errorf("encode a patch: %w", err)
		}
		_, err = l.Objects.Resource(c.Resource).Patch(ctx, c.Object.GetName(), types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: FieldOwner})
		return err
	})
}

// writeTries is how often a write is tried that meets writes of the status: each audit is one, and on a busy machine
// Gatekeeper's several controllers make some a second, between the read and the write.
const writeTries = 64

// write patches an object that asks for what it did when it was read. Its status may have been written since, so
// that it is read anew, and the patch counts for what was read then.
func write(what string, was metav1.Object, read func() (metav1.Object, error),
	patch func(guard map[string]any) error) error {
	var err error
	for range writeTries {
		var now metav1.Object
		if now, err = read(); err != nil {
			return err
		}
		if !asksTheSame(was, now) {
			return fmt.Errorf("somebody else has changed %s meanwhile, which is left as it is: look at it, and run "+
				"the command again", what)
		}
		guard := map[string]any{"uid": string(now.GetUID()), "resourceVersion": now.GetResourceVersion()}
		if err = patch(guard); !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("change %s: %w", what, err)
	}
	return nil
}

// asksTheSame says that an object is the same, with the same spec and the same marks of a handover.
func asksTheSame(a, b metav1.Object) bool {
	for _, key := range []string{v1alpha1.AnnotationEnforcedBy, v1alpha1.AnnotationEnforcementAction,
		v1alpha1.AnnotationMigratedFrom, v1alpha1.AnnotationMigratedUID, v1alpha1.AnnotationHandover} {
		before, had := a.GetAnnotations()[key]
		now, has := b.GetAnnotations()[key]
		if before != now || had != has {
			return false
		}
	}
	return a.GetUID() == b.GetUID() && a.GetGeneration() == b.GetGeneration()
}
