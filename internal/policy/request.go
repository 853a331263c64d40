// SPDX-License-Identifier: Apache-2.0

package policy

import "time"

// Operation is an admission operation, as admission.k8s.io/v1 spells it.
type Operation string

// The operations that a policy may judge.
const (
	Create Operation = "CREATE"
	Update Operation = "UPDATE"
	Delete Operation = "DELETE"
	// Connect is asked of subresources only.
	Connect Operation = "CONNECT"
)

// GroupVersionKind names a kind of one API version.
type GroupVersionKind struct{ Group, Version, Kind string }

// APIVersion is the group and version as manifests write them: "apps/v1", "v1".
func (g GroupVersionKind) APIVersion() string {
	if g.Group == "" {
		return g.Version
	}
	return g.Group + "/" + g.Version
}

// GroupVersionResource names the objects of a kind in the API server's paths.
type GroupVersionResource struct{ Group, Version, Resource string }

// UserInfo is who asks, as the API server authenticated them.
type UserInfo struct {
	Username string
	UID      string
	Groups   []string
	// Extra is what else the authenticator says of them.
	Extra map[string][]string
}

// Request asks for a verdict on one object. Object trees are JSON values as
// unstructured content holds them (map[string]any, []any, string, bool, int64,
// float64, nil). Whoever evaluates must not change them.
type Request struct {
	// UID identifies an admission request; empty in an audit.
	UID string
	// Operation is what is being done. An audit asks as if the object were
	// created now.
	Operation Operation
	// Kind is the kind of the object.
	Kind GroupVersionKind
	// Resource is the plural resource name, for example "deployments"; may be
	// empty in an audit.
	Resource string
	// SubResource is empty for the object itself.
	SubResource string
	// RequestKind, RequestResource and RequestSubResource are what the client asked for, which the API server may have
	// converted (matchPolicy); zero where that isn't known.
	RequestKind        *GroupVersionKind
	RequestResource    *GroupVersionResource
	RequestSubResource string
	// Options are those of the operation, such as CreateOptions; nil where they aren't known, as in an audit.
	Options map[string]any
	// Namespace is empty for a cluster-scoped object.
	Namespace string
	// Name may be empty when the server is to generate it.
	Name string
	// Object is the object after the operation; nil on Delete.
	Object map[string]any
	// OldObject is the object before the operation; nil on Create.
	OldObject map[string]any
	// NamespaceObject is the Namespace that the object lives in; nil for a
	// cluster-scoped object, or where it isn't known.
	NamespaceObject map[string]any
	// UserInfo is who asks; zero in an audit.
	UserInfo UserInfo
	// DryRun says that the request will not be persisted.
	DryRun bool
	// OwnFix says that Evenkeel itself asks, with a fix that it has judged before.
	OwnFix bool
	// Partial reports that the objects weren't decoded: Object and OldObject are nil.
	Partial bool
	// Audit says that an existing object is judged, not a request: user
	// exemptions and operations don't apply.
	Audit bool
	// Itself says of an audit that the object is judged itself, whatever it names as its controller.
	Itself bool
	// Before says that an object is judged as it was before an update, to tell what the
	// update adds: match conditions were asked of the update itself.
	Before bool
	// Beside are objects that rules find in place of those of the same names where they look
	// others up (match.references): what isn't written yet.
	Beside []map[string]any
	// Without are objects that rules don't find where they look others up.
	Without []map[string]any
	// Now is the evaluation time, which time.now_ns returns.
	Now time.Time
}

// Judged is the object that the rules judge: the new one, or on Delete the old.
func (r *Request) Judged() map[string]any {
	if r.JudgesOld() {
		return r.OldObject
	}
	return r.Object
}

// JudgesOld says that the rules judge the old object: on Delete, and where there is no new one.
func (r *Request) JudgesOld() bool { return r.Operation == Delete || r.Object == nil }

// Metadata is the metadata of an object tree; nil where it has none.
func Metadata(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	return metadata
}
