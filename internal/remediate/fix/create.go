// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
)

// creation makes another object. It bears the plan's name and the target's UID,
// by which it is known after a crash and when it is to be undone.
type creation struct{}

// manifests are the objects that the fix makes, as they are sent: what the policy gives, with their namespace and the
// marks of the plan.
func (a *Attempt) manifests() (made []*unstructured.Unstructured) {
	for _, given := range action.Made(a.Object.Object, a.Steps) {
		made = append(made, &unstructured.Unstructured{Object: action.Marked(given,
			map[string]string{v1alpha1.LabelPolicy: a.Plan.Policy.Name, v1alpha1.LabelRemediation: a.Remediation},
			map[string]string{v1alpha1.AnnotationCreatedFor: a.Target.Object.UID})})
	}
	return made
}

// fitsScope says with an error that an object isn't one that the target may get.
func (a *Attempt) fitsScope(made *unstructured.Unstructured) error {
	gvk := made.GroupVersionKind()
	mapping, err := a.Targets.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return fmt.Errorf("create %s %s: %w", made.GetKind(), made.GetName(), err)
	}
	if namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace; namespaced != (made.GetNamespace() != "") {
		return fmt.Errorf("create %s %s: an object in a namespace may get another in that namespace, one of the "+
			"cluster another of the cluster, a Namespace also one in itself (its manifest names it in "+
			"metadata.namespace), and nothing else", made.GetKind(), made.GetName())
	}
	return nil
}

func (c creation) dryRun(ctx context.Context, a *Attempt, w *Write) *v1alpha1.TargetRecord {
	raw, err := json.Marshal(w.Base.Object)
	if err != nil {
		return a.Failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	w.Record.Manifest = &apiextensionsv1.JSON{Raw: raw}
	w.Record.Object = &v1alpha1.ObjectReference{APIVersion: w.Base.GetAPIVersion(), Kind: w.Base.GetKind(),
		Namespace: w.Base.GetNamespace(), Name: w.Base.GetName()}
	w.Record.UID, w.Record.ResourceVersion = "", ""
	stored, err := a.Targets.Create(ctx, w.Base, client.DryRunAll)
	if apierrors.IsAlreadyExists(err) {
		f, err := c.Find(ctx, a.Targets, a.Target.Object, &w.Record)
		switch {
		case err != nil:
			return a.FromError(err)
		case f.Side == SideNeither:
			return a.Failed(v1alpha1.ReasonExists,
				w.Record.Object.String()+" exists with another content: it isn't ours to change")
		case f.Side != SideAfter:
			return a.Retry(w.Record.Object.String()+" was deleted a moment ago", kube.ConflictBackoff)
		}
		stored = f.Object
	} else if err != nil {
		return a.notCreated(w, err)
	}
	if w.Record.DigestAfter, err = contentDigest(stored); err != nil {
		return a.Failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	return nil
}

// notCreated decides what an error of the dry run means. That something isn't
// found is the fix's fault here, and no news of the target.
func (a *Attempt) notCreated(w *Write, err error) *v1alpha1.TargetRecord {
	if kube.Classify(err) == kube.Gone {
		return a.Failed(v1alpha1.ReasonDryRunRefused,
			fmt.Sprintf("%s can't be created: %v", w.Record.Object.String(), err))
	}
	return a.FromError(err)
}

func (c creation) Send(ctx context.Context, t *targets.Client, w *Write) error {
	stored, err := t.Create(ctx, w.Base)
	if apierrors.IsAlreadyExists(err) {
		f, findErr := c.Find(ctx, t, v1alpha1.ObjectReference{}, &w.Record)
		if findErr != nil || f.Side != SideAfter {
			return err
		}
		stored, err = f.Object, nil
	}
	if err != nil {
		return err
	}
	return c.Keep(&w.Record, stored)
}

// Keep leaves the UID of an object that somebody else made out of the record: it
// isn't ours to undo.
func (creation) Keep(rec *v1alpha1.WriteRecord, stored *unstructured.Unstructured) error {
	manifest, err := ManifestOf(rec)
	if err != nil {
		return err
	}
	if ours(stored, manifest) {
		rec.UID = string(stored.GetUID())
	}
	rec.ResourceVersion = stored.GetResourceVersion()
	rec.DigestAfter, err = contentDigest(stored)
	return err
}

// Find says after when the object is there and is ours, or holds all that ours
// would.
func (creation) Find(ctx context.Context, t *targets.Client, _ v1alpha1.ObjectReference, w *v1alpha1.WriteRecord) (
	Finding, error) {
	manifest, err := ManifestOf(w)
	if err != nil {
		return Finding{}, err
	}
	obj, err := t.Read(ctx, *w.Object)
	switch {
	case kube.Classify(err) == kube.Gone:
		return Finding{Side: SideBefore}, nil
	case err != nil:
		return Finding{}, err
	case obj.GetDeletionTimestamp() != nil:
		return Finding{Side: SideBefore, Object: obj}, nil
	case ours(obj, manifest), action.Holds(action.Content(obj.Object), action.Content(manifest.Object)):
		return Finding{Side: SideAfter, Object: obj}, nil
	default:
		return Finding{Side: SideNeither, Object: obj}, nil
	}
}

// Undo deletes what was made, unless somebody has changed it since.
func (creation) Undo(ctx context.Context, t *targets.Client, _ v1alpha1.ObjectReference, w *v1alpha1.WriteRecord,
	f Finding) Undone {
	manifest, err := ManifestOf(w)
	if err != nil {
		return Undone{Err: err}
	}
	if !ours(f.Object, manifest) || w.UID != "" && w.UID != string(f.Object.GetUID()) {
		return Undone{State: v1alpha1.TargetReverted} // somebody else's
	}
	digest, err := contentDigest(f.Object)
	if err != nil {
		return Undone{Err: err}
	}
	if w.AppliedTime != nil && digest != w.DigestAfter {
		return Undone{State: v1alpha1.TargetRevertConflict, Reason: v1alpha1.ReasonConflict,
			Message: fmt.Sprintf(
				"somebody has changed %s since it was created: it is kept; delete it if nobody needs it",
				w.Object.String())}
	}
	if err := t.Remove(ctx, f.Object); err != nil && kube.Classify(err) != kube.Gone {
		return Undone{Err: err}
	}
	return Undone{State: v1alpha1.TargetReverted}
}

// ours says whether an object bears the marks of the manifest that we sent.
func ours(obj, manifest *unstructured.Unstructured) bool {
	return obj.GetLabels()[v1alpha1.LabelRemediation] == manifest.GetLabels()[v1alpha1.LabelRemediation] &&
		obj.GetAnnotations()[v1alpha1.AnnotationCreatedFor] == manifest.GetAnnotations()[v1alpha1.AnnotationCreatedFor]
}

// ManifestOf is the object that a recorded write creates, or has deleted.
func ManifestOf(w *v1alpha1.WriteRecord) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	if w.Manifest == nil {
		return nil, fmt.Errorf("the record holds no manifest")
	}
	if err := utiljson.Unmarshal(w.Manifest.Raw, &obj.Object); err != nil {
		return nil, fmt.Errorf("the record's manifest can't be read: %w", err)
	}
	return obj, nil
}

// contentDigest is the SHA-256 of what an object's author wrote.
func contentDigest(obj *unstructured.Unstructured) (string, error) {
	raw, err := json.Marshal(action.Content(obj.Object))
	if err != nil {
		return "", fmt.Errorf("encode %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}
