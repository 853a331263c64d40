package remediate

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/rights"
)

// rightsPoll is how often a target is tried again whose fix lacks a right.
const rightsPoll = 10 * time.Second

// ofFix are the rights that only the fix itself tells: to the kind that it creates,
// and to the status that it patches.
func (a *attempt) ofFix() []rights.Need {
	var wanted []rights.Need
	for _, s := range a.steps {
		switch {
		case s.Type == policy.ActionCreate:
			gvk := (&unstructured.Unstructured{Object: s.Object}).GroupVersionKind()
			wanted = append(wanted, rights.Need{Kind: gvk, Verbs: []string{"get", "create", "delete"}, Namespace: a.object.GetNamespace()})
		case s.Subresource != "":
			wanted = append(wanted, rights.Need{Kind: a.object.GroupVersionKind(), Subresource: s.Subresource, Verbs: []string{"patch"}, Namespace: a.object.GetNamespace()})
		}
	}
	return wanted
}

// requireRights asks for the rights that only the fix itself tells.
func requireRights(ctx context.Context, a *attempt) *v1alpha1.TargetRecord {
	wanted := a.ofFix()
	if len(wanted) == 0 {
		return nil
	}
	finder := &rights.Finder{Asker: rights.Own(a.targets.writer), Mapper: a.targets.mapper}
	missing, err := finder.Missing(ctx, wanted)
	if err != nil {
		return a.fromError(err)
	}
	if len(missing) > 0 {
		return a.awaitRights(strings.Join(missing, "; "))
	}
	return nil
}

// lacksRights waits for a right that was refused.
func (a *attempt) lacksRights(wanted rights.Need, err error) *v1alpha1.TargetRecord {
	mapping, mapErr := a.targets.mapper.RESTMapping(wanted.Kind.GroupKind(), wanted.Kind.Version)
	if mapErr != nil {
		return a.fromError(err)
	}
	return a.awaitRights(wanted.Text(mapping.Resource, wanted.Verbs))
}

// awaitRights leaves the target pending until somebody adds the rules: it is no
// failure, and no try. A preview doesn't wait.
func (a *attempt) awaitRights(rules string) *v1alpha1.TargetRecord {
	message := "the controller lacks rights; add to a ClusterRole labelled rbac.evenkeel.dev/aggregate-to-writer: \"true\": " + rules
	if !a.plan.Strategy.Mode.Runs() {
		return a.failed(v1alpha1.ReasonLacksRights, message)
	}
	rec := a.pending(v1alpha1.ReasonLacksRights, message)
	next := metav1.NewMicroTime(a.targets.clock.Now().Add(rightsPoll))
	rec.NextAttemptAt = &next
	return rec
}
