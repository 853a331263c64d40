// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/certificates"
	"evenkeel.dev/evenkeel/internal/webhook/names"
)

// unknownKindRetry is how soon kinds that aren't served are looked up again. A
// new CustomResourceDefinition is seen at once; this is for aggregated APIs.
const unknownKindRetry = 30 * time.Second

// prepareRetry is how soon it is looked again whether requests can be answered.
const prepareRetry = 200 * time.Millisecond

// Writer keeps the webhook configurations, the validating and the
// mutating one, as the policies in force need them. It runs on the leader only. It is
// level-triggered: whatever changes, by us or others, it compares the whole and writes
// only a difference, but for what others have added that only narrows.
type Writer struct {
	o       Options
	owner   ownerRole
	metrics *metrics

	contests map[string]*contested
}

// New makes a writer, and registers its metrics. It is an error when they are registered
// already.
func New(o Options) (*Writer, error) {
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("registering the metrics: %w", err)
	}
	return &Writer{o: o, owner: ownerRole{reader: o.RoleReader, name: o.OwnerRole}, metrics: m}, nil
}

// Register joins the manager; it runs on the leader.
func (w *Writer) Register(mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr).Named("webhook-configuration")
	for _, s := range w.o.Sources {
		b = b.WatchesRawSource(s)
	}
	if err := b.Complete(w); err != nil {
		return fmt.Errorf("set up the webhook configuration controller: %w", err)
	}
	return nil
}

// Reconcile compares and writes.
func (w *Writer) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if err := w.o.Prepared(); err != nil {
		w.o.Log.V(1).Info("The webhook configuration waits", "reason", err.Error())
		return ctrl.Result{RequeueAfter: prepareRetry}, nil
	}
	found, err := readConfigurations(ctx, w.o.Reader)
	if err != nil {
		return ctrl.Result{}, err
	}
	bundle, until, err := w.bundle(ctx, found)
	if errors.Is(err, certificates.ErrNoAuthority) {
		return ctrl.Result{}, nil // the Secret's change brings us back
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	hooks, unknown, err := w.o.Generator.Webhooks(w.o.Policies(), bundle)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("generating the webhook configuration: %w", err)
	}
	owner, err := w.owner.reference(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	contested, err := w.write(ctx, found, owner, hooks, w.o.Generator.MutatingWebhooks(bundle))
	if err != nil {
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			return ctrl.Result{RequeueAfter: time.Second}, nil
		}
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: sooner(w.next(unknown, until), contested)}, nil
}

// next is when to look again though nothing is seen to change, or zero.
func (w *Writer) next(unknown []string, until time.Time) time.Duration {
	var after time.Duration
	if !until.IsZero() {
		after = max(until.Sub(w.o.Clock.Now()), time.Second)
	}
	if len(unknown) > 0 {
		w.o.Log.Info("Some kinds that policies match aren't served, so their objects can't be judged yet", "kinds",
			unknown)
		// What was found isn't asked for anew else: an aggregated API that doesn't answer for a moment would be taken
		// for one without kinds for good.
		w.o.Generator.Kinds.Refresh()
		if after == 0 || unknownKindRetry < after {
			after = unknownKindRetry
		}
	}
	return after
}

func (w *Writer) bundle(ctx context.Context, found *configurations) ([]byte, time.Time, error) {
	var secret corev1.Secret
	err := w.o.Reader.Get(ctx, w.o.Secret, &secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, time.Time{}, fmt.Errorf("reading secret %s: %w", w.o.Secret, err)
	}
	return certificates.Bundle(secret.Data, bytes.Join(found.trusted(), nil),
		w.o.Generator.Endpoint.ServerName(), w.o.Clock.Now())
}

// write brings both configurations in step, the mutating one first: the validating
// one refuses what the other hasn't filled in. It returns how soon to look again at
// what others keep changing.
func (w *Writer) write(ctx context.Context, found *configurations, owner *metav1.OwnerReference,
	validating []admissionregistrationv1.ValidatingWebhook,
	mutating []admissionregistrationv1.MutatingWebhook) (time.Duration, error) {
	is := mutatingHooks(found.mutating.Webhooks)
	waitMutating, err := w.keep(ctx, &found.mutating, owner, "mutating",
		comparison{is: is, wanted: mutatingHooks(mutating), hooks: mutating,
			same: func() bool { return apiequality.Semantic.DeepEqual(found.mutating.Webhooks, mutating) },
			set:  func() { found.mutating.Webhooks = mutating }})
	if err != nil {
		return 0, err
	}
	is = validatingHooks(found.validating.Webhooks)
	waitValidating, err := w.keep(ctx, &found.validating, owner, "validating",
		comparison{is: is, wanted: validatingHooks(validating), hooks: validating,
			same: func() bool { return apiequality.Semantic.DeepEqual(found.validating.Webhooks, validating) },
			set:  func() { found.validating.Webhooks = validating }})
	return sooner(waitMutating, waitValidating), err
}

// sooner is the shorter of two waits, where zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// comparison is what a configuration has and what it is to have.
type comparison struct {
	is, wanted []hook
	hooks      any
	same       func() bool
	set        func()
}

// keep makes or updates one configuration, unless it is there and the same. What
// others have added to narrow it is kept; what they keep changing otherwise is put
// back ever more slowly, and the time until then is returned.
func (w *Writer) keep(ctx context.Context, config client.Object, owner *metav1.OwnerReference, sort string,
	c comparison) (time.Duration, error) {
	applied, err := appliedText(c.wanted)
	if err != nil {
		return 0, err
	}
	owners := ownedBy(config.GetOwnerReferences(), owner)
	wanted, err := identity([]any{c.hooks, owners})
	if err != nil {
		return 0, err
	}
	additions := adopt(c.is, c.wanted, appliedOf(config.GetAnnotations()))
	w.metrics.narrowed(c.is, c.wanted, additions)
	w.tell(config, sort, additions)
	labels, annotations := config.GetLabels(), config.GetAnnotations()
	made := config.GetResourceVersion() == ""
	if !made && c.same() && apiequality.Semantic.DeepEqual(owners, config.GetOwnerReferences()) &&
		labels[names.ManagedByLabel] == names.ManagedBy && annotations[annotationApplied] == applied {
		return 0, nil
	}
	if wait := w.contest(sort).wait(wanted, w.o.Clock.Now()); wait > 0 {
		w.o.Log.Info("Somebody keeps changing the webhook configuration; it is restored later", "sort", sort, "in",
			wait.String())
		return wait, nil
	}
	c.set()
	config.SetLabels(with(labels, names.ManagedByLabel, names.ManagedBy))
	config.SetAnnotations(with(annotations, annotationApplied, applied))
	config.SetOwnerReferences(owners)
	config.SetName(names.Configuration)
	if err := w.store(ctx, config, made); err != nil {
		return 0, fmt.Errorf("writing the %s webhook configuration %s: %w", sort, names.Configuration, err)
	}
	restored := w.contest(sort).wrote(wanted, w.o.Clock.Now())
	w.o.Log.Info("A webhook configuration is written", "sort", sort, "new", made, "restored", restored)
	if restored {
		w.metrics.countRestored(sort)
		w.event(config, v1alpha1.EventWebhookRestored,
			"Somebody has changed it; it is again as the policies in force need it")
	}
	return 0, nil
}

func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

func (w *Writer) store(ctx context.Context, config client.Object, made bool) error {
	if made {
		return w.o.Client.Create(ctx, config, client.FieldOwner(v1alpha1.FieldManager))
	}
	return w.o.Client.Update(ctx, config, client.FieldOwner(v1alpha1.FieldManager))
}
