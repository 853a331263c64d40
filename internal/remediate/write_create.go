// SPDX-License-Identifier: Apache-2.0

package remediate

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
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// creation makes another object. It bears the plan's name and the target's UID,
// by which it is known after a crash and when it is to be undone.
type creation struct{}

// manifest completes what the policy gives: the namespace of the target, and the
// marks of the plan.
func (a *attempt) manifest(made map[string]any) (*unstructured.Unstructured, error) {
	made = action.Marked(made,
		map[string]string{v1alpha1.LabelPolicy: a.plan.Policy.Name, v1alpha1.LabelRemediation: a.remediation},
		map[string]string{v1alpha1.AnnotationCreatedFor: a.target.Object.UID})
	obj := &unstructured.Unstructured{Object: made}
	gvk := obj.GroupVersionKind()
	mapping, err := a.targets.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("create %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	if namespaced != (a.object.GetNamespace() != "") {
		return nil, fmt.Errorf("create %s %s: an object in a namespace may get another in that namespace, one of the "+
			"cluster another of the cluster, and nothing else",
			obj.GetKind(), obj.GetName())
	}
	obj.SetNamespace(a.object.GetNamespace())
	return obj, nil
}

func (c creation) dryRun(ctx context.Context, a *attempt, w *write) *v1alpha1.TargetRecord {
	raw, err := json.Marshal(w.object.Object)
	if err != nil {
		return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	w.record.Manifest = &apiextensionsv1.JSON{Raw: raw}
	w.record.Object = &v1alpha1.ObjectReference{APIVersion: w.object.GetAPIVersion(), Kind: w.object.GetKind(),
		Namespace: w.object.GetNamespace(), Name: w.object.GetName()}
	w.record.UID, w.record.ResourceVersion = "", ""
	stored, err := a.targets.create(ctx, w.object, client.DryRunAll)
	if apierrors.IsAlreadyExists(err) {
		f, err := c.find(ctx, a.targets, a.target.Object, &w.record)
		switch {
		case err != nil:
			return a.fromError(err)
		case f.side == sideNeither:
			return a.failed(v1alpha1.ReasonExists,
				w.record.Object.String()+" exists with another content: it isn't ours to change")
		case f.side != sideAfter:
			return a.retry(w.record.Object.String()+" was deleted a moment ago", kube.ConflictBackoff)
		}
		stored = f.object
	} else if err != nil {
		return a.notCreated(w, err)
	}
	if w.record.DigestAfter, err = contentDigest(stored); err != nil {
		return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	return nil
}

// notCreated decides what an error of the dry run means. That something isn't
// found is the fix's fault here, and no news of the target.
func (a *attempt) notCreated(w *write, err error) *v1alpha1.TargetRecord {
	if kube.Classify(err) == kube.Gone {
		return a.failed(v1alpha1.ReasonDryRunRefused,
			fmt.Sprintf("%s can't be created: %v", w.record.Object.String(), err))
	}
	return a.fromError(err)
}

func (c creation) send(ctx context.Context, t *targets, w *write) error {
	stored, err := t.create(ctx, w.object)
	if apierrors.IsAlreadyExists(err) {
		f, findErr := c.find(ctx, t, v1alpha1.ObjectReference{}, &w.record)
		if findErr != nil || f.side != sideAfter {
			return err
		}
		stored, err = f.object, nil
	}
	if err != nil {
		return err
	}
	return c.keep(&w.record, stored)
}

// keep leaves the UID of an object that somebody else made out of the record: it
// isn't ours to undo.
func (creation) keep(rec *v1alpha1.WriteRecord, stored *unstructured.Unstructured) error {
	manifest, err := manifestOf(rec)
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

// find says after when the object is there and is ours, or holds all that ours
// would.
func (creation) find(ctx context.Context, t *targets, _ v1alpha1.ObjectReference, w *v1alpha1.WriteRecord) (
	finding, error) {
	manifest, err := manifestOf(w)
	if err != nil {
		return finding{}, err
	}
	obj, err := t.read(ctx, *w.Object)
	switch {
	case kube.Classify(err) == kube.Gone:
		return finding{side: sideBefore}, nil
	case err != nil:
		return finding{}, err
	case obj.GetDeletionTimestamp() != nil:
		return finding{side: sideBefore, object: obj}, nil
	case ours(obj, manifest), action.Holds(action.Content(obj.Object), action.Content(manifest.Object)):
		return finding{side: sideAfter, object: obj}, nil
	default:
		return finding{side: sideNeither, object: obj}, nil
	}
}

// undo deletes what was made, unless somebody has changed it since.
func (creation) undo(ctx context.Context, t *targets, _ v1alpha1.ObjectReference, w *v1alpha1.WriteRecord,
	f finding) undone {
	manifest, err := manifestOf(w)
	if err != nil {
		return undone{err: err}
	}
	if !ours(f.object, manifest) || w.UID != "" && w.UID != string(f.object.GetUID()) {
		return undone{state: v1alpha1.TargetReverted} // somebody else's
	}
	digest, err := contentDigest(f.object)
	if err != nil {
		return undone{err: err}
	}
	if w.AppliedAt != nil && digest != w.DigestAfter {
		return undone{state: v1alpha1.TargetRevertConflict, reason: v1alpha1.ReasonConflict,
			message: fmt.Sprintf(
				"somebody has changed %s since it was created: it is kept; delete it if nobody needs it",
				w.Object.String())}
	}
	if err := t.remove(ctx, f.object); err != nil && kube.Classify(err) != kube.Gone {
		return undone{err: err}
	}
	return undone{state: v1alpha1.TargetReverted}
}

// ours says whether an object bears the marks of the manifest that we sent.
func ours(obj, manifest *unstructured.Unstructured) bool {
	return obj.GetLabels()[v1alpha1.LabelRemediation] == manifest.GetLabels()[v1alpha1.LabelRemediation] &&
		obj.GetAnnotations()[v1alpha1.AnnotationCreatedFor] == manifest.GetAnnotations()[v1alpha1.AnnotationCreatedFor]
}

func manifestOf(w *v1alpha1.WriteRecord) (*unstructured.Unstructured, error) {
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
