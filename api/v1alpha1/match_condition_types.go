// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MatchCondition is a condition on admission requests, in CEL.
type MatchCondition struct {
	// name is said where the condition can't be evaluated.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
	Name string `json:"name"`
	// expression is true or false of a request, in CEL as a ValidatingAdmissionPolicy has
	// it, with the variables object (null on DELETE), oldObject (null on CREATE) and
	// request (operation, kind, resource without its version, subResource, namespace,
	// name, userInfo without extra, dryRun).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
}
