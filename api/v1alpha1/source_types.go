// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PolicySource keeps the ClusterRegoPolicy objects of this cluster in step with the Rego
// directories of a Git repository: what is added there is created here, what
// changes is changed, and what leaves is removed. A revision comes into force as a
// whole or not at all.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=polsrc;psrc,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name="Policies",type=integer,JSONPath=`.status.policies`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters: its policies carry it as a label"
type PolicySource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the policies come from and how they are taken over.
	// +required
	Spec PolicySourceSpec `json:"spec"`
	// status is what the controller observes. It is output only.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status PolicySourceStatus `json:"status,omitempty"`
}

// PolicySourceList is a list of PolicySource objects.
// +kubebuilder:object:root=true
type PolicySourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PolicySource `json:"items"`
}

// PolicySourceSpec is the desired state of a PolicySource.
type PolicySourceSpec struct {
	// url is the repository: https://HOST/PATH or ssh://USER@HOST[:PORT]/PATH. The
	// form USER@HOST:PATH isn't known here: write ssh://USER@HOST/PATH. A manager
	// that runs on your own machine may take file:///PATH too, where its flags say so.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^((https|ssh)://[^/]+/.+|file:///.+)$')",message="url must be https://HOST/PATH or ssh://USER@HOST/PATH; git@HOST:PATH is written ssh://git@HOST/PATH"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[a-z]+://[^/@]*:[^/@]*@')",message="url must not hold a password: put it into a Secret and name that in spec.secretRef"
	URL string `json:"url"`
	// ref is what is followed in the repository. Default: its default branch.
	// +optional
	Ref *SourceReference `json:"ref,omitempty"`
	// path is the directory of the repository that holds the policies, without
	// leading or trailing slash. Default: the whole repository.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == '' || self == '.' || self.split('/').all(part, part != '' && part != '.' && part != '..')",message="path must lie within the repository: no leading or trailing slash, no . or .. in it"
	Path string `json:"path,omitempty"`
	// include are globs of files, relative to path, that are read; ** stands for
	// any number of directories, for example security/**. Libraries (lib/) are
	// always read. Default: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Include []string `json:"include,omitempty"`
	// exclude are globs of files, relative to path, that are left out. It is
	// stronger than include.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Exclude []string `json:"exclude,omitempty"`
	// interval is how often the repository is asked for a new revision, and the
	// policies are compared with it, give or take a tenth. Default: 5m; at least 10s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$') && duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="interval must be a duration from 10s to 24h, such as 30s, 5m or 1h30m"
	Interval metav1.Duration `json:"interval,omitzero"`
	// timeout is how long one sync of the repository may take. Default: 60s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$') && duration(self) >= duration('1s') && duration(self) <= duration('30m')",message="timeout must be a duration from 1s to 30m, such as 30s, 5m or 1h30m"
	Timeout metav1.Duration `json:"timeout,omitzero"`
	// secretRef names a Secret of this namespace with what the repository asks for,
	// by Flux's keys: username and password, or bearerToken, and ca.crt, for https;
	// identity, known_hosts and password, for ssh. Default: nothing is shown.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// verify demands a signature of every commit that is taken over.
	// +optional
	Verify *SourceVerification `json:"verify,omitempty"`
	// suspend leaves the policies and the repository alone until it is false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// prune removes policies that have left the repository. With false they stay in
	// force, also when this object is deleted. Default: true.
	// +optional
	Prune *bool `json:"prune,omitempty"`
	// maxRemoved is how many of this source's policies one revision, or one change of
	// path, include or exclude, may remove: a number, or a percentage of those in the
	// cluster. A percentage always leaves room for two. What would remove more is
	// refused as a whole, until a person accepts that very revision by the annotation
	// evenkeel.dev/accept-revision. A revision without any policy is refused unless
	// this is 100%. Default: 50%.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2000 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="maxRemoved must be a number from 0 to 2000, or a percentage from 0% to 100%"
	MaxRemoved *intstr.IntOrString `json:"maxRemoved,omitempty"`
	// history says which revisions may follow the one in force. FastForwardOnly takes
	// only what descends from it, so that nobody who can push can roll policies back:
	// a rollback is a commit that reverts. Any takes every one. A commit that ref names
	// by its hash is always taken, and so is one that a person accepts by the
	// annotation evenkeel.dev/accept-revision. Default: FastForwardOnly.
	// +optional
	History SourceHistory `json:"history,omitempty"`
	// deletionPolicy says what becomes of the policies when this object is deleted.
	// Orphan leaves them in force, without an owner. Delete removes them; not with
	// prune: false, nor while suspended. Default: Orphan.
	// +optional
	DeletionPolicy SourceDeletionPolicy `json:"deletionPolicy,omitempty"`
	// overrides change policies on their way from the repository, in this order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Overrides []SourceOverride `json:"overrides,omitempty"`
	// receiver lets the repository's host tell of a push. Default: only the
	// interval counts.
	// +optional
	Receiver *SourceReceiver `json:"receiver,omitempty"`
}

