// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"evenkeel.dev/evenkeel/internal/policy/override"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/scan/index"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// Options tune the scan. The zero value means the defaults.
type Options struct {
	// Catalog has the policies, templates, waivers and overrides.
	Catalog Catalog
	// ResyncPeriod is how often every kind is listed anew, give or take a tenth.
	// Default: 10 minutes.
	ResyncPeriod time.Duration
	// PageSize is the number of objects of a page, where the API server can't
	// stream a list. Default: 500.
	PageSize int64
	// MaxConcurrentPasses is how many kinds are listed at a time. Default: 4.
	MaxConcurrentPasses int
	// ListShare is the largest share of the time, above 0 and at most 1, in which one kind is listed because policies
	// have changed or somebody waits for it. Default: DefaultListShare.
	ListShare float64
	// StatusInterval is the least time between two writes of one policy's status that change only its figures. What
	// changes its state is written after a second. Default: DefaultStatusInterval.
	StatusInterval time.Duration
	// References tell that objects that policies refer to have changed. Default: nothing does.
	References References
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
	if !(o.ListShare > 0 && o.ListShare <= 1) {
		o.ListShare = DefaultListShare
	}
	if o.StatusInterval <= 0 {
		o.StatusInterval = DefaultStatusInterval
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Registerer == nil {
		o.Registerer = crmetrics.Registry
	}
	return o
}

// Controllers are the scanner and the controllers of the status of policies, templates, waivers, strategies and
// overrides. All run on the leader alone; elsewhere the Index stays empty and knows no policy.
type Controllers struct {
	options Options
	index   *index.Index
}

// NewControllers makes them.
func NewControllers(o Options) *Controllers {
	o = o.withDefaults()
	return &Controllers{options: o, index: index.New(index.Options{Clock: o.Clock,
		InForce: func(name string) (string, bool) { return o.Catalog.Snapshot().Revision(name) }})}
}

// Index is what the scanner fills.
func (c *Controllers) Index() *index.Index { return c.index }

// Register joins the manager.
func (c *Controllers) Register(mgr ctrl.Manager) error {
	o := &c.options
	recorder := mgr.GetEventRecorder("evenkeel-scan")
	announcer := newAnnouncer(recorder, o.Clock)
	c.index.OnTransitions(announcer.found)
	if err := c.scan(mgr); err != nil {
		return err
	}
	if err := override.RegisterMetrics(o.Registerer, func(now time.Time, each func(string, *override.Override)) {
		o.Catalog.Snapshot().Overrides(now, each)
	}, o.Clock); err != nil {
		return err
	}
	for _, controller := range []interface{ Register(mgr ctrl.Manager) error }{
		&StatusController{client: mgr.GetClient(), catalog: o.Catalog, index: c.index, changes: c.index.Changes(),
			announcer: announcer, clock: o.Clock, interval: o.StatusInterval, written: map[string]time.Time{}},
		&TemplateController{client: mgr.GetClient(), catalog: o.Catalog, clock: o.Clock},
		strategy.NewController(strategy.Options{Client: mgr.GetClient(), Clock: o.Clock}),
		&WaiverController{client: mgr.GetClient(), catalog: o.Catalog, recorder: recorder, clock: o.Clock},
		override.NewController(override.Options{Client: mgr.GetClient(), Catalog: o.Catalog, Recorder: recorder,
			Clock: o.Clock}),
	} {
		if err := controller.Register(mgr); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controllers) scan(mgr ctrl.Manager) error {
	o := &c.options
	metrics, err := newMetrics(o.Registerer, c.index)
	if err != nil {
		return err
	}
	dyn, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make the scan's client: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make the scan's discovery client: %w", err)
	}
	scanner := &Scanner{
		catalog: o.Catalog, index: c.index, client: dyn,
		resolver:  listing.NewResolver(disco, o.Clock),
		informers: mgr.GetCache(), namespaces: newNamespaces(), metrics: metrics,
		references: newReferenceChanges(o.References), clock: o.Clock,
		log: mgr.GetLogger().WithName("scan"), opts: *o,
		slots: make(chan struct{}, o.MaxConcurrentPasses),
		kinds: map[schema.GroupKind]*kindScan{},
	}
	if err := mgr.Add(scanner); err != nil {
		return fmt.Errorf("add the scanner to the manager: %w", err)
	}
	return nil
}
