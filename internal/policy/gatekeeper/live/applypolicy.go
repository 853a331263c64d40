// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func (a *Applier) create(ctx context.Context, object *unstructured.Unstructured, from Origin) (Outcome, error) {
	if err := marked(object, from); err != nil {
		return "", err
	}
	setAction(object, v1alpha1.AdmissionAudit)
	opts := []client.CreateOption{client.FieldOwner(FieldOwner)}
	if a.DryRun {
		opts = append(opts, client.DryRunAll)
	}
	if err := a.Client.Create(ctx, object, opts...); err != nil {
		return "", fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return Created, nil
}

// update replaces the spec of a policy but its admission.action, and nothing that a person has changed of it unless
// that is forced. It isn't applied by the server, which would merge a person's entries of lists into those wanted.
func (a *Applier) update(ctx context.Context, object, stored *unstructured.Unstructured, from Origin) (Outcome,
	error) {
	changes, err := edited(stored, object)
	if err != nil {
		return "", err
	}
	if len(changes) > 0 && !a.Force {
		return "", fmt.Errorf("somebody else has changed policy %s since it was written by apply (%s), so that it is "+
			"left as it is: take the change back, or give --force-conflicts to write over it", stored.GetName(),
			strings.Join(changes, ", "))
	}
	if err := marked(object, from); err != nil {
		return "", err
	}
	next := stored.DeepCopy()
	next.Object["spec"] = object.Object["spec"]
	if action, found, _ := unstructured.NestedString(stored.Object, "spec", "admission", "action"); found {
		setAction(next, v1alpha1.AdmissionAction(action))
	}
	annotations := next.GetAnnotations()
	maps.Copy(annotations, object.GetAnnotations()) // it has some: it was written by migration
	next.SetAnnotations(annotations)
	same, err := alike(next, stored)
	if err != nil || same {
		return Unchanged, err
	}
	opts := []client.UpdateOption{client.FieldOwner(FieldOwner)}
	if a.DryRun {
		opts = append(opts, client.DryRunAll)
	}
	if err := a.Client.Update(ctx, next, opts...); err != nil {
		return "", fmt.Errorf("update %s %s: %w", stored.GetKind(), stored.GetName(), err)
	}
	return Configured, nil
}

// marked adds what a policy keeps of how it was made. A spec that is too long for that isn't kept.
func marked(object *unstructured.Unstructured, from Origin) error {
	made, err := json.Marshal(object.Object["spec"])
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	annotations := object.GetAnnotations()
	annotations[v1alpha1.AnnotationMigratedDigest] = from.Digest
	annotations[v1alpha1.AnnotationMigratedSpec] = ""
	if len(made) <= maxMade {
		annotations[v1alpha1.AnnotationMigratedSpec] = string(made)
	}
	object.SetAnnotations(annotations)
	return nil
}

// alike says that a policy would stay as it is stored.
func alike(next, stored *unstructured.Unstructured) (bool, error) {
	wanted, err := fieldsOf(next.Object["spec"])
	if err != nil {
		return false, err
	}
	has, err := fieldsOf(stored.Object["spec"])
	if err != nil {
		return false, err
	}
	return maps.Equal(wanted, has) && maps.Equal(next.GetAnnotations(), stored.GetAnnotations()), nil
}
