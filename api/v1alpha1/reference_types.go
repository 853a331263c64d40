// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ReferencedKind names objects that rules may reference besides the one that they judge:
// those in namespaces as data.inventory.namespace[namespace][groupVersion][kind][name], the
// others as data.inventory.cluster[groupVersion][kind][name], as Gatekeeper has it.
// +kubebuilder:validation:XValidation:rule="has(self.apiGroup) && size(self.apiGroup) > 0 || self.kind != 'Secret'",message="a Secret can't be referenced: it would be kept in memory, and what it holds could be shown to anyone who is refused"
type ReferencedKind struct {
	// apiGroup is the kind's API group; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != '*'",message="apiGroup can't be \"*\": name the group"
	APIGroup string `json:"apiGroup,omitempty"`
	// version is the version in which the objects are seen: a part of groupVersion.
	// Default: the one that the rules name, else the one that the cluster prefers.
	// +optional
	// +kubebuilder:validation:Pattern=`^v[0-9]+((alpha|beta)[0-9]+)?$`
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`
	// kind is the kind, for example Ingress.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self != '*'",message="kind can't be \"*\": name the kind"
	Kind string `json:"kind"`
	// selector chooses objects by their labels; the rules don't see the others. Default: all.
	// +optional
	Selector *LabelSelector `json:"selector,omitempty"`
	// fields are what the rules see of each object besides apiVersion, kind, metadata.name and
	// metadata.namespace, for example spec.rules or metadata.labels: names of fields from the
	// object's root, with dots between them. A list is seen whole. Default: what the rules
	// may read, as far as their text tells, else all but metadata.managedFields.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_$-]+(\.[A-Za-z0-9_$-]+)*$`
	Fields []string `json:"fields,omitempty"`
}
