// SPDX-License-Identifier: Apache-2.0

package surplus

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
)

const (
	// managerBytes is how much is kept of the hash of an entry of managedFields.
	managerBytes = 4
	// maxManagers bounds the entries of which a hash is kept.
	maxManagers = 128
)

// Expect makes the proof of what an object is to hold after a write of ours by a field
// manager: what it holds beside, once the answer is lost, came with the write, unless
// managedFields say who else has put it there since.
func Expect(obj *unstructured.Unstructured, subresource, own string) (*v1alpha1.ExpectedContent, error) {
	f, err := action.FingerprintOf(withoutSecrets(obj), subresource)
	if err != nil {
		return nil, err
	}
	out := &v1alpha1.ExpectedContent{Digest: f.Digest, Places: f.Places}
	for _, entry := range others(obj, own) {
		if len(out.Managers) < maxManagers*managerBytes {
			out.Managers = append(out.Managers, lastWrite(entry)...)
		}
	}
	out.Others, err = setByOthers(obj, own)
	return out, err
}

// ExpectWrite is expect for a fix of an object, before and after it.
func ExpectWrite(before, after *unstructured.Unstructured, subresource string) (*v1alpha1.ExpectedContent, error) {
	out, err := Expect(after, subresource, v1alpha1.FieldManager)
	if own := setByUs(after, subresource); err == nil && own != setByUs(before, subresource) {
		out.Own = own
	}
	return out, err
}

// setByUs is the digest of what our field manager has set; empty for nothing.
func setByUs(obj *unstructured.Unstructured, subresource string) string {
	for _, e := range obj.GetManagedFields() {
		if e.Manager == v1alpha1.FieldManager && e.Operation == metav1.ManagedFieldsOperationUpdate &&
			e.Subresource == subresource && e.FieldsV1 != nil {
			sum := sha256.Sum256(e.FieldsV1.GetRawBytes())
			return hex.EncodeToString(sum[:])
		}
	}
	return ""
}

// Bent says whether a write of ours has reached its object though its fields hold neither
// what was there before nor what it set: it set them, and nobody else has written since.
func Bent(w *v1alpha1.WriteRecord, live *unstructured.Unstructured) bool {
	if w.Expected == nil || w.Expected.Own == "" || live == nil || live.GetDeletionTimestamp() != nil {
		return false
	}
	others, err := setByOthers(live, v1alpha1.FieldManager)
	return err == nil && others == w.Expected.Others && setByUs(live, w.Subresource) == w.Expected.Own
}

// withoutSecrets is an object as its fingerprint has it: a hash would confirm a guess of a
// Secret's value.
func withoutSecrets(obj *unstructured.Unstructured) map[string]any {
	censored, _ := policy.CensorPair(obj.Object, nil)
	return censored
}

// others are the entries of managedFields that aren't of our own field manager.
func others(obj *unstructured.Unstructured, own string) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(obj.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == own })
}

// lastWrite tells one entry from that of a later write of the same manager, in another
// second: within one they can't be told apart, and what differs counts as the webhook's for
// the verdict, so that a person gets to know of it, and as theirs for the undoing.
func lastWrite(e metav1.ManagedFieldsEntry) []byte {
	var at string
	if e.Time != nil {
		at = e.Time.UTC().Format(time.RFC3339)
	}
	sum := sha256.Sum256(
		[]byte(fmt.Sprintf("%q", []string{e.Manager, string(e.Operation), e.APIVersion, e.Subresource, at})))
	return sum[:managerBytes]
}

