// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
)

// removal is what deletion and eviction have in common: the object that was read
// is gone after it.
type removal struct{}

// find says after as soon as the object is being deleted: that can't be stopped.
// Who deleted it makes no difference.
func (removal) find(ctx context.Context, t *targets, ref v1alpha1.ObjectReference, w *v1alpha1.WriteRecord) (
	finding, error) {
	obj, err := t.read(ctx, ref)
	switch {
	case kube.Classify(err) == kube.Gone:
		return finding{side: sideAfter}, nil
	case err != nil:
		return finding{}, err
	case string(obj.GetUID()) != w.UID, obj.GetDeletionTimestamp() != nil:
		return finding{side: sideAfter, object: obj}, nil
	default:
		return finding{side: sideBefore, object: obj}, nil
	}
}

func (removal) keep(*v1alpha1.WriteRecord, *unstructured.Unstructured) error { return nil }

// deletion deletes the target.
type deletion struct{ removal }

func (deletion) dryRun(ctx context.Context, a *attempt, w *write) *v1alpha1.TargetRecord {
	raw, err := json.Marshal(w.Object)
	if err != nil {
		return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	w.record.Manifest = &apiextensionsv1.JSON{Raw: raw}
	if err := a.targets.remove(ctx, w.object, client.DryRunAll); err != nil {
		return a.fromError(err)
	}
	return nil
}

func (deletion) send(ctx context.Context, t *targets, w *write) error {
	return t.remove(ctx, w.object)
}

// undo makes the object again. It has a new UID, and no status until its
// controller writes one.
func (deletion) undo(ctx context.Context, t *targets, ref v1alpha1.ObjectReference, w *v1alpha1.WriteRecord,
	f finding) undone {
	manifest, err := manifestOf(w)
	if err != nil {
		return undone{err: err}
	}
	switch {
	case f.object == nil:
	case string(f.object.GetUID()) == w.UID:
		return undone{state: v1alpha1.TargetRevertConflict, reason: v1alpha1.ReasonNoUndo, message: fmt.Sprintf(
			"it is being deleted, which can't be stopped, and waits for its finalizers (%s): once it is gone, make it "+
				"again from the record's manifest",
			strings.Join(f.object.GetFinalizers(), ", "))}
	case action.Holds(action.Content(f.object.Object), action.Content(manifest.Object)):
		u := undone{state: v1alpha1.TargetReverted,
			message: "it is there again, with the UID " + string(f.object.GetUID())}
		if slices.ContainsFunc(f.object.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == v1alpha1.RollbackFieldManager
		}) {
			return madeAgain(u, manifest, f.object)
		}
		return u
	default:
		return undone{state: v1alpha1.TargetRevertConflict, reason: v1alpha1.ReasonConflict,
			message: "somebody has created another object under its name: theirs is kept; the record's manifest is " +
				"what was deleted"}
	}
	stored, err := t.create(ctx, manifest, client.FieldOwner(v1alpha1.RollbackFieldManager))
	if err != nil {
		return undone{err: fmt.Errorf("create %s again: %w", ref.String(), err)}
	}
	return madeAgain(undone{state: v1alpha1.TargetReverted,
		message: "it was created again, with the UID " + string(stored.GetUID())}, manifest, stored)
}

// madeAgain compares an object that we have created again with what was deleted.
func madeAgain(u undone, manifest, live *unstructured.Unstructured) undone {
	proof, err := surplus.Expect(manifest, "", v1alpha1.RollbackFieldManager)
	if err != nil {
		return undone{err: err}
	}
	more, err := surplus.Beyond(proof, live, "", v1alpha1.RollbackFieldManager)
	if err != nil {
		return undone{err: err}
	}
	u.beyond = more.Path
	return u
}

// eviction evicts the target, a Pod.
type eviction struct{ removal }

func (eviction) dryRun(ctx context.Context, a *attempt, w *write) *v1alpha1.TargetRecord {
	owner := metav1.GetControllerOfNoCopy(w.object)
	if owner == nil {
		return a.failed(v1alpha1.ReasonFixInvalid, "no controller made the Pod: nothing would make another")
	}
	ref := v1alpha1.ObjectReference{APIVersion: owner.APIVersion, Kind: owner.Kind,
		Namespace: w.object.GetNamespace(), Name: owner.Name, UID: string(owner.UID)}
	controller, err := a.targets.read(ctx, ref)
	switch {
	case kube.Classify(err) == kube.Gone:
		return a.retry(ref.String()+", which made the Pod, is gone: the Pod goes with it",
			a.targets.backoff(a.previous.Attempts))
	case kube.Classify(err) == kube.Forbidden:
		return a.missingPermission(
			permissions.Need{Kind: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), Verbs: []string{"get"},
				Namespace: ref.Namespace}, err)
	case err != nil:
		return a.fromError(err)
	}
	health, why, err := healthcheck.Of(a.plan.Strategy, controller)
	if err != nil {
		return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	if health == kube.Unknown && healthcheck.Covered(a.plan.Strategy) == "" {
		return a.failed(v1alpha1.ReasonHealthUnknown,
			ref.String()+", which made the Pod: "+healthcheck.Advice(why, kube.KindOf(ref)))
	}
	lineage, err := kube.RootOf(ctx, &a.targets.owners, w.object)
	if err != nil {
		return a.fromError(err)
	}
	w.record.Controller, w.record.HealthBefore = &ref, health.String()
	if root, known := lineage.Top(); known {
		w.record.Root = &root
	}
	if err := a.targets.evict(ctx, w.object, client.DryRunAll); err != nil {
		return a.fromError(err)
	}
	return nil
}

func (eviction) send(ctx context.Context, t *targets, w *write) error {
	return t.evict(ctx, w.object)
}

// undo says that it can't.
func (eviction) undo(context.Context, *targets, v1alpha1.ObjectReference, *v1alpha1.WriteRecord, finding) undone {
	verb, _ := action.DefinitionOf(policy.ActionEvict)
	return undone{state: v1alpha1.TargetRevertConflict, reason: v1alpha1.ReasonNoUndo, message: verb.NoUndo}
}
