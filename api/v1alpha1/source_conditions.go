// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a PolicySource's conditions, besides ReasonInvalid. ReasonInvalid: the spec can't be followed.
const (
	// ReasonApplied: the policies of the newest revision are in force.
	ReasonApplied = "Applied"
	// ReasonSuspended: a person has suspended the source (spec.suspend).
	ReasonSuspended = "Suspended"
	// ReasonFetchFailed: the repository can't be read.
	ReasonFetchFailed = "FetchFailed"
	// ReasonAuthenticationFailed: the repository refuses what secretRef holds.
	ReasonAuthenticationFailed = "AuthenticationFailed"
	// ReasonServerUntrusted: the server can't prove that it is the one that is meant.
	ReasonServerUntrusted = "ServerUntrusted"
	// ReasonNotFound: the server has no such repository, or hides it, or the repository has no such branch, tag,
	// version or commit.
	ReasonNotFound = "NotFound"
	// ReasonSignatureInvalid: the commit isn't signed by any of the keys of verify, or
	// a tag object bears another name than its tag.
	ReasonSignatureInvalid = "SignatureInvalid"
	// ReasonNotDescendant: the revision doesn't descend from the one in force, or whether it does can't be known, and
	// history is FastForwardOnly.
	ReasonNotDescendant = "NotDescendant"
	// ReasonTooManyRemoved: the revision would remove more policies than maxRemoved, or holds none.
	ReasonTooManyRemoved = "TooManyRemoved"
	// ReasonSecretUnavailable: a Secret that the spec names can't be read.
	ReasonSecretUnavailable = "SecretUnavailable"
	// ReasonNotCompiling: some file of the revision is wrong; the last good revision
	// stays in force.
	ReasonNotCompiling = "NotCompiling"
	// ReasonTooLarge: the repository or the revision exceeds a bound.
	ReasonTooLarge = "TooLarge"
	// ReasonPolicyConflict: a policy of the revision exists and isn't this source's.
	ReasonPolicyConflict = "PolicyConflict"
	// ReasonRefused: the API server or its admission refuses a policy.
	ReasonRefused = "Refused"
	// ReasonApplyFailed: the API server can't be reached, or may not be written to.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonNamespaceNotAllowed: sources of this namespace aren't accepted.
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"
)

// Labels, annotations and names of PolicySources.
const (
	// LabelSourceName is the name of the PolicySource that a ClusterRegoPolicy comes from.
	// On: ClusterRegoPolicy. By: the manager.
	LabelSourceName = "evenkeel.dev/source-name"
	// LabelSourceNamespace is the namespace of that PolicySource.
	// On: ClusterRegoPolicy. By: the manager.
	LabelSourceNamespace = "evenkeel.dev/source-namespace"
	// AnnotationSourceRevision is the revision that last changed the policy.
	// On: ClusterRegoPolicy. By: the manager.
	AnnotationSourceRevision = "evenkeel.dev/source-revision"
	// AnnotationSourcePath is the directory of the policy in the repository.
	// On: ClusterRegoPolicy. By: the manager.
	AnnotationSourcePath = "evenkeel.dev/source-path"
	// AnnotationAdopt on a ClusterRegoPolicy lets a PolicySource take it over; its value is
	// NAMESPACE/NAME of that source.
	// On: ClusterRegoPolicy. By: people, and the manager where a source releases its policies.
	AnnotationAdopt = "evenkeel.dev/adopt"
	// AnnotationReconcile on a PolicySource makes the controller sync at once, each
	// time that its value changes.
	// On: PolicySource. By: people, and the manager on a push message.
	AnnotationReconcile = "evenkeel.dev/reconcile"
	// AnnotationAcceptRevision on a PolicySource is a person's word for one revision
	// that would be refused for its history or for what it removes; its value is the
	// commit. It is taken off once a revision comes into force.
	// On: PolicySource. By: people.
	AnnotationAcceptRevision = "evenkeel.dev/accept-revision"
	// SourceFinalizer keeps a PolicySource until its policies are removed or let go.
	// On: PolicySource. By: the manager.
	SourceFinalizer = "evenkeel.dev/source"
	// SourceFieldManager is the field manager of the policies' content.
	SourceFieldManager = "evenkeel-source"
)
