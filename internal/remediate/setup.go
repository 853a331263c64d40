// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/remediate/approval"
	"evenkeel.dev/evenkeel/internal/remediate/budget"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/remediate/freeze"
	"evenkeel.dev/evenkeel/internal/remediate/planning"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// Options are what remediation needs from the rest of the manager.
type Options struct {
	// Policies is the catalog.
	Policies planning.PolicyStatus
	// Findings is the scan's index.
	Findings breaker.Findings
	// Scan tells what the writes of plans have brought to other objects.
	Scan execute.Scan
	// Changes tells of policies whose findings have changed.
	Changes <-chan event.GenericEvent
	// Clock is the time.
	Clock clock.PassiveClock
	// Metrics is where the figures are registered.
	Metrics prometheus.Registerer
	// Rollouts is how many plans are worked on at a time.
	Rollouts int
	// PollInterval is the longest that a plan waits until it looks again at what it waits
	// for: targets that aren't verified, budgets, windows. Zero: 1 to 5 seconds, by what that is.
	PollInterval time.Duration
	// PlanInterval is how often violations that can't be planned are looked at again. Default:
	// planning.DefaultInterval.
	PlanInterval time.Duration
	// PlanDelay is how long after a plan's end its policy isn't planned again. Default: planning.DefaultDelay.
	PlanDelay time.Duration
	// StormInterval is how often a policy's violations are counted for its breaker. Default:
	// breaker.DefaultStormInterval.
	StormInterval time.Duration
	// Analyzer answers the queries of metrics and of service level objectives; nil
	// when there is none, which holds the plans whose strategy names any.
	Analyzer breaker.Analyzer
	// Tools finds the tools that manage objects.
	Tools kube.Tools
	// SLO is the service level objective that the global breaker watches; nil for none.
	SLO *v1alpha1.SLOStrategy
	// SLOInterval is how long an answer about any objective holds. Default: circuit.DefaultSLOInterval.
	SLOInterval time.Duration
	// Reach is what fixes may write.
	Reach limits.Reach
	// Annotate has each fix that is written name its plan at the object.
	Annotate bool
	// Floors is how careful every strategy must be at the least.
	Floors limits.Floors
	// Freezes is the file of the cluster's freezes; empty for none.
	Freezes freeze.File
}

// Controllers are those of rollouts, plans and breakers.
type Controllers struct{ o Options }

// NewControllers makes them. What they share is made when they join a manager.
func NewControllers(o Options) *Controllers { return &Controllers{o} }

// Register adds the controllers to the manager. They run on the leader only.
func (c *Controllers) Register(mgr ctrl.Manager) error {
	o := c.o
	recorder := events.NewRecorder(mgr.GetEventRecorder("evenkeel"))
	reader, writer := mgr.GetAPIReader(), mgr.GetClient()
	b := breaker.New(breaker.Options{Reader: reader, Client: writer, Policies: o.Policies, Findings: o.Findings,
		Analyzer: o.Analyzer, SLO: o.SLO, SLOInterval: o.SLOInterval, StormInterval: o.StormInterval,
		Clock: o.Clock, Events: recorder, Metrics: o.Metrics})
	slices := record.NewCache(reader)
	room := budget.New(budget.Options{Reader: reader, Records: slices, Floors: o.Floors})
	approvers := canary.Approvers{Distinct: o.Floors.DistinctApprover, SourcesReviewed: o.Floors.SourcesReviewed}
	rollout := &Controller{client: writer, reader: reader, policies: o.Policies, clock: o.Clock,
		events: recorder, breakers: b, records: slices, budgets: room, metrics: newMetrics(o.Metrics),
		analyzer: o.Analyzer, tools: o.Tools, landings: execute.NewLandings(), shown: execute.NewShown(),
		soaks: newSoakClock(), reach: o.Reach, annotate: o.Annotate,
		answers:      approval.NewReader(reader, o.Clock, approvers),
		floors:       o.Floors,
		freezes:      o.Freezes,
		scan:         o.Scan,
		pollInterval: o.PollInterval,
		permissions:  &permissions.Finder{Asker: permissions.Own(mgr.GetClient()), Mapper: mgr.GetRESTMapper()}}
	o.Freezes.Register(o.Metrics, o.Clock)
	if err := ctrl.NewControllerManagedBy(mgr).Named("remediation").
		For(&v1alpha1.Remediation{}).
		Watches(&v1alpha1.RemediationBreaker{}, handler.EnqueueRequestsFromMapFunc(rollout.heldPlans),
			builder.WithPredicates(gateChanges())).
		WatchesMetadata(&v1alpha1.RemediationSlice{}, handler.EnqueueRequestsFromMapFunc(planOfSlice),
			builder.WithPredicates(sliceComesOrGoes())).
		WithOptions(controller.Options{MaxConcurrentReconciles: max(o.Rollouts, 1)}).
		Complete(rollout); err != nil {
		return err
	}
	planner := planning.NewPlanner(planning.Options{Reader: reader, Writer: writer,
		Policies: o.Policies, Findings: o.Findings, Changes: o.Changes, Clock: o.Clock, Events: recorder, Breakers: b,
		Interval: o.PlanInterval, Delay: o.PlanDelay,
		Tools: o.Tools, Reach: o.Reach, Floors: o.Floors})
	if err := planner.Register(mgr); err != nil {
		return err
	}
	return breaker.NewController(b).Register(mgr)
}
