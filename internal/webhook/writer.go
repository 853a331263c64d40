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
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "evenkeel"
)

// unknownKindRetry is how soon kinds that aren't served are looked up again. A
// new CustomResourceDefinition is seen at once; this is for aggregated APIs.
const unknownKindRetry = 30 * time.Second

// prepareRetry is how soon it is looked again whether requests can be answered.
const prepareRetry = 200 * time.Millisecond

// ConfigurationWriter keeps the webhook configurations, the validating and the
// mutating one, as the policies in force need them. It runs on the leader only. It is level-triggered: whatever
// changes, by us or others, it compares the whole and writes only a difference.
type ConfigurationWriter struct {
	configuration *Configuration
	policies      func() []*v1alpha1.Policy
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
	if err := w.write(ctx, found, owner, hooks, w.configuration.MutatingWebhooks(bundle)); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			return ctrl.Result{RequeueAfter: time.Second}, nil
		}
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: w.next(unknown, until)}, nil
}

// next is when to look again though nothing is seen to change, or zero.
func (w *ConfigurationWriter) next(unknown []string, until time.Time) time.Duration {
	var after time.Duration
	if !until.IsZero() {
		after = max(until.Sub(w.clock.Now()), time.Second)
	}
	if len(unknown) > 0 {
		w.log.Info("Some kinds that policies match aren't served, so their objects can't be judged yet", "kinds", unknown)
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
// one refuses what the other hasn't filled in.
func (w *ConfigurationWriter) write(ctx context.Context, found *configurations, owner *metav1.OwnerReference,
	validating []admissionregistrationv1.ValidatingWebhook, mutating []admissionregistrationv1.MutatingWebhook) error {
	same := apiequality.Semantic.DeepEqual(found.mutating.Webhooks, mutating)
	found.mutating.Webhooks = mutating
	if err := w.keep(ctx, &found.mutating, owner, "mutating", same); err != nil {
		return err
	}
	same = apiequality.Semantic.DeepEqual(found.validating.Webhooks, validating)
	found.validating.Webhooks = validating
	return w.keep(ctx, &found.validating, owner, "validating", same)
}

// keep makes or updates one configuration, unless it is there and the same.
func (w *ConfigurationWriter) keep(ctx context.Context, config client.Object, owner *metav1.OwnerReference, sort string, same bool) error {
	made := config.GetResourceVersion() == ""
	labels := maps.Clone(config.GetLabels())
	owners := ownedBy(config.GetOwnerReferences(), owner)
	same = same && apiequality.Semantic.DeepEqual(owners, config.GetOwnerReferences())
	if !made && same && labels[managedByLabel] == managedBy {
		return nil
	}
	if labels == nil {
		labels = map[string]string{}
	}
	labels[managedByLabel] = managedBy
	config.SetLabels(labels)
	config.SetOwnerReferences(owners)
	config.SetName(ConfigurationName)
	var err error
	if made {
		err = w.writer.Create(ctx, config, client.FieldOwner(v1alpha1.FieldManager))
	} else {
		err = w.writer.Update(ctx, config, client.FieldOwner(v1alpha1.FieldManager))
	}
	if err != nil {
		return fmt.Errorf("writing the %s webhook configuration %s: %w", sort, ConfigurationName, err)
	}
	w.log.Info("A webhook configuration is written", "sort", sort, "new", made)
	return nil
}