// SourceHistory says which revisions may follow the one in force.
// +kubebuilder:validation:Enum=FastForwardOnly;Any
type SourceHistory string

const (
	// HistoryFastForwardOnly takes only what descends from the revision in force.
	HistoryFastForwardOnly SourceHistory = "FastForwardOnly"
	// HistoryAny takes every revision.
	HistoryAny SourceHistory = "Any"
)

// SourceDeletionPolicy says what becomes of the policies of a source that is deleted.
// +kubebuilder:validation:Enum=Orphan;Delete
type SourceDeletionPolicy string

const (
	// DeletionOrphan leaves the policies in force.
	DeletionOrphan SourceDeletionPolicy = "Orphan"
	// DeletionDelete removes the policies.
	DeletionDelete SourceDeletionPolicy = "Delete"
)

// SourceReference is what is followed in a repository.
// +kubebuilder:validation:XValidation:rule="[has(self.branch), has(self.tag), has(self.semver), has(self.commit)].filter(is, is).size() <= 1",message="give one of branch, tag, semver and commit"
type SourceReference struct {
	// branch is the name of a branch, for example main.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`
	// tag is the name of a tag, for example v1.2.0.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Tag string `json:"tag,omitempty"`
	// semver is a range of versions, for example ~1.2; the highest tag within is
	// followed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Semver string `json:"semver,omitempty"`
	// commit is the full hash of a commit.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9a-f]{40}|[0-9a-f]{64})$`
	// +kubebuilder:validation:MaxLength=64
	Commit string `json:"commit,omitempty"`
}

// SecretReference names a Secret of the same namespace.
type SecretReference struct {
	// name is the Secret's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// SourceVerification demands signed commits.
type SourceVerification struct {
	// secretRef names a Secret whose values are public keys: armored OpenPGP keys,
	// or SSH keys as in an authorized_keys file. A commit that none of them has
	// signed isn't taken over.
	// +required
	SecretRef SecretReference `json:"secretRef"`
}

// SourceReceiver lets the repository's host tell of a push.
type SourceReceiver struct {
	// secretRef names a Secret whose key token is the secret that the host signs
	// its messages with.
	// +required
	SecretRef SecretReference `json:"secretRef"`
}

// SourceOverride changes some policies of a source.
// +kubebuilder:validation:XValidation:rule="has(self.admissionAction) || has(self.remediationMode) || has(self.parameters)",message="the override changes nothing: give admissionAction, remediationMode or parameters"
type SourceOverride struct {
	// policies are names or globs (* and ?) of the policies concerned. A name that
	// the repository doesn't have is an error. Empty means all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9*?-]+$`
	Policies []string `json:"policies,omitempty"`
	// admissionAction takes the place of the policy's.
	// +optional
	// +kubebuilder:validation:Enum=Deny;Warn;Audit
	AdmissionAction AdmissionAction `json:"admissionAction,omitempty"`
	// remediationMode takes the place of the policy's remediation.mode.
	// +optional
	// +kubebuilder:validation:Enum=Disabled;DryRun;Manual;Automatic
	RemediationMode RemediationMode `json:"remediationMode,omitempty"`
	// parameters are merged into the policy's, as a JSON Merge Patch (RFC 7396):
	// keys are set, lists are replaced, null removes a key.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Parameters *apiextensionsv1.JSON `json:"parameters,omitempty"`
}
