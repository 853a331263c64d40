// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"fmt"
	"slices"
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

// EnforcedBy is the policy that enforces in its place; empty where it enforces itself.
func (c *Constraint) EnforcedBy() string {
	return c.Object.GetAnnotations()[v1alpha1.AnnotationEnforcedBy]
}

// Forced is why it was switched by force; empty where it wasn't.
func (c *Constraint) Forced() string {
	return c.Object.GetAnnotations()[v1alpha1.AnnotationSwitchReason]
}

// own is the enforcementAction that it has while it enforces itself.
func (c *Constraint) own() string {
	if c.EnforcedBy() == "" {
		return c.Enforcement()
	}
	return c.Object.GetAnnotations()[v1alpha1.AnnotationEnforcementAction]
}

// Action is what its policy does at admission once it enforces in the constraint's place.
func (c *Constraint) Action() (v1alpha1.AdmissionAction, error) {
	object := c.Object.DeepCopy()
	setEnforcement(object, c.own())
	action, err := gatekeeper.ActionOf(object.Object)
	if err != nil {
		return "", fmt.Errorf("constraint %s: %w", c.ID(), err)
	}
	return action, nil
}

// Lost says what a policy can't do in its place; empty for nothing: see gatekeeper.LostAt.
func (c *Constraint) Lost() string {
	object := c.Object.DeepCopy()
	setEnforcement(object, c.own())
	return gatekeeper.LostAt(object.Object)
}

func setEnforcement(object *unstructured.Unstructured, action string) {
	if action == "" {
		unstructured.RemoveNestedField(object.Object, "spec", "enforcementAction")
		return
	}
	_ = unstructured.SetNestedField(object.Object, action, "spec", "enforcementAction") // fails only if spec is no map
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

// Unenforced says of each replica of Gatekeeper's that answers admission and doesn't enforce the constraint as it is
// now why; an error where no replica says anything.
func (c *Constraint) Unenforced() error {
	pods, _, _ := unstructured.NestedSlice(c.Object.Object, "status", "byPod")
	answering := 0
	for _, p := range pods {
		pod, _ := p.(map[string]any)
		operations, _, _ := unstructured.NestedStringSlice(pod, "operations")
		if !slices.Contains(operations, "webhook") {
			continue
		}
		answering++
		id, _, _ := unstructured.NestedString(pod, "id")
		observed, _, _ := unstructured.NestedInt64(pod, "observedGeneration")
		enforced, _, _ := unstructured.NestedBool(pod, "enforced")
		uid, _, _ := unstructured.NestedString(pod, "constraintUID")
		if !enforced || observed < c.Object.GetGeneration() || uid != "" && uid != string(c.Object.GetUID()) {
			return fmt.Errorf("replica %s of Gatekeeper's hasn't taken generation %d of it up yet (it reports "+
				"generation %d)",
				id, c.Object.GetGeneration(), observed)
		}
	}
	if answering == 0 {
		return fmt.Errorf("no replica of Gatekeeper's webhook reports in its status.byPod")
	}
	return nil
}
