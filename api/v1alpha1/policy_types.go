// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Severity says how much a violation matters, and with it the default of
// failurePolicy.
type Severity string

// The severities, most urgent first.
const (
	SeverityCritical Severity = "Critical"
	SeverityHigh     Severity = "High"
	SeverityMedium   Severity = "Medium"
	SeverityLow      Severity = "Low"
)

// RegoVersion is the syntax that the modules of a policy are written in.
// +kubebuilder:validation:Enum=v0;v1
type RegoVersion string

// The Rego syntaxes that OPA defines.
const (
	RegoV0 RegoVersion = "v0"
	RegoV1 RegoVersion = "v1"
)

// AdmissionAction says what admission does with a deny or violation.
type AdmissionAction string

const (
	// AdmissionDeny refuses the request.
	AdmissionDeny AdmissionAction = "Deny"
	// AdmissionWarn lets the request through with a warning to the client.
	AdmissionWarn AdmissionAction = "Warn"
	// AdmissionAudit lets the request through and only records.
	AdmissionAudit AdmissionAction = "Audit"
)

// ExistingViolations says what admission does with an UPDATE of an object that
// violated already, in the same way.
// +kubebuilder:validation:Enum=Allow;Deny
type ExistingViolations string

const (
	// ExistingAllow lets an UPDATE pass when every violation was already there before
	// it and what violates is unchanged.
	ExistingAllow ExistingViolations = "Allow"
	// ExistingDeny judges every UPDATE like a CREATE.
	ExistingDeny ExistingViolations = "Deny"
)

// FailurePolicy says what admission does when the policy can't be evaluated.
// +kubebuilder:validation:Enum=Fail;Ignore
type FailurePolicy string

const (
	// FailurePolicyFail refuses the request (fails closed).
	FailurePolicyFail FailurePolicy = "Fail"
	// FailurePolicyIgnore lets the request through (fails open).
	FailurePolicyIgnore FailurePolicy = "Ignore"
)

// Operation is an admission operation that a policy concerns.
// +kubebuilder:validation:Enum=CREATE;UPDATE;DELETE;CONNECT
type Operation string

// The operations of admission.k8s.io/v1 that a policy may judge.
const (
	OperationCreate Operation = "CREATE"
	OperationUpdate Operation = "UPDATE"
	OperationDelete Operation = "DELETE"
	// OperationConnect opens a stream into a Pod, or goes through the API server's
	// proxy: exec, attach, portforward, proxy.
	OperationConnect Operation = "CONNECT"
)

// ClusterRegoPolicy is one rule of the platform, in Rego, with the objects that it
// concerns, what admission does with its violations, and how they are remediated.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=rego,categories=evenkeel
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Severity",type=string,JSONPath=`.status.inForce.severity`
// +kubebuilder:printcolumn:name="Admission",type=string,JSONPath=`.status.inForce.admissionAction`
// +kubebuilder:printcolumn:name="Violating",type=integer,JSONPath=`.status.scan.violating`
// +kubebuilder:printcolumn:name="Fixes",type=string,JSONPath=`.status.inForce.remediationMode`
// +kubebuilder:printcolumn:name="Rollout",type=string,JSONPath=`.status.remediation.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Scan",type=string,priority=1,JSONPath=`.status.scan.state`
// +kubebuilder:printcolumn:name="Scanned",type=integer,priority=1,JSONPath=`.status.scan.scanned`
// +kubebuilder:printcolumn:name="Waived",type=integer,priority=1,JSONPath=`.status.scan.waived`
// +kubebuilder:printcolumn:name="References",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="ReferencesKnown")].reason`
// +kubebuilder:printcolumn:name="Title",type=string,priority=1,JSONPath=`.spec.title`
// +kubebuilder:printcolumn:name="Owner",type=string,priority=1,JSONPath=`.spec.owner`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="metadata.name must be at most 52 characters: the names of its remediations and breaker are built from it"
type ClusterRegoPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the rule as its owner declares it.
	// +required
	Spec RegoPolicySpec `json:"spec"`
	// status is what the controller observes. It is output only.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status RegoPolicyStatus `json:"status,omitempty"`
}

// ClusterRegoPolicyList is a list of ClusterRegoPolicy objects.
// +kubebuilder:object:root=true
type ClusterRegoPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterRegoPolicy `json:"items"`
}

