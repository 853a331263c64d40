// SPDX-License-Identifier: Apache-2.0

package policy

// Subresource is a request on a part of an object that policies may judge. What they
// judge is what is sent, not the object.
type Subresource struct {
	// Parent is the kind that it is a part of, and Resource that kind's plural name.
	Parent   GroupKind
	Resource string
	// Name is the subresource's.
	Name string
	// Sent is the kind that is sent to it, by Operation.
	Sent      GroupVersionKind
	Operation Operation
}

// String writes the subresource as RBAC does: "pods/exec".
func (s Subresource) String() string { return s.Resource + "/" + s.Name }

// Subresources are those that policies may judge. What keeps a cluster going, such as
// status, binding and token, isn't among them; ephemeralcontainers and resize are
// updates of the Pod and judged as such.
func Subresources() []Subresource {
	core := func(kind, resource, name, sent string) Subresource {
		return Subresource{
			Parent: GroupKind{Kind: kind}, Resource: resource, Name: name,
			Sent: GroupVersionKind{Version: "v1", Kind: sent}, Operation: Connect,
		}
	}
	scale := func(group, kind, resource string) Subresource {
		return Subresource{
			Parent: GroupKind{Group: group, Kind: kind}, Resource: resource, Name: "scale",
			Sent: GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, Operation: Update,
		}
	}
	return []Subresource{
		core("Pod", "pods", "exec", "PodExecOptions"),
		core("Pod", "pods", "attach", "PodAttachOptions"),
		core("Pod", "pods", "portforward", "PodPortForwardOptions"),
		core("Pod", "pods", "proxy", "PodProxyOptions"),
		core("Service", "services", "proxy", "ServiceProxyOptions"),
		core("Node", "nodes", "proxy", "NodeProxyOptions"),
		{
			Parent: PodKind(), Resource: "pods", Name: "eviction",
			Sent: GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}, Operation: Create,
		},
		scale("apps", "Deployment", "deployments"),
		scale("apps", "ReplicaSet", "replicasets"),
		scale("apps", "StatefulSet", "statefulsets"),
		scale("", "ReplicationController", "replicationcontrollers"),
	}
}

// SubresourceOf is the subresource that a request is on; false for one on the object
// itself, and for those that policies can't judge.
func SubresourceOf(r *Request) (Subresource, bool) {
	if r.SubResource == "" {
		return Subresource{}, false
	}
	for _, s := range Subresources() {
		if s.Name == r.SubResource && s.Resource == r.Resource && s.Sent.GroupKind() == r.Kind.GroupKind() {
			return s, true
		}
	}
	return Subresource{}, false
}

// Concerned is the kind of the object that a request is about: that which is sent, or
// of a subresource the kind that it is a part of.
func (r *Request) Concerned() GroupKind {
	if s, ok := SubresourceOf(r); ok {
		return s.Parent
	}
	return r.Kind.GroupKind()
}
