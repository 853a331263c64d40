// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/template"
	"evenkeel.dev/evenkeel/internal/prose"
)

// TemplateCatalog is what the status of templates needs of catalog.Catalog.
type TemplateCatalog interface {
	// TemplateStatus says how a template stands; false for one that the catalog doesn't have.
	TemplateStatus(name string) (catalog.TemplateStatus, bool)
}

// TemplateController writes what the catalog knows of a template into its status, and keeps
// a template that policies name: deleted, it stays until none does.
type TemplateController struct {
	client  client.Client
	catalog TemplateCatalog
	clock   clock.PassiveClock
}

// Register joins the manager. A policy that comes, goes or changes concerns the templates
// that it names and has named; its status, which is written often, doesn't.
func (r *TemplateController) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("template-status").
		For(&v1alpha1.RegoTemplate{}).
		Watches(&v1alpha1.ClusterRegoPolicy{}, handler.EnqueueRequestsFromMapFunc(named),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the template status controller: %w", err)
	}
	return nil
}

func named(_ context.Context, object client.Object) []ctrl.Request {
	p, ok := object.(*v1alpha1.ClusterRegoPolicy)
	if !ok || p.Spec.TemplateRef == nil {
		return nil
	}
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Name: p.Spec.TemplateRef.Name}}}
}

// Reconcile brings one template's finalizer and status up to date.
func (r *TemplateController) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	t := &v1alpha1.RegoTemplate{}
	if err := r.client.Get(ctx, request.NamespacedName, t); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	users, err := r.users(ctx, t.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	status, known := r.catalog.TemplateStatus(t.Name)
	if !known || status.UID != t.UID || status.Generation != t.Generation {
		return ctrl.Result{RequeueAfter: catalogLag}, nil
	}
	err = r.keep(ctx, t, len(users) > 0)
	if err == nil {
		err = r.write(ctx, t, status, users)
	}
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: catalogLag}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

func (r *TemplateController) users(ctx context.Context, name string) ([]string, error) {
	policies := &v1alpha1.ClusterRegoPolicyList{}
	if err := r.client.List(ctx, policies); err != nil {
		return nil, fmt.Errorf("list policies: %w", err)
	}
	var users []string
	for _, p := range policies.Items {
		if p.Spec.TemplateRef != nil && p.Spec.TemplateRef.Name == name {
			users = append(users, p.Name)
		}
	}
	slices.Sort(users)
	return users, nil
}

// keep holds on to a template while it is in use, and lets go of it else.
func (r *TemplateController) keep(ctx context.Context, t *v1alpha1.RegoTemplate, used bool) error {
	base := t.DeepCopy()
	switch {
	case used && t.DeletionTimestamp == nil:
		controllerutil.AddFinalizer(t, v1alpha1.FinalizerInUse)
	case !used:
		controllerutil.RemoveFinalizer(t, v1alpha1.FinalizerInUse)
	}
	if equality.Semantic.DeepEqual(base.Finalizers, t.Finalizers) {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, t, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("write the finalizer of RegoTemplate %s: %w", t.Name, err)
	}
	return nil
}

func (r *TemplateController) write(ctx context.Context, t *v1alpha1.RegoTemplate, status catalog.TemplateStatus,
	users []string) error {
	base := t.DeepCopy()
	t.Status.Policies = toInt32(len(users))
	kube.SetConditions(t, r.clock.Now(), templateConditions(t, status, users)...)
	if equality.Semantic.DeepEqual(base.Status, t.Status) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, t, client.MergeFrom(base),
		client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("write the status of RegoTemplate %s: %w", t.Name, err)
	}
	return nil
}

func templateConditions(t *v1alpha1.RegoTemplate, status catalog.TemplateStatus, users []string) []metav1.Condition {
	var unfit *template.SchemaError
	switch {
	case v1alpha1.Malformed(t) != "":
		return kube.Stalled(v1alpha1.ReasonInvalid,
			fmt.Sprintf("%v; policies keep their last good revision: apply the template again", status.Err))
	case errors.As(status.Err, &unfit):
		return kube.Stalled(v1alpha1.ReasonInvalid,
			fmt.Sprintf("%v; policies keep their last good revision: correct spec.parameterSchema", status.Err))
	case status.Err != nil:
		return kube.Stalled(v1alpha1.ReasonCompileFailed,
			fmt.Sprintf("%v; policies keep their last good revision: correct spec.rego", status.Err))
	case t.DeletionTimestamp != nil && len(users) > 0:
		return kube.Underway(v1alpha1.ReasonDeleting,
			"it is being deleted, and stays while policies name it: "+strings.Join(users, ", "))
	}
	return kube.Ready(v1alpha1.ReasonCompiled, fmt.Sprintf("its rule compiles; %s %s it",
		prose.Count(len(users), "policy"), prose.Verb(len(users), "names", "name")))
}

// templateBehind says that the catalog doesn't have the template yet as it is, so that what it
// says of a policy that names it isn't of now.
func templateBehind(ctx context.Context, reader client.Reader, c TemplateCatalog, ref *v1alpha1.TemplateReference) (
	bool, error) {
	if ref == nil {
		return false, nil
	}
	t := &v1alpha1.RegoTemplate{}
	err := reader.Get(ctx, client.ObjectKey{Name: ref.Name}, t)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read RegoTemplate %s: %w", ref.Name, err)
	}
	status, known := c.TemplateStatus(ref.Name)
	return known != (err == nil) || status.Generation != t.Generation || status.UID != t.UID, nil
}