// RegoPolicySpec is the desired state of a ClusterRegoPolicy. A policy that acts, by
// admission.action: Deny or a remediation.mode, needs an owner.
// +kubebuilder:validation:XValidation:rule="has(self.owner) || !(has(self.admission) && has(self.admission.action) && self.admission.action == 'Deny' || has(self.remediation) && has(self.remediation.mode) && self.remediation.mode != 'Disabled')",message="owner is required once admission.action is Deny or remediation.mode isn't Disabled: name the team that answers for the rule, which is notified when it does harm"
// +kubebuilder:validation:XValidation:rule="has(self.rego) != has(self.templateRef)",message="give exactly one of rego, which is the rule itself, and templateRef, which names the RegoTemplate that has it"
type RegoPolicySpec struct {
	// title is one line for people, shown in messages and dashboards.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=120
	Title string `json:"title"`
	// description says why the rule exists and how to comply.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description,omitempty"`
	// owner is the team that answers for the rule and gets its escalations. Required once
	// admission.action is Deny or remediation.mode isn't Disabled.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=120
	Owner string `json:"owner,omitempty"`
	// severity says how much a violation matters. Default: Medium.
	// +optional
	// +kubebuilder:validation:Enum=Critical;High;Medium;Low
	Severity Severity `json:"severity,omitempty"`
	// runbookURL is where the person on call finds what to do. Without it, the
	// API server warns if admission.action is Deny or remediation.mode isn't Disabled.
	// +optional
	// +kubebuilder:validation:Pattern=`^https?://.+`
	// +kubebuilder:validation:MaxLength=1024
	RunbookURL string `json:"runbookURL,omitempty"`
	// rego is the rule. Either it or templateRef is required.
	// +optional
	Rego RegoSource `json:"rego,omitempty,omitzero"`
	// templateRef names the RegoTemplate that has the rule, in place of rego. While there is
	// none of that name, or the parameters don't fit it, the last good revision stays in force.
	// +optional
	TemplateRef *TemplateReference `json:"templateRef,omitempty"`
	// match says which objects the rule concerns.
	// +required
	Match Match `json:"match"`
	// parameters are what the Rego sees as input.parameters. Those of a policy with
	// templateRef must fit the template's parameterSchema, and what they leave out has that
	// schema's defaults.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Parameters *apiextensionsv1.JSON `json:"parameters,omitempty"`
	// admission says what admission does with what violates the rule.
	// +optional
	Admission Admission `json:"admission,omitempty,omitzero"`
	// remediation says whether and how violations are remediated.
	// +optional
	Remediation PolicyRemediation `json:"remediation,omitempty,omitzero"`
}

// MainModule is the file name of a policy's main module that gives none.
const MainModule = "main.rego"

// Acts says whether the policy does more than tell: it refuses requests, or remediates.
// Somebody answers for that.
func (s *RegoPolicySpec) Acts() bool {
	mode := s.Remediation.Mode
	return s.Admission.Action == AdmissionDeny || mode != "" && mode != RemediationDisabled
}

// RegoSource is a rule in Rego.
// +kubebuilder:validation:XValidation:rule="!has(self.libraries) || !self.libraries.exists(l, l.name == (has(self.file) ? self.file : 'main.rego'))",message="a library bears the file name of rego.main (rego.file, or main.rego): give it another"
// +kubebuilder:validation:XValidation:rule="size(self.main) + (has(self.libraries) ? self.libraries.map(l, size(l.source)).sum() : 0) <= 196608",message="rego may have 192 Ki characters in all, libraries included: kubectl apply keeps a copy of it in an annotation, and annotations may have 256 KiB"
type RegoSource struct {
	// version is the syntax that main and libraries are written in. Default: v1.
	// +optional
	Version RegoVersion `json:"version,omitempty"`
	// file is the file name that error messages use for main, for example
	// security/host_namespaces.rego. Default: main.rego.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	File string `json:"file,omitempty"`
	// strictBuiltinErrors says what becomes of a call of a built-in function that fails, such
	// as to_number("top"). It is undefined where it was called; with true the rule counts as
	// not evaluated besides (see failurePolicy), with false nothing is said of it, as in
	// Gatekeeper. What exceeds a limit is an error in any case. With false the rule is taken
	// for one of Gatekeeper's otherwise too: input.review and the elements of violation are
	// what they are there. Default: true.
	// +optional
	StrictBuiltinErrors *bool `json:"strictBuiltinErrors,omitempty"`
	// main is the source text of the module with the rules: deny, warn, violation,
	// remediation.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=131072
	Main string `json:"main"`
	// libraries are the modules that main imports, in any order.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=15
	Libraries []RegoLibrary `json:"libraries,omitempty"`
}

// Strict says that a built-in function that fails is an error.
func (r *RegoSource) Strict() bool { return r.StrictBuiltinErrors == nil || *r.StrictBuiltinErrors }

// Modules are main and the libraries, main first.
func (r *RegoSource) Modules() []RegoLibrary {
	name := r.File
	if name == "" {
		name = MainModule
	}
	return append([]RegoLibrary{{Name: name, Source: r.Main}}, r.Libraries...)
}

