// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"evenkeel.dev/evenkeel/internal/policy/override"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/scan/index"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// Options tune the scan. The epoch value means the defaults.
type Options struct {
	// ResyncPeriod is how often every kind is listed anew, give or take a tenth.
	// Default: 10 minutes.
	ResyncPeriod time.Duration
	// PageSize is the number of objects of a page, where the API server can't
	// stream a list. Default: 500.
	PageSize int64
	// MaxConcurrentPasses is how many kinds are listed at a time. Default: 4.
	MaxConcurrentPasses int
	// StatusInterval is the least time between two writes of one policy's status.
	// Default: 1 second.
	StatusInterval time.Duration
	// Clock is the time. Default: the real one.
	Clock clock.WithTicker
	// Registerer takes the metrics. Default: controller-runtime's registry.
	Registerer prometheus.Registerer
}

func (o Options) withDefaults() Options {
	if o.ResyncPeriod <= 0 {
		o.ResyncPeriod = 10 * time.Minute
	}
	if o.PageSize <= 0 {
		o.PageSize = listing.DefaultPage
	}
	if o.MaxConcurrentPasses <= 0 {
		o.MaxConcurrentPasses = 4
	}
	if o.StatusInterval <= 0 {
		o.StatusInterval = time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Registerer == nil {
		o.Registerer = crmetrics.Registry
	}
	return o
}

// Setup adds the scanner and the status controllers of policies, templates and waivers to
// the manager and returns the Index that they fill. All run on the leader alone; elsewhere the
// Index stays empty and knows no policy.
func Setup(mgr ctrl.Manager, policies Catalog, opts Options) (*index.Index, error) {
	opts = opts.withDefaults()
	findings := index.New(func(name string) (string, bool) { return policies.Snapshot().Revision(name) })
	metrics, err := newMetrics(opts.Registerer, findings)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the scan's client: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the scan's discovery client: %w", err)
	}
	recorder := mgr.GetEventRecorder("evenkeel-scan")
	announcer := newAnnouncer(recorder, opts.Clock)
	findings.OnTransitions(announcer.found)
	scanner := &Scanner{
		catalog: policies, index: findings, client: dyn,
		resolver:  newResolver(memory.NewMemCacheClient(disco), opts.Clock),
		informers: mgr.GetCache(), namespaces: newNamespaces(), metrics: metrics,
		clock: opts.Clock, log: mgr.GetLogger().WithName("scan"), opts: opts,
		slots: make(chan struct{}, opts.MaxConcurrentPasses),
		kinds: map[schema.GroupKind]*kindScan{},
	}
	if err := mgr.Add(scanner); err != nil {
		return nil, fmt.Errorf("add the scanner to the manager: %w", err)
	}
	status := &StatusController{
		client: mgr.GetClient(), catalog: policies, index: findings, changes: findings.Changes(), announcer: announcer,
		clock: opts.Clock, interval: opts.StatusInterval, written: map[string]time.Time{},
	}
	if err := status.Register(mgr); err != nil {
		return nil, err
	}
	templates := &TemplateController{client: mgr.GetClient(), catalog: policies, clock: opts.Clock}
	if err := templates.Register(mgr); err != nil {
		return nil, err
	}
	strategies := &strategy.Controller{Client: mgr.GetClient(), Clock: opts.Clock}
	if err := strategies.Register(mgr); err != nil {
		return nil, err
	}
	waivers := &WaiverController{client: mgr.GetClient(), catalog: policies, recorder: recorder, clock: opts.Clock}
	if err := waivers.Register(mgr); err != nil {
		return nil, err
	}
	if err := override.RegisterMetrics(opts.Registerer, func(now time.Time, each func(string, *override.Override)) {
		policies.Snapshot().Overrides(now, each)
	}, opts.Clock); err != nil {
		return nil, err
	}
	overrides := &override.Controller{Client: mgr.GetClient(), Catalog: policies, Recorder: recorder, Clock: opts.Clock}
	if err := overrides.Register(mgr); err != nil {
		return nil, err
	}
	return findings, nil
}
