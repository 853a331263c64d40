// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"encoding/json"
	"fmt"
	"reflect"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// brings says whether a request leaves its object as it was before one of a target's
// writes, and changes nothing else.
func brings(target v1alpha1.ObjectReference, rec v1alpha1.TargetRecord, r *policy.Request) (bool, error) {
	writes := rec.Preceding
	if rec.Write != nil {
		writes = append(writes[:len(writes):len(writes)], *rec.Write)
	}
	for i := range writes {
		w := &writes[i]
		if w.RevertedAt != nil || w.Object != nil {
			continue
		}
		proven, err := bringsBack(target, w, r)
		if err != nil {
			return false, fmt.Errorf("the record of %s %s can't be compared: %w", target.Kind, target.Name, err)
		}
		if proven {
			return true, nil
		}
	}
	return false, nil
}

func bringsBack(target v1alpha1.ObjectReference, w *v1alpha1.WriteRecord, r *policy.Request) (bool, error) {
	switch {
	case r.Object["apiVersion"] != target.APIVersion:
		return false, nil // the fields may have other names
	case r.Operation == policy.Create && w.Action == v1alpha1.ActionDelete:
		return isManifest(w, r.Object)
	case r.Operation == policy.Update && w.Manifest == nil:
		return isInverse(w, r)
	}
	return false, nil
}

// isManifest says whether an object is the one that was deleted.
func isManifest(w *v1alpha1.WriteRecord, object map[string]any) (bool, error) {
	var deleted map[string]any
	if w.Manifest == nil {
		return false, nil
	}
	if err := utiljson.Unmarshal(w.Manifest.Raw, &deleted); err != nil {
		return false, err
	}
	return reflect.DeepEqual(action.Content(object), action.Content(deleted)) && sameMarks(object, deleted), nil
}

// isInverse says whether an update sets the fields of a patch back, and no others.
func isInverse(w *v1alpha1.WriteRecord, r *policy.Request) (bool, error) {
	if uid, _ := action.Lookup(r.OldObject, "/metadata/uid"); uid != w.UID || r.SubResource != w.Subresource {
		return false, nil
	}
	fields, err := action.FromRecordFields(w.Fields)
	if err != nil {
		return false, err
	}
	for digest, object := range map[string]map[string]any{w.DigestAfter: r.OldObject, w.DigestBefore: r.Object} {
		found, err := action.DigestAfter(action.Observe(object, fields))
		if err != nil || found != digest {
			return false, err
		}
	}
	keys, err := action.FromRecordOps(w.Keys)
	if err != nil {
		return false, err
	}
	_, undone := action.Undo(r.OldObject, keys, fields, action.RecordedMark(w.Forward))
	if undone == nil {
		return false, nil // a list was reordered around the values: it isn't the manager's patch
	}
	object, err := plain(r.Object)
	return err == nil && action.SameMark(undone, object) && len(action.DiffStep(undone, object, w.Subresource)) == 0,
		err
}

// plain is an object as Apply answers it.
func plain(object map[string]any) (out map[string]any, err error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return out, utiljson.Unmarshal(raw, &out)
}

// sameMarks says whether what others read of an object's metadata is the same.
func sameMarks(a, b map[string]any) bool {
	for _, field := range []string{"labels", "annotations", "ownerReferences", "finalizers"} {
		was, _ := action.Lookup(a, "/metadata/"+field)
		is, _ := action.Lookup(b, "/metadata/"+field)
		if !reflect.DeepEqual(was, is) {
			return false
		}
	}
	return true
}
