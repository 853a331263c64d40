// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"text/template"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	// coalesceDelay is how long after a change its tick comes, so that many changes make
	// one tick.
	coalesceDelay = 500 * time.Millisecond
	// firstRetry is how soon a failed tick is tried again; it doubles up to the
	// interval.
	firstRetry = time.Second
)

// Options is what escalation needs from the rest of the manager.
type Options struct {
	AlertOptions
	// Alertmanagers are the addresses of all peers. Without any, alerts are
	// derived for the metrics alone.
	Alertmanagers []string
	// BearerTokenFile and CAFile are how the peers are reached; both may be empty.
	BearerTokenFile, CAFile string
	// Interval is the time between two ticks.
	Interval time.Duration
	// Clock is the time.
	Clock clock.PassiveClock
	// Metrics is where the figures are registered.
	Metrics prometheus.Registerer
}

// NewController makes the controller, and registers its metrics. It errs when a peer's
// address, or the file of the authorities to trust, can't be used.
func NewController(o Options) (*Controller, error) {
	peers, err := newPeers(o.Alertmanagers, o.BearerTokenFile, o.CAFile)
	if err != nil {
		return nil, err
	}
	return &Controller{peers: peers, options: o.AlertOptions, interval: o.Interval, clock: o.Clock,
		metrics: newMetrics(o.Metrics)}, nil
}

// Register joins the manager, and reads past its cache from then on. It runs on the
// leader.
func (c *Controller) Register(mgr ctrl.Manager) error {
	c.reader, c.evidence = mgr.GetAPIReader(), &evidenceReader{reader: mgr.GetAPIReader()}
	return ctrl.NewControllerManagedBy(mgr).Named("escalation").
		WatchesRawSource(source.Func(firstTick)).
		Watches(&v1alpha1.ClusterRegoPolicy{}, soon()).
		Watches(&v1alpha1.Remediation{}, soon()).
		Watches(&v1alpha1.RemediationBreaker{}, soon()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				min(firstRetry, c.interval), c.interval),
		}).
		Complete(c)
}

func tick() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: "alerts"}}
}

// firstTick finds, at the start, what an earlier leader has left firing.
func firstTick(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	queue.Add(tick())
	return nil
}

// soon asks for a tick after a change that alerts may depend on.
func soon() handler.EventHandler {
	after := func(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		queue.AddAfter(tick(), coalesceDelay)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent,
			q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			after(q)
		},
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent,
			q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			after(q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent,
			q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if !equality.Semantic.DeepEqual(turn(e.ObjectOld), turn(e.ObjectNew)) {
				after(q)
			}
		},
	}
}

// turn is the part of an object that may begin or end an alert. Counts of a
// rollout at work aren't.
func turn(obj client.Object) any {
	switch o := obj.(type) {
	case *v1alpha1.Remediation:
		return []any{o.Status.Phase, o.Status.Reason, o.Status.HeldTime, o.Status.CompletionTime, o.Spec.RetryToken}
	case *v1alpha1.RemediationBreaker:
		return []any{o.Spec, o.Status.State, o.Status.OpenedTime, o.Status.Demoted}
	case *v1alpha1.ClusterRegoPolicy:
		clean := o.Status.Scan != nil && o.Status.Scan.Violating == 0
		var conditions []string
		for _, c := range o.Status.Conditions {
			conditions = append(conditions, c.Type, string(c.Status), c.Reason)
		}
		return []any{o.Generation, o.Status.Revision, clean, conditions}
	default:
		return obj.GetResourceVersion()
	}
}

// Dashboard makes links out of a template like
// https://grafana.example.com/d/evenkeel?var-policy={{.Policy}}. It knows the
// fields of Identity, escaped for a URL's query. An empty template makes no links.
func Dashboard(text string) (func(Identity) string, error) {
	if text == "" {
		return nil, nil
	}
	t, err := template.New("dashboard").Parse(text)
	if err != nil {
		return nil, err
	}
	link := func(i Identity) (string, error) {
		var b strings.Builder
		err := t.Execute(&b, Identity{Name: url.QueryEscape(i.Name), Severity: url.QueryEscape(i.Severity),
			Cluster:   url.QueryEscape(i.Cluster),
			Namespace: url.QueryEscape(i.Namespace), Policy: url.QueryEscape(i.Policy), Owner: url.QueryEscape(i.Owner),
			Scope: url.QueryEscape(i.Scope)})
		return b.String(), err
	}
	made, err := link(Identity{Policy: "policy"})
	if err != nil {
		return nil, err
	}
	if at, err := url.Parse(made); err != nil || at.Host == "" {
		return nil, fmt.Errorf("%q isn't a URL", made)
	}
	return func(i Identity) string {
		made, _ := link(i) // the template has proved that it executes
		return made
	}, nil
}