// RegoLibrary is a Rego module that a rule imports.
type RegoLibrary struct {
	// name is the file name that error messages use, for example lib/images.rego.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// source is the source text.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=131072
	Source string `json:"source"`
}

// Admission says what admission does with what violates a policy.
type Admission struct {
	// action says what becomes of a request whose object violates. Default: Audit.
	// +optional
	// +kubebuilder:validation:Enum=Deny;Warn;Audit
	Action AdmissionAction `json:"action,omitempty"`
	// failurePolicy says what becomes of a request when the rule can't be evaluated.
	// Default: Fail for Critical and High, Ignore for the others.
	// +optional
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`
	// operations are the admission operations judged. A policy on Pods that names
	// CREATE judges updates of workloads too, for what they add to the template, and
	// containers that are added to a running Pod. CONNECT concerns subresources only.
	// Default: CREATE and UPDATE.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	Operations []Operation `json:"operations,omitempty"`
	// exempt are those whose requests admission doesn't judge. The scan judges the
	// objects all the same.
	// +optional
	Exempt Exemptions `json:"exempt,omitempty,omitzero"`
	// matchConditions are what must be true of a request for admission to judge it. One
	// that is false leaves the request out; else one that can't be evaluated makes the
	// rule count as not evaluated: see failurePolicy. The scan judges the objects all the
	// same. What a workload's controller makes isn't excused for what stands in the
	// workload, since nobody knows that it was judged there.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	MatchConditions []MatchCondition `json:"matchConditions,omitempty"`
	// existingViolations says what becomes of an UPDATE when every violation was
	// already there before it and what violates is unchanged: Allow, so that an old
	// violation never blocks a hotfix of something else, or Deny. Default: Allow.
	// +optional
	ExistingViolations ExistingViolations `json:"existingViolations,omitempty"`
}

// Exemptions name those whose requests admission doesn't judge.
type Exemptions struct {
	// users are names of users.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Users []string `json:"users,omitempty"`
	// groups are names of groups.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Groups []string `json:"groups,omitempty"`
}

// Match says which objects a policy concerns. Every part that is set must agree.
type Match struct {
	// kinds are the kinds of objects concerned, by API group.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Kinds []KindMatch `json:"kinds"`
	// namespaces are globs (* and ?) of the namespaces concerned; empty means
	// all. For a Namespace object its own name counts. Other cluster-scoped
	// objects are concerned only while this list is empty.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Namespaces []string `json:"namespaces,omitempty"`
	// excludedNamespaces are globs of the namespaces left out.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	ExcludedNamespaces []string `json:"excludedNamespaces,omitempty"`
	// namespaceSelector chooses namespaces by their labels.
	// +optional
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`
	// objectSelector chooses objects by their own labels. At admission an UPDATE
	// is concerned when the old or the new object is selected.
	// +optional
	ObjectSelector *LabelSelector `json:"objectSelector,omitempty"`
	// podTemplates extends a rule on Pods to the kinds that hold a pod template:
	// Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job
	// and CronJob. What such a workload's controller makes is then judged at the
	// workload by the scan, and by admission excused for what it violates there.
	// Default: true.
	// +optional
	PodTemplates *bool `json:"podTemplates,omitempty"`
	// references are the other objects that the rules may reference in data.inventory: the
	// policy sees no others. While the objects of one of them aren't known, the rule counts
	// as not evaluated.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	References []ReferencedKind `json:"references,omitempty"`
}

// KindMatch names kinds of one or more API groups.
type KindMatch struct {
	// apiGroups are the groups; "" is the core group. Default: the core group.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!self.exists(g, g == '*')",message="apiGroups can't hold \"*\": name the groups"
	APIGroups []string `json:"apiGroups,omitempty"`
	// kinds are kinds of those groups, for example Deployment.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k == '*')",message="kinds can't hold \"*\": name the kinds"
	Kinds []string `json:"kinds"`
	// subresources are what of the kinds is concerned instead of the objects
	// themselves, each by its own operation: exec, attach, portforward (of Pods) and
	// proxy (of Pods, Services, Nodes) by CONNECT, eviction (of Pods) by CREATE, scale
	// (of Deployments, StatefulSets, ReplicaSets, ReplicationControllers) by UPDATE. The
	// rule then sees what is sent: a PodExecOptions, say. The scan has nothing to judge.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=6
	Subresources []Subresource `json:"subresources,omitempty"`
}

// Groups are the API groups: the core group if none is given.
func (m *KindMatch) Groups() []string {
	if len(m.APIGroups) == 0 {
		return []string{""}
	}
	return m.APIGroups
}

// Subresource is a part of an object that admission judges by itself.
// +kubebuilder:validation:Enum=exec;attach;portforward;proxy;eviction;scale
type Subresource string
