// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationCreatedFor holds the UID of the object that another one was created
// for by a fix. With evenkeel.dev/remediation-name it tells after a crash whose creation
// it is. On: what a fix creates. By: the manager.
const AnnotationCreatedFor = "evenkeel.dev/created-for"

// WriteRecord is all that is needed to find out whether a write reached its
// object, and to undo it.
type WriteRecord struct {
	// action is what is done: Patch (also for Restart and Scale), Create, Delete or
	// Evict. Empty means Patch.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Action ActionType `json:"action,omitempty"`
	// subresource is where the patch is sent; empty for the object itself.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Subresource string `json:"subresource,omitempty"`
	// object is the object that is created; empty when the target itself is written.
	// +optional
	Object *ObjectReference `json:"object,omitempty"`
	// manifest is the object that is created; of one that is deleted, what makes it
	// again.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Manifest *apiextensionsv1.JSON `json:"manifest,omitempty"`
	// controller is the object whose controller replaces an evicted Pod; then
	// healthBefore is its health.
	// +optional
	Controller *ObjectReference `json:"controller,omitempty"`
	// root is the last of an evicted Pod's owners that is known. Evictions of what it
	// recreates are counted by it.
	// +optional
	Root *ObjectReference `json:"root,omitempty"`
	// uid is the object's UID at the read that the write was computed from; of an
	// object that is created it is empty until it is there.
	// +required
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
	// resourceVersion is the object's at that read.
	// +required
	// +kubebuilder:validation:MaxLength=128
	ResourceVersion string `json:"resourceVersion"`
	// healthBefore is the object's health at that read: Current, InProgress, Failed or Unknown.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	HealthBefore string `json:"healthBefore,omitempty"`
	// readyBefore is how many Pods of a workload were ready at that read.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyBefore int64 `json:"readyBefore,omitempty"`
	// forward is the patch, without its guards.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Forward []PatchOperation `json:"forward,omitempty"`
	// fields are the places that the patch changes, with their values before
	// and after; the inverse patch is made from them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Fields []FieldChange `json:"fields,omitempty"`
	// keys are test operations on the names of the list elements that the
	// fields lie in, so that a reordered list is never patched at the wrong place.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Keys []PatchOperation `json:"keys,omitempty"`
	// digestBefore is the SHA-256 of a patch's fields before.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DigestBefore string `json:"digestBefore,omitempty"`
	// digestAfter is the SHA-256 of a patch's fields after, as the server-side dry
	// run returned them; of an object that is created, of its content.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DigestAfter string `json:"digestAfter,omitempty"`
	// intentTime is when the write was decided.
	// +optional
	IntentTime *metav1.MicroTime `json:"intentTime,omitempty"`
	// appliedTime is when the write was known to have reached the object.
	// +optional
	AppliedTime *metav1.MicroTime `json:"appliedTime,omitempty"`
	// revertedTime is when the write was undone.
	// +optional
	RevertedTime *metav1.MicroTime `json:"revertedTime,omitempty"`
	// expected proves what the object was to hold after the write, as the server-side
	// dry run answered, until the write's own answer is known: what else came with a
	// write whose answer is lost is found by it.
	// +optional
	Expected *ExpectedContent `json:"expected,omitempty"`
	// undoExpected is the same of the undoing.
	// +optional
	UndoExpected *ExpectedContent `json:"undoExpected,omitempty"`
	// beyond is the first place that the write changed though neither its fix nor its dry
	// run did; empty for none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Beyond string `json:"beyond,omitempty"`
	// surplus is a place that the write changed beyond its fix and that can't be
	// reverted from this record.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Surplus string `json:"surplus,omitempty"`
}

// ExpectedContent tells where an object differs from what a write was to make of it,
// without holding it. Values of Secrets don't count.
type ExpectedContent struct {
	// digest is the SHA-256 of the content.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest"`
	// places are truncated hashes of the places, outermost first, each with that of
	// its value. What lies deeper than there is room for is reported as a whole.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Places []byte `json:"places,omitempty"`
	// managers are truncated hashes of when each of the others has written the object
	// last, by its managedFields: who isn't among them has written it since.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Managers []byte `json:"managers,omitempty"`
	// others is the SHA-256 of what the others have set, by its managedFields.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Others string `json:"others,omitempty"`
	// own is the SHA-256 of what the write sets, by its managedFields: an object that has
	// it was written, though a webhook may have changed the very values.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Own string `json:"own,omitempty"`
}

// PatchOperation is one operation of a JSON Patch (RFC 6902).
type PatchOperation struct {
	// op is add, remove, replace, move, copy or test.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Op string `json:"op"`
	// path is a JSON Pointer (RFC 6901).
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`
	// from is the source of move and copy.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	From string `json:"from,omitempty"`
	// value is the operand of add, replace and test.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
}

// FieldChange is one place that a patch changes. A value that is absent means
// that the field didn't exist.
type FieldChange struct {
	// path is a JSON Pointer (RFC 6901).
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`
	// before is the value before the write.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Before *apiextensionsv1.JSON `json:"before,omitempty"`
	// after is the value after the write.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	After *apiextensionsv1.JSON `json:"after,omitempty"`
}
