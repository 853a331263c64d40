// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
)

// removal is what deletion and eviction have in common: the object that was read
// is gone after it.
type removal struct{}

// Find says after as soon as the object is being deleted: that can't be stopped.
// Who deleted it makes no difference.
func (removal) Find(ctx context.Context, t *targets.Client, ref v1alpha1.ObjectReference, w *v1alpha1.WriteRecord) (
	Finding, error) {
	obj, err := t.Read(ctx, ref)
	switch {
	case kube.Classify(err) == kube.Gone:
		return Finding{Side: SideAfter}, nil
	case err != nil:
		return Finding{}, err
	case string(obj.GetUID()) != w.UID, obj.GetDeletionTimestamp() != nil:
		return Finding{Side: SideAfter, Object: obj}, nil
	default:
		return Finding{Side: SideBefore, Object: obj}, nil
	}
}

func (removal) Keep(*v1alpha1.WriteRecord, *unstructured.Unstructured) error { return nil }

// deletion deletes the target.
type deletion struct{ removal }

func (deletion) dryRun(ctx context.Context, a *Attempt, w *Write) *v1alpha1.TargetRecord {
	raw, err := json.Marshal(w.Object)
	if err != nil {
		return a.Failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	w.Record.Manifest = &apiextensionsv1.JSON{Raw: raw}
	if err := a.Targets.Remove(ctx, w.Base, client.DryRunAll); err != nil {
		return a.FromError(err)
	}
	return nil
}

func (deletion) Send(ctx context.Context, t *targets.Client, w *Write) error {
	return t.Remove(ctx, w.Base)
}

// Undo makes the object again. It has a new UID, and no status until its
// controller writes one.
func (deletion) Undo(ctx context.Context, t *targets.Client, ref v1alpha1.ObjectReference, w *v1alpha1.WriteRecord,
	f Finding) Undone {
	manifest, err := ManifestOf(w)
	if err != nil {
		return Undone{Err: err}
	}
	switch {
	case f.Object == nil:
	case string(f.Object.GetUID()) == w.UID:
		return Undone{State: v1alpha1.TargetRevertConflict, Reason: v1alpha1.ReasonNoUndo, Message: fmt.Sprintf(
			"it is being deleted, which can't be stopped, and waits for its finalizers (%s): once it is gone, make it "+
				"again from the record's manifest",
			strings.Join(f.Object.GetFinalizers(), ", "))}
	case action.Holds(action.Content(f.Object.Object), action.Content(manifest.Object)):
		u := Undone{State: v1alpha1.TargetReverted,
			Message: "it is there again, with the UID " + string(f.Object.GetUID())}
		if slices.ContainsFunc(f.Object.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == v1alpha1.RollbackFieldManager
		}) {
			return madeAgain(u, manifest, f.Object)
		}
		return u
	default:
		return Undone{State: v1alpha1.TargetRevertConflict, Reason: v1alpha1.ReasonConflict,
			Message: "somebody has created another object under its name: theirs is kept; the record's manifest is " +
				"what was deleted"}
	}
	stored, err := t.Create(ctx, manifest, client.FieldOwner(v1alpha1.RollbackFieldManager))
	if homeless(err) {
		return Undone{State: v1alpha1.TargetRevertConflict, Reason: v1alpha1.ReasonNoUndo, Message: fmt.Sprintf(
			"its namespace %s is gone, or going: the record's manifest is what was deleted", ref.Namespace)}
	}
	if err != nil {
		return Undone{Err: fmt.Errorf("create %s again: %w", ref.String(), err)}
	}
	return madeAgain(Undone{State: v1alpha1.TargetReverted,
		Message: "it was created again, with the UID " + string(stored.GetUID())}, manifest, stored)
}

// homeless says that an object can't be created since there is no namespace for it.
func homeless(err error) bool {
	return kube.Classify(err) == kube.Gone && !kube.DeniedByAdmission(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// madeAgain compares an object that we have created again with what was deleted.
func madeAgain(u Undone, manifest, live *unstructured.Unstructured) Undone {
	proof, err := surplus.Expect(manifest, "", v1alpha1.RollbackFieldManager)
	if err != nil {
		return Undone{Err: err}
	}
	more, err := surplus.Beyond(proof, live, "", v1alpha1.RollbackFieldManager)
	if err != nil {
		return Undone{Err: err}
	}
	u.Beyond = more.Path
	return u
}

// eviction evicts the target, a Pod.
type eviction struct{ removal }

func (eviction) dryRun(ctx context.Context, a *Attempt, w *Write) *v1alpha1.TargetRecord {
	owner := metav1.GetControllerOfNoCopy(w.Base)
	if owner == nil {
		return a.Failed(v1alpha1.ReasonFixInvalid, "no controller made the Pod: nothing would make another")
	}
	ref := v1alpha1.ObjectReference{APIVersion: owner.APIVersion, Kind: owner.Kind,
		Namespace: w.Base.GetNamespace(), Name: owner.Name, UID: string(owner.UID)}
	controller, err := a.Targets.Read(ctx, ref)
	switch {
	case kube.Classify(err) == kube.Gone:
		return a.Retry(ref.String()+", which made the Pod, is gone: the Pod goes with it",
			a.Targets.Backoff(a.Previous.Attempts))
	case kube.Classify(err) == kube.Forbidden:
		return a.missingPermission(
			permissions.Need{Kind: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), Verbs: []string{"get"},
				Namespace: ref.Namespace}, err)
	case err != nil:
		return a.FromError(err)
	}
	health, why, err := healthcheck.Of(a.Plan.Rollout, controller)
	if err != nil {
		return a.Failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	if health == kube.Unknown && healthcheck.Covered(a.Plan.Rollout) == "" {
		return a.Failed(v1alpha1.ReasonHealthUnknown,
			ref.String()+", which made the Pod: "+healthcheck.Advice(why, kube.KindOf(ref)))
	}
	lineage, err := kube.RootOf(ctx, &a.Targets.Owners, w.Base)
	if err != nil {
		return a.FromError(err)
	}
	w.Record.Controller, w.Record.HealthBefore = &ref, health.String()
	if root, known := lineage.Top(); known {
		w.Record.Root = &root
	}
	if err := a.Targets.Evict(ctx, w.Base, client.DryRunAll); err != nil {
		return a.FromError(err)
	}
	return nil
}

func (eviction) Send(ctx context.Context, t *targets.Client, w *Write) error {
	return t.Evict(ctx, w.Base)
}

// Undo says that it can't.
func (eviction) Undo(context.Context, *targets.Client, v1alpha1.ObjectReference, *v1alpha1.WriteRecord,
	Finding) Undone {
	evict, _ := action.DefinitionOf(policy.ActionEvict)
	return Undone{State: v1alpha1.TargetRevertConflict, Reason: v1alpha1.ReasonNoUndo, Message: evict.NoUndo}
}
