// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ScanState says whether the figures of a scan cover all that the policy matches.
// +kubebuilder:validation:MaxLength=64
type ScanState string

const (
	// ScanPending means that the first pass over some kind isn't finished.
	ScanPending ScanState = "Pending"
	// ScanComplete means that every kind was listed and is being watched.
	ScanComplete ScanState = "Complete"
	// ScanIncomplete means that some kind couldn't be listed: the figures are a
	// lower bound, and no remediation is planned from them.
	ScanIncomplete ScanState = "Incomplete"
)

// RegoPolicyStatus is what the controller observes of a ClusterRegoPolicy.
type RegoPolicyStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// revision identifies the rule in force: a digest of all that can change a
	// verdict or a fix. It lags behind the spec while the spec doesn't compile.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`
	// inForce is what the policy does now, of its last good revision and with its defaults.
	// +optional
	InForce *PolicyInForce `json:"inForce,omitempty"`
	// scan holds the figures of what lives in the cluster.
	// +optional
	Scan *ScanStatus `json:"scan,omitempty"`
	// remediation points at the policy's latest rollout.
	// +optional
	Remediation *RemediationPointer `json:"remediation,omitempty"`
	// conditions are Ready, and Reconciling and Stalled while they are True; Overridden and ReferencesKnown.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PolicyInForce is what a policy does, with its defaults, so that nobody needs to know
// them who reads a table. What the administrator's limits or a breaker take from it
// shows at the plans.
type PolicyInForce struct {
	// severity says how much a violation matters.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Severity Severity `json:"severity"`
	// admissionAction says what becomes of a request whose object violates.
	// +required
	// +kubebuilder:validation:MaxLength=64
	AdmissionAction AdmissionAction `json:"admissionAction"`
	// remediationMode says how far remediation goes by itself.
	// +required
	// +kubebuilder:validation:MaxLength=64
	RemediationMode RemediationMode `json:"remediationMode"`
}

// ScanStatus holds the figures of a policy's scan.
type ScanStatus struct {
	// state says whether the figures cover everything.
	// +required
	State ScanState `json:"state"`
	// scanned is the number of objects judged.
	// +required
	Scanned int32 `json:"scanned"`
	// violating is the number of objects with at least one violation.
	// +required
	Violating int32 `json:"violating"`
	// violations is the number of violations over all objects.
	// +required
	Violations int32 `json:"violations"`
	// waived is the number of objects whose violations a Waiver waives;
	// they don't count as violating.
	// +optional
	Waived int32 `json:"waived"`
	// errors is the number of objects that couldn't be judged.
	// +required
	Errors int32 `json:"errors"`
	// lastFullScanTime is when the kinds were last all relisted.
	// +optional
	LastFullScanTime *metav1.Time `json:"lastFullScanTime,omitempty"`
	// incomplete names the kinds that couldn't be listed, and why.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Incomplete []IncompleteKind `json:"incomplete,omitempty"`
	// sample holds the first violating objects in order of kind, namespace and
	// name; at most 5. evenkeel scan lists all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Sample []ViolationSample `json:"sample,omitempty"`
}

// IncompleteKind is a kind that the scan couldn't list.
type IncompleteKind struct {
	// group is the API group; empty is the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// kind is the kind.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// message says why, and what to do.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}

// ViolationSample is one violating object.
type ViolationSample struct {
	// object is the violating object.
	// +required
	Object ObjectReference `json:"object"`
	// message is the first violation's message.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message"`
	// violations is the number of violations of this object.
	// +required
	Violations int32 `json:"violations"`
	// fixable says whether the policy offers a fix for it.
	// +required
	Fixable bool `json:"fixable"`
}

// ObjectReference names one object.
type ObjectReference struct {
	// apiVersion is the group and version, for example apps/v1.
	// +required
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// kind is the kind.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// namespace is empty for a cluster-scoped object.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// name is the object's name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid tells this object from a later one with the same name.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
}

// String tells an object to people: "Deployment shop/web".
func (r ObjectReference) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// RemediationPointer points at a policy's latest rollout.
type RemediationPointer struct {
	// name is the Remediation.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// phase is its phase when last seen, for people; the plan's conditions are for clients.
	// +optional
	Phase RemediationPhase `json:"phase,omitempty"`
	// demoted says that the policy's breaker opened too often: only dry runs are
	// made until the policy's revision changes or a person resets the breaker.
	// +optional
	Demoted bool `json:"demoted,omitempty"`
}
