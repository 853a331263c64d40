// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The bounds of a PolicySource's status, as the schema also states them.
const (
	// MaxSourceProblems is how many problems are listed.
	MaxSourceProblems = 20
	// MaxSourcePolicies is how many policies one source may hold.
	MaxSourcePolicies = 2000
)

// PolicySourceStatus is what the controller observes of a PolicySource.
type PolicySourceStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions hold Ready (True when the policies of the newest revision are in
	// force), Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// revision is the one whose policies are in force, as a name and a commit:
	// main@sha1:5f3c….
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Revision string `json:"revision,omitempty"`
	// attemptedRevision is the newest one that was found. It differs from revision
	// while that one can't be taken over.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	AttemptedRevision string `json:"attemptedRevision,omitempty"`
	// policies is the number of policies of this source in the cluster.
	// +optional
	Policies int32 `json:"policies"`
	// inventory are their names, sorted.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2000
	// +kubebuilder:validation:items:MaxLength=63
	Inventory []string `json:"inventory,omitempty"`
	// problems are what keeps attemptedRevision from coming into force, the first
	// 20 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Problems []SourceProblem `json:"problems,omitempty"`
	// problemCount is the number of all problems.
	// +optional
	ProblemCount int32 `json:"problemCount,omitempty"`
	// lastFetchedTime is when the repository last answered.
	// +optional
	LastFetchedTime *metav1.Time `json:"lastFetchedTime,omitempty"`
	// lastAppliedTime is when a revision last came into force.
	// +optional
	LastAppliedTime *metav1.Time `json:"lastAppliedTime,omitempty"`
	// nextAttemptTime is when the repository is asked next.
	// +optional
	NextAttemptTime *metav1.Time `json:"nextAttemptTime,omitempty"`
	// failures is the number of attempts in a row that an error outside of the
	// repository's content has ended. Each waits twice as long as the one before.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// lastHandledReconcileAt is the value of the annotation evenkeel.dev/reconcile
	// that was last acted upon.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`
}

// SourceProblem is one thing that is wrong with a revision.
type SourceProblem struct {
	// file is its path in the repository, or the field of the PolicySource.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	File string `json:"file"`
	// line counts from 1; 0 when the problem is of the whole file.
	// +optional
	Line int32 `json:"line,omitempty"`
	// message says what is wrong and what to do.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}
