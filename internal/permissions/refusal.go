// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// The ClusterRoles of config/rbac that are for people.
const (
	// RoleViewer reads all that Evenkeel knows.
	RoleViewer = "evenkeel-viewer"
	// RoleApprover answers plans.
	RoleApprover = "evenkeel-approver"
	// RoleOperator stops, starts and undoes writes, and looks at the installation.
	RoleOperator = "evenkeel-operator"
)

// Refusal is what somebody may not do: a verb on a resource.
type Refusal struct {
	Verb string
	// Group and Resource are the resource's; Resource has the subresource behind a slash.
	Group, Resource string
}

// RefusedBy reads what an error of the API server refuses for want of a permission; false for any other error.
func RefusedBy(err error) (Refusal, bool) {
	if !apierrors.IsForbidden(err) || kube.DeniedByAdmission(err) {
		return Refusal{}, false
	}
	// The verb stands in the text alone (apiserver handlers/responsewriters/errors.go, ForbiddenStatusError).
	r := Refusal{}
	_, text, _ := strings.Cut(err.Error(), `" cannot `)
	n, scanned := fmt.Sscanf(text, "%s resource %q in API group %q", &r.Verb, &r.Resource, &r.Group)
	return r, scanned == nil && n == 3
}

// String names it as kubectl auth can-i takes it: list leases.coordination.k8s.io.
func (r Refusal) String() string { return r.Verb + " " + r.Place() }

// Place is the resource with its group.
func (r Refusal) Place() string {
	resource, sub, _ := strings.Cut(r.Resource, "/")
	if r.Group != "" {
		resource += "." + r.Group
	}
	if sub != "" {
		resource += "/" + sub
	}
	return resource
}

// Role is the ClusterRole for people that grants it; empty where none does. Of several it is the one that grants least.
func (r Refusal) Role() string {
	own := r.Group == v1alpha1.GroupVersion.Group
	switch r.Verb {
	case "get", "list", "watch":
		if own || r.Place() == "namespaces" {
			return RoleViewer
		}
		if r.Verb == "get" && slices.Contains(installation(), r.Place()) {
			return RoleOperator
		}
	case "create", "update", "patch":
		if own {
			return r.asking()
		}
	}
	return ""
}

// asking is the role that grants to write what people ask of Evenkeel.
func (r Refusal) asking() string {
	switch {
	case r.Resource == "remediationbreakers", r.Resource == "policyoverrides",
		r.Resource == "policysources" && r.Verb == "patch", r.Resource == "remediations" && r.Verb != "create":
		return RoleOperator
	}
	return ""
}

// installation is what an installation is made of, which evenkeel doctor gets by name.
func installation() []string {
	return []string{"leases.coordination.k8s.io", "deployments.apps", "services", "serviceaccounts",
		"customresourcedefinitions.apiextensions.k8s.io",
		"validatingwebhookconfigurations.admissionregistration.k8s.io",
		"mutatingwebhookconfigurations.admissionregistration.k8s.io",
		"validatingadmissionpolicies.admissionregistration.k8s.io",
		"validatingadmissionpolicybindings.admissionregistration.k8s.io"}
}

// Advice says what to do about an error for want of a permission; empty for any other error.
func Advice(err error) string {
	if !apierrors.IsForbidden(err) || kube.DeniedByAdmission(err) {
		return ""
	}
	if r, told := RefusedBy(err); told && r.Role() != "" {
		advice := "ask for that permission: ClusterRole " + r.Role() + " grants it"
		if r.Resource == "remediations" && r.Role() == RoleOperator {
			advice += ", and " + RoleApprover + " to answer plans"
		}
		return advice
	}
	return "ask for that permission"
}
