// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

// dryRun is the enforcementAction with which Gatekeeper only records.
const dryRun = "dryrun"

// Constraint is one of Gatekeeper's constraints, as it is in the cluster.
type Constraint struct {
	Object   *unstructured.Unstructured
	Resource schema.GroupVersionResource
}

// ID names it: "K8sRequiredLabels/team".
func (c *Constraint) ID() string { return c.Object.GetKind() + "/" + c.Object.GetName() }

// Enforcement is its enforcementAction as it is written; empty where it names none, which denies.
func (c *Constraint) Enforcement() string {
	action, _, _ := unstructured.NestedString(c.Object.Object, "spec", "enforcementAction")
	return action
}

// Action is what its policy does at admission once it enforces in the constraint's place.
func (c *Constraint) Action() (v1alpha1.AdmissionAction, error) {
	action, err := gatekeeper.ActionOf(c.Object.Object)
	if err != nil {
		return "", fmt.Errorf("constraint %s: %w", c.ID(), err)
	}
	return action, nil
}

// changed is when anybody last wrote what a constraint, or any object, asks for; status aside.
func changed(object *unstructured.Unstructured) time.Time {
	last := object.GetCreationTimestamp().Time
	for _, f := range object.GetManagedFields() {
		if f.Subresource == "" && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// Changed is when an object, given as JSON values, was last written, its status aside; zero where nothing says so.
func Changed(object map[string]any) time.Time {
	return changed(&unstructured.Unstructured{Object: object})
}