// setByOthers is the digest of what others have set, but by the status: as long as it is
// the same, nobody else has written the object by a write that can set anything.
func setByOthers(obj *unstructured.Unstructured, own string) (string, error) {
	entries := slices.DeleteFunc(others(obj, own), func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == policy.StatusSubresource
	})
	if len(entries) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(entries)
	if err != nil {
		return "", fmt.Errorf("encode managedFields: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// Found is what an object holds beyond what a write of ours was to make of it, and nobody
// else is known to have put there since.
type Found struct {
	// Path is the first place of it; empty for none.
	Path string
	// Added can be set back: there was nothing, and nobody else has written since.
	Added []action.Field
	// Kept is the first place that can't be: what it held is known to nobody, or
	// somebody else may have put it there.
	Kept string
}

// wholeObject stands for a path when no more is known.
const wholeObject = "a field that isn't known any more"

// Beyond compares an object with what a write was to make of it. What lies in the fields of
// the fix is known from its record.
func Beyond(e *v1alpha1.ExpectedContent, live *unstructured.Unstructured, subresource, own string,
	fix ...action.Field) (Found, error) {
	var out Found
	if e == nil || live == nil || live.GetDeletionTimestamp() != nil {
		return out, nil
	}
	differences, err := (action.Fingerprint{Digest: e.Digest, Places: e.Places}).Differences(
		withoutSecrets(live), subresource)
	if err != nil || len(differences) == 0 {
		return out, err
	}
	now, err := setByOthers(live, own)
	owners, ours := kube.FieldOwnersOf(live.Object, live.GetManagedFields()), ownTime(live, own)
	for _, d := range differences {
		_, other := action.Beyond(fix, []action.Field{{Path: d.Path}})
		if (other || d.Removed) && !setSince(e, owners, d, own, ours) {
			out.add(d, live, now == e.Others && !withinOneSecond(owners, d, own, ours))
		}
	}
	return out, err
}

func (f *Found) add(d action.Difference, live *unstructured.Unstructured, alone bool) {
	path := cmp.Or(d.Path, wholeObject)
	f.Path = cmp.Or(f.Path, path)
	if d.Added && alone {
		value, _ := action.Lookup(action.Unmarked(live.Object), d.Path)
		f.Added = append(f.Added, action.Field{Path: d.Path, After: value, HasAfter: true})
		return
	}
	f.Kept = cmp.Or(f.Kept, path)
}

// setSince says whether somebody else has set a place since our write. Of what is gone
// nobody can tell.
func setSince(e *v1alpha1.ExpectedContent, owners *kube.FieldOwners, d action.Difference, own string,
	ours *metav1.Time) bool {
	place := action.Tokens(d.Path)
	if d.Removed {
		place = append(place, "") // set as a whole only
	}
	return owners.AnyOwns(place, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager != own && (!wroteBefore(e, entry) || keptWithStatus(entry, ours))
	})
}

// keptWithStatus says whether a place is one that a controller keeps by writing the status,
// such as a Deployment's revision, and that it has written within the second of our write, or
// later: it follows each of our writes, often within the second, and so it is taken for the
// controller's, though a webhook may have changed it.
func keptWithStatus(entry metav1.ManagedFieldsEntry, ours *metav1.Time) bool {
	return entry.Subresource == policy.StatusSubresource && ours != nil && !entry.Time.Before(ours)
}

// withinOneSecond says whether somebody else may have set a place after our write without a
// trace: it lies in a field that they hold as a whole, so that their entry names no more
// than before, and managedFields tell times in whole seconds, in which two writes of theirs
// and ours between them have room.
func withinOneSecond(owners *kube.FieldOwners, d action.Difference, own string, ours *metav1.Time) bool {
	return owners.AnyOwns(action.Tokens(d.Path), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager != own && (entry.Time == nil || !entry.Time.Before(ours))
	})
}

// ownTime is when our field manager has written the object last; nil, which nothing is
// before, when no entry of it is left.
func ownTime(live *unstructured.Unstructured, own string) *metav1.Time {
	var last *metav1.Time
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == own && (last == nil || last.Before(entry.Time)) {
			last = entry.Time
		}
	}
	return last
}

func wroteBefore(e *v1alpha1.ExpectedContent, entry metav1.ManagedFieldsEntry) bool {
	hash := lastWrite(entry)
	for known := range slices.Chunk(e.Managers, managerBytes) {
		if bytes.Equal(known, hash) {
			return true
		}
	}
	return false
}
