// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

const (
	// mostWaiting and mostUnits bound the evaluations that wait to be made again: how many, and
	// how large their inputs are together, of which a unit takes some hundred bytes of memory.
	mostWaiting = 64
	mostUnits   = 1 << 17
)

// Evaluation is a decision with all that it takes to come to it again.
type Evaluation struct {
	Policy   *rego.Compiled
	Input    *rego.Input
	Decision policy.Decision
	// Limit is how long topdown may take, in turns of the lane.
	Limit time.Duration
	Lane  *rego.Lane
	// secret says that not even a digest of the verdict may be told.
	secret bool
}

// recorder records an event; events.EventRecorder of client-go is one.
type recorder interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any)
}

// Options tune a Comparer.
type Options struct {
	// Share of the compiled engine's decisions is made again, from 0 to 1.
	Share float64
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
	Log        logr.Logger
}

// Comparer is told of every decision, and has a share of them made again. Its methods may be
// called on nil, which compares nothing.
type Comparer struct {
	share    float64
	log      logr.Logger
	recorder recorder
	metrics  *metrics
	queue    chan Evaluation
	// units are those of the inputs that wait, or are at work.
	units atomic.Int64

	mu sync.RWMutex
	// disputed are the revisions, by policy, of which the engines gave different verdicts.
	disputed map[string]string
}

// New makes a comparer; it compares once it is started.
func New(o Options) (*Comparer, error) {
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	return &Comparer{share: o.Share, log: o.Log, metrics: m, queue: make(chan Evaluation, mostWaiting),
		disputed: map[string]string{}}, nil
}

// RecordTo has differences recorded as events, from now on.
func (c *Comparer) RecordTo(r recorder) { c.recorder = r }

// NeedLeaderElection is false: every replica judges.
func (c *Comparer) NeedLeaderElection() bool { return false }

// Start compares what waits, one after the other, until ctx ends.
func (c *Comparer) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-c.queue:
			c.one(ctx, &e)
		}
	}
}

func (c *Comparer) one(ctx context.Context, e *Evaluation) {
	c.compare(ctx, e)
	c.units.Add(-e.Input.Units())
}

// Disputed says that the engines have given different verdicts of the policy's revision.
func (c *Comparer) Disputed(p *rego.Compiled) bool {
	if c == nil {
		return false
	}
	c.mu.RLock()
	revision, found := c.disputed[p.Name()]
	c.mu.RUnlock()
	if found && revision != p.Revision() {
		c.Forget(p.Name()) // the new one is tried
		return false
	}
	return found
}

// Forget drops what is known of a policy.
func (c *Comparer) Forget(name string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.disputed, name)
	c.metrics.differ.DeleteLabelValues(name)
}

// Judged counts a decision on a request, and has it made again if it is one of the share. It never
// waits: what finds no room isn't compared. The request isn't kept.
func (c *Comparer) Judged(r *policy.Request, e Evaluation) {
	if c == nil {
		return
	}
	c.metrics.evaluations.WithLabelValues(string(e.Decision.Engine), e.Decision.WhyTopdown).Inc()
	if e.Decision.Engine != policy.CompiledEngine || !chosen(c.share, e.Policy.Revision(), r) {
		return
	}
	e.secret = policy.IsSecret(r.Judged())
	if !c.enqueue(e) {
		c.metrics.comparisons.WithLabelValues(skipped).Inc()
	}
}

// enqueue has a decision made again, if there is room.
func (c *Comparer) enqueue(e Evaluation) bool {
	if len(c.queue) == cap(c.queue) { // before all of the objects is converted in vain
		return false
	}
	// Topdown is given all of the objects, so that a field that a rule reads and nobody knew of is noticed too.
	whole, err := e.Input.Whole()
	if err != nil {
		return false
	}
	e.Input = whole
	units := e.Input.Units()
	if c.units.Add(units) <= mostUnits {
		select {
		case c.queue <- e:
			return true
		default:
		}
	}
	c.units.Add(-units)
	return false
}

func (c *Comparer) compare(ctx context.Context, e *Evaluation) {
	again := e.Policy.EvaluateByTopdown(ctx, e.Input, e.Limit, e.Lane)
	result, parts := compare(&e.Decision, &again)
	c.metrics.comparisons.WithLabelValues(result).Inc()
	if result != different || !c.dispute(e.Policy) {
		return
	}
	told := digest(e, &again)
	c.log.Error(fmt.Errorf("the engines differ in %s", strings.Join(parts, ", ")),
		"topdown judges this revision from now on, in this process", "policy", e.Policy.Name(),
		"revision", e.Policy.Revision(), "engine", e.Decision.Engine, "digest", told)
	if c.recorder != nil {
		announce(c.recorder, e.Policy, parts, told)
	}
}

// dispute leaves a revision to topdown; false when it is already.
func (c *Comparer) dispute(p *rego.Compiled) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.disputed[p.Name()] == p.Revision() {
		return false
	}
	c.disputed[p.Name()] = p.Revision()
	c.metrics.differ.WithLabelValues(p.Name()).Set(1)
	return true
}
