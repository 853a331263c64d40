// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// restoredBySource warns whoever changes the spec of a policy that a PolicySource keeps: in
// seconds it is as in the repository again, and whoever is on call must not rely on it. Two
// warnings, for each has but so many bytes: what happens, and what to do.
func restoredBySource(req *policy.Request, self string) []string {
	if req.Operation != policy.Update || req.OldObject == nil || req.UserInfo.Username == self {
		return nil
	}
	labels := (&unstructured.Unstructured{Object: req.OldObject}).GetLabels()
	namespace, name := labels[v1alpha1.LabelSourceNamespace], labels[v1alpha1.LabelSourceName]
	if namespace == "" || name == "" {
		return nil
	}
	what := fmt.Sprintf(
		"this change won't last: PolicySource %s/%s keeps policy %s as in its repository, and restores "+
			"it within seconds unless it is suspended", namespace, name, req.Name)
	todo := fmt.Sprintf("in an emergency: evenkeel policy override %s --enforcement Warn --for 2h --reason REASON; to "+
		"last: change it in Git, or by spec.overrides of PolicySource %s/%s", req.Name, namespace, name)
	return []string{prose.Shorten(what, serving.MaxWarningBytes), prose.Shorten(todo, serving.MaxWarningBytes)}
}
