// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// FieldOwner is the field manager of what migration writes.
const FieldOwner = "evenkeel-migrate"

// Outcome is what became of an object that migration writes.
type Outcome string

// What may become of one.
const (
	Created    Outcome = "created"
	Configured Outcome = "configured"
	Unchanged  Outcome = "unchanged"
)

// Origin is what of Gatekeeper's an object stands for.
type Origin struct {
	// ID is KIND/NAME.
	ID  string
	UID types.UID
	// Digest is of what a policy is made of; empty for a template.
	Digest string
}

// OriginOf is the origin of what an object, given as JSON values, becomes.
func OriginOf(object map[string]any) Origin {
	u := unstructured.Unstructured{Object: object}
	return Origin{ID: u.GetKind() + "/" + u.GetName(), UID: u.GetUID()}
}

// Origin is the origin of the policy of a constraint of the source.
func (s *Source) Origin(c *Constraint) Origin {
	from := OriginOf(c.Object.Object)
	from.Digest = s.Digest(c)
	return from
}

// writeTries is how often a write is tried that conflicts with others, such as Gatekeeper's or the manager's of status.
const writeTries = 64

// Applier writes what Gatekeeper's objects become.
type Applier struct {
	Client client.Client
	// DryRun has the API server and admission check what isn't stored then.
	DryRun bool
	// Force writes over what others have changed of what migration wrote.
	Force bool
}

// Apply writes a policy or template. A new policy only records; one that is there keeps its admission.action. It is an
// error if migration hasn't written an object, or if others have changed it since.
func (a *Applier) Apply(ctx context.Context, wanted client.Object, kind string, from Origin) (Outcome, error) {
	object, err := content(wanted, kind)
	if err != nil {
		return "", err
	}
	outcome := Outcome("")
	for range writeTries {
		if outcome, err = a.once(ctx, object.DeepCopy(), from); !apierrors.IsConflict(err) {
			break
		}
	}
	if apierrors.IsConflict(err) {
		return "", fmt.Errorf("somebody else has changed %s %s, which is left as it is: take the change back, or give "+
			"--force-conflicts to write over it: %w", kind, object.GetName(), err)
	}
	return outcome, err
}

// once tries to write an object. It is a conflict if the object changes meanwhile.
func (a *Applier) once(ctx context.Context, object *unstructured.Unstructured, from Origin) (Outcome, error) {
	stored := object.DeepCopy()
	err := a.Client.Get(ctx, client.ObjectKeyFromObject(object), stored)
	isNew := apierrors.IsNotFound(err)
	if err != nil && !isNew {
		return "", fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if !isNew {
		if err := written(stored, from); err != nil {
			return "", err
		}
		object.SetUID(stored.GetUID())
	}
	object.SetAnnotations(map[string]string{v1alpha1.AnnotationMigratedFrom: from.ID,
		v1alpha1.AnnotationMigratedUID: string(from.UID)})
	switch {
	case object.GetKind() == policyKind && isNew:
		return a.create(ctx, object, from)
	case object.GetKind() == policyKind:
		return a.update(ctx, object, stored, from)
	}
	if err := a.send(ctx, object); err != nil {
		return "", err
	}
	switch {
	case isNew:
		return Created, nil
	case unwritten(object, stored):
		return Unchanged, nil
	}
	return Configured, nil
}

func unwritten(after, before *unstructured.Unstructured) bool {
	return after.GetUID() == before.GetUID() && after.GetGeneration() == before.GetGeneration() &&
		maps.Equal(after.GetAnnotations(), before.GetAnnotations())
}

// policyKind is the kind of policies.
const policyKind = "ClusterRegoPolicy"

func (a *Applier) send(ctx context.Context, object *unstructured.Unstructured) error {
	opts := []client.ApplyOption{client.FieldOwner(FieldOwner)}
	if a.DryRun {
		opts = append(opts, client.DryRunAll)
	}
	if a.Force {
		opts = append(opts, client.ForceOwnership)
	}
	if err := a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), opts...); err != nil {
		return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// written says that migration hasn't written an object, or for something else.
func written(stored *unstructured.Unstructured, from Origin) error {
	switch by := stored.GetAnnotations()[v1alpha1.AnnotationMigratedFrom]; by {
	case from.ID:
		return nil
	case "":
		return fmt.Errorf("%s %s is there already and wasn't written by migration: it is left as it is; rename one of "+
			"it and %s", stored.GetKind(), stored.GetName(), from.ID)
	default:
		return fmt.Errorf("%s %s stands for %s already: rename one of the two", stored.GetKind(), stored.GetName(), by)
	}
}

// content is what is applied of an object: its spec and name.
func content(wanted client.Object, kind string) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(wanted)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", kind, wanted.GetName(), err)
	}
	var values struct {
		Spec map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", kind, wanted.GetName(), err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": values.Spec}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	object.SetName(wanted.GetName())
	return object, nil
}

func setAction(object *unstructured.Unstructured, action v1alpha1.AdmissionAction) {
	// It fails only where spec is no map, and that of a policy is one.
	_ = unstructured.SetNestedField(object.Object, string(action), "spec", "admission", "action")
}
