// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/policy"
)

// permissionsPoll is how often a target is tried again whose fix lacks a permission.
const permissionsPoll = 10 * time.Second

// ofFix are the permissions that only the fix itself tells: to the kind that it creates,
// and to the status that it patches.
func (a *attempt) ofFix() []permissions.Need {
	var wanted []permissions.Need
	for _, s := range a.steps {
		switch {
		case s.Type == policy.ActionCreate:
			gvk := (&unstructured.Unstructured{Object: s.Object}).GroupVersionKind()
			wanted = append(wanted, permissions.Need{Kind: gvk, Verbs: []string{"get", "create", "delete"},
				Namespace: a.object.GetNamespace()})
		case s.Subresource != "":
			wanted = append(wanted, permissions.Need{Kind: a.object.GroupVersionKind(), Subresource: s.Subresource,
				Verbs: []string{"patch"}, Namespace: a.object.GetNamespace()})
		}
	}
	return wanted
}

// requirePermissions asks for the permissions that only the fix itself tells.
func requirePermissions(ctx context.Context, a *attempt) *v1alpha1.TargetRecord {
	wanted := a.ofFix()
	if len(wanted) == 0 {
		return nil
	}
	finder := &permissions.Finder{Asker: permissions.Own(a.targets.writer), Mapper: a.targets.mapper}
	missing, err := finder.Missing(ctx, wanted)
	if err != nil {
		return a.fromError(err)
	}
	if len(missing) > 0 {
		return a.awaitPermissions(strings.Join(missing, "; "))
	}
	return nil
}

// missingPermission waits for a permission that was refused.
func (a *attempt) missingPermission(wanted permissions.Need, err error) *v1alpha1.TargetRecord {
	mapping, mapErr := a.targets.mapper.RESTMapping(wanted.Kind.GroupKind(), wanted.Kind.Version)
	if mapErr != nil {
		return a.fromError(err)
	}
	return a.awaitPermissions(wanted.Text(mapping.Resource, wanted.Verbs))
}

// awaitPermissions leaves the target pending until somebody adds the rules: it is no
// failure, and no try. A preview doesn't wait.
func (a *attempt) awaitPermissions(rules string) *v1alpha1.TargetRecord {
	message := "the controller lacks permissions; add to a ClusterRole labelled " +
		"rbac.evenkeel.dev/aggregate-to-writer: \"true\": " + rules
	if !a.plan.Strategy.Mode.Runs() {
		return a.failed(v1alpha1.ReasonMissingPermission, message)
	}
	rec := a.pending(v1alpha1.ReasonMissingPermission, message)
	next := metav1.NewMicroTime(a.targets.clock.Now().Add(permissionsPoll))
	rec.NextAttemptAt = &next
	return rec
}
