// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"fmt"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

// revisionAnnotation counts a Deployment's ReplicaSets; its controller writes it.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// Difference says where two states of a Deployment differ in anything that
// people or tools declare: labels, annotations, owners, finalizers and the whole
// specification. It is empty when they are equal. What the API server and the
// Deployment's controller write by themselves doesn't count.
func Difference(before, after *appsv1.Deployment) (string, error) {
	a, err := declared(before)
	if err != nil {
		return "", err
	}
	b, err := declared(after)
	if err != nil {
		return "", err
	}
	return cmp.Diff(a, b), nil
}

// declared is compared as JSON, the form that the API server keeps: there an
// absent field and an empty one are not the same.
func declared(d *appsv1.Deployment) (map[string]any, error) {
	copied := d.DeepCopy()
	delete(copied.Annotations, revisionAnnotation)
	if len(copied.Annotations) == 0 {
		copied.Annotations = nil // the revision may have been the only one
	}
	text, err := json.Marshal(map[string]any{
		"name": copied.Name, "namespace": copied.Namespace, "uid": copied.UID,
		"labels": copied.Labels, "annotations": copied.Annotations,
		"owners": copied.OwnerReferences, "finalizers": copied.Finalizers,
		"spec": copied.Spec,
	})
	if err != nil {
		return nil, fmt.Errorf("compare Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	var plain map[string]any
	if err := json.Unmarshal(text, &plain); err != nil {
		return nil, fmt.Errorf("compare Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	return plain, nil
}
