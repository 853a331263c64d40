// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/permissions"
)

// permissionsPoll is how often a target is tried again whose fix lacks a permission.
const permissionsPoll = 10 * time.Second

// PermissionNeeds are the permissions that only the fix itself tells: to the kind that it creates,
// and to the status that it patches.
func (a *Attempt) PermissionNeeds() []permissions.Need {
	var wanted []permissions.Need
	for _, made := range a.manifests() {
		wanted = append(wanted, permissions.Need{Kind: made.GroupVersionKind(),
			Verbs: []string{"get", "create", "delete"}, Namespace: made.GetNamespace()})
	}
	for _, s := range a.Steps {
		if s.Subresource != "" {
			wanted = append(wanted, permissions.Need{Kind: a.Object.GroupVersionKind(), Subresource: s.Subresource,
				Verbs: []string{"patch"}, Namespace: a.Object.GetNamespace()})
		}
	}
	return wanted
}

// RequirePermissions asks for the permissions that only the fix itself tells.
func RequirePermissions(ctx context.Context, a *Attempt) *v1alpha1.TargetRecord {
	wanted := a.PermissionNeeds()
	if len(wanted) == 0 {
		return nil
	}
	finder := &permissions.Finder{Asker: permissions.Own(a.Targets.Writer), Mapper: a.Targets.Mapper}
	missing, err := finder.Missing(ctx, wanted)
	if err != nil {
		return a.FromError(err)
	}
	if len(missing) > 0 {
		return a.awaitPermissions(strings.Join(missing, "; "))
	}
	return nil
}

// missingPermission waits for a permission that was refused.
func (a *Attempt) missingPermission(wanted permissions.Need, err error) *v1alpha1.TargetRecord {
	mapping, mapErr := a.Targets.Mapper.RESTMapping(wanted.Kind.GroupKind(), wanted.Kind.Version)
	if mapErr != nil {
		return a.FromError(err)
	}
	return a.awaitPermissions(wanted.Text(mapping.Resource, wanted.Verbs))
}

// awaitPermissions leaves the target pending until somebody adds the rules: it is no
// failure, and no try. A preview doesn't wait.
func (a *Attempt) awaitPermissions(rules string) *v1alpha1.TargetRecord {
	message := v1alpha1.LacksPermissions("writer", rules)
	if !a.Plan.Rollout.Mode.Runs() {
		return a.Failed(v1alpha1.ReasonMissingPermissions, message)
	}
	rec := a.Pending(v1alpha1.ReasonMissingPermissions, message)
	next := metav1.NewMicroTime(a.Targets.Clock.Now().Add(permissionsPoll))
	rec.NextAttemptTime = &next
	return rec
}
