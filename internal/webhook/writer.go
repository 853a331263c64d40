// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/names"
)

// unknownKindRetry is how soon kinds that aren't served are looked up again. A
// new CustomResourceDefinition is seen at once; this is for aggregated APIs.
const unknownKindRetry = 30 * time.Second

// prepareRetry is how soon it is looked again whether requests can be answered.
const prepareRetry = 200 * time.Millisecond

// ConfigurationWriter keeps the webhook configurations, the validating and the
// mutating one, as the policies in force need them. It runs on the leader only. It is
// level-triggered: whatever changes, by us or others, it compares the whole and writes
// only a difference, but for what others have added that only narrows.
type ConfigurationWriter struct {
	configuration *Configuration
	policies      func() []*v1alpha1.ClusterRegoPolicy
	// prepared says whether requests could be answered: before the catalog is
	// complete, rules would be missing; before the certificate is served, all
	// calls would fail.
	prepared func() error
	reader   client.Reader
	writer   client.Writer
	secret   types.NamespacedName
	owner    ownerRole
	clock    clock.PassiveClock
	log      logr.Logger
	metrics  *ConfigurationMetrics
	// events tells people of what others do to the configurations; nil tells nobody.
	events events.EventRecorder

	contests map[string]*contested
}

// Reconcile compares and writes.
func (w *ConfigurationWriter) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if err := w.prepared(); err != nil {
		w.log.V(1).Info("The webhook configuration waits", "reason", err.Error())
		return ctrl.Result{RequeueAfter: prepareRetry}, nil
	}
	found, err := readConfigurations(ctx, w.reader)
	if err != nil {
		return ctrl.Result{}, err
	}
	bundle, until, err := w.bundle(ctx, found)
	if errors.Is(err, errNoAuthority) {
		return ctrl.Result{}, nil // the Secret's change brings us back
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	hooks, unknown, err := w.configuration.Webhooks(w.policies(), bundle)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("generating the webhook configuration: %w", err)
	}
	owner, err := w.owner.reference(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	contested, err := w.write(ctx, found, owner, hooks, w.configuration.MutatingWebhooks(bundle))
	if err != nil {
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			return ctrl.Result{RequeueAfter: time.Second}, nil
		}
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: sooner(w.next(unknown, until), contested)}, nil
}

// next is when to look again though nothing is seen to change, or zero.
func (w *ConfigurationWriter) next(unknown []string, until time.Time) time.Duration {
	var after time.Duration
	if !until.IsZero() {
		after = max(until.Sub(w.clock.Now()), time.Second)
	}
	if len(unknown) > 0 {
		w.log.Info("Some kinds that policies match aren't served, so their objects can't be judged yet", "kinds",
			unknown)
		if after == 0 || unknownKindRetry < after {
			after = unknownKindRetry
		}
	}
	return after
}

// bundle is what the API server is to trust. While the Secret holds no certificate
// that could be served, it is what it trusts now: replicas go on with what they have.
func (w *ConfigurationWriter) bundle(ctx context.Context, found *configurations) ([]byte, time.Time, error) {
	var secret corev1.Secret
	err := w.reader.Get(ctx, w.secret, &secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, time.Time{}, fmt.Errorf("reading secret %s: %w", w.secret, err)
	}
	trusted := bytes.Join(found.trusted(), nil)
	if _, err := servable(secret.Data, w.configuration.Endpoint.serverName(), w.clock.Now()); err != nil {
		if len(trusted) == 0 {
			return nil, time.Time{}, errNoAuthority
		}
		return encodeBundle(union(nil, parseBundle(trusted))), time.Time{}, nil
	}
	return caBundle(secret.Data, trusted, w.clock.Now())
}

// write brings both configurations in step, the mutating one first: the validating
// one refuses what the other hasn't filled in. It returns how soon to look again at
// what others keep changing.
func (w *ConfigurationWriter) write(ctx context.Context, found *configurations, owner *metav1.OwnerReference,
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
func (w *ConfigurationWriter) keep(ctx context.Context, config client.Object, owner *metav1.OwnerReference, sort string,
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
	if wait := w.contest(sort).wait(wanted, w.clock.Now()); wait > 0 {
		w.log.Info("Somebody keeps changing the webhook configuration; it is restored later", "sort", sort, "in",
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
	restored := w.contest(sort).wrote(wanted, w.clock.Now())
	w.log.Info("A webhook configuration is written", "sort", sort, "new", made, "restored", restored)
	if restored {
		w.metrics.countRestored(sort)
		w.event(config, ReasonWebhookRestored, "Somebody has changed it; it is again as the policies in force need it")
	}
	return 0, nil
}

// with is a map with one more entry.
func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

func (w *ConfigurationWriter) store(ctx context.Context, config client.Object, made bool) error {
	if made {
		return w.writer.Create(ctx, config, client.FieldOwner(v1alpha1.FieldManager))
	}
	return w.writer.Update(ctx, config, client.FieldOwner(v1alpha1.FieldManager))
}
