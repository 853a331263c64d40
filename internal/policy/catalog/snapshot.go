// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/override"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// Result is what one policy says, with the definition that said it.
type Result struct {
	policy.Decision
	// Definition is shared: read it only.
	Definition *v1alpha1.ClusterRegoPolicy
	// Waived says why the violations don't count at the request's time; nil while
	// they do, or when there are none. It is shared: read it only.
	Waived *Waiver
	// Override is what a PolicyOverride makes of the policy at the request's time; nil while
	// none is in force. It is shared: read it only.
	Override *override.Override
	// Took is how long the judging took, the wait for a turn included.
	Took time.Duration
}

// Snapshot is the catalog at one moment. It is immutable: a request that begins
// with one ends with it, whatever policies come and go meanwhile.
type Snapshot struct {
	index   *match.Index
	entries map[string]*entry
	waivers byPolicy
	// overrides are the PolicyOverrides by policy.
	overrides overrides
	// templates are those that policies may name.
	templates templates
	// strategies are those that policies may refer to; it is never changed in place.
	strategies strategies
	limit      time.Duration
	// inventory, lane, clock and evaluations are the catalog's own: they outlive the snapshot.
	inventory   Inventory
	lane        *rego.Lane
	clock       clock.PassiveClock
	evaluations *prometheus.CounterVec
}

// Evaluate asks every policy that concerns the request, sorted by name.
func (s *Snapshot) Evaluate(ctx context.Context, r *policy.Request) []Result {
	return s.EvaluateWhere(ctx, r, func(*v1alpha1.ClusterRegoPolicy) bool { return true })
}

// EvaluateWhere asks every policy that concerns the request and that keep wants,
// sorted by name. The others aren't evaluated, and cost nothing. The time until the
// context's deadline is shared out over all of them.
func (s *Snapshot) EvaluateWhere(ctx context.Context, r *policy.Request,
	keep func(*v1alpha1.ClusterRegoPolicy) bool) []Result {
	names := slices.DeleteFunc(s.index.Match(r), func(name string) bool { return !keep(s.entries[name].definition()) })
	if len(names) == 0 {
		return nil
	}
	input, err := rego.NewInput(r)
	results := make([]Result, 0, len(names))
	shared := s.budget(ctx, r, len(names))
	for i, name := range names {
		limit := shared.share(s.clock.Now(), len(names)-1-i)
		if result, asked := s.evaluate(ctx, s.entries[name], r, input, err, limit); asked {
			results = append(results, result)
		}
	}
	return results
}

// Concerning are the definitions of the policies that concern the request, sorted
// by name, but for those whose violations on its object are waived. They are
// shared: read them only.
func (s *Snapshot) Concerning(r *policy.Request) []*v1alpha1.ClusterRegoPolicy {
	var out []*v1alpha1.ClusterRegoPolicy
	for _, name := range s.index.Match(r) {
		if s.waivers.of(name, r) == nil {
			out = append(out, s.entries[name].definition())
		}
	}
	return out
}

// EvaluateOne asks one policy, which gets half of the time until the context's
// deadline at most. It is not matched when the policy is unknown or
// doesn't concern the request.
func (s *Snapshot) EvaluateOne(ctx context.Context, name string, r *policy.Request) (res Result, matched bool) {
	return s.EvaluateWhereMatched(ctx, name, r, r)
}

// EvaluateWhereMatched is EvaluateOne where another request says whether the policy concerns it, such as one of
// another operation.
func (s *Snapshot) EvaluateWhereMatched(ctx context.Context, name string, r, by *policy.Request) (res Result,
	matched bool) {
	if !slices.Contains(s.index.Match(by), name) {
		return Result{}, false
	}
	input, err := rego.NewInput(r)
	return s.evaluate(ctx, s.entries[name], r, input, err, s.half(ctx))
}

// evaluate asks one policy that the index found, unless its conditions leave the request
// out.
func (s *Snapshot) evaluate(ctx context.Context, e *entry, r *policy.Request, input *rego.Input, inputErr error,
	limit time.Duration) (result Result, asked bool) {
	asked, err := e.conditions.Match(ctx, r)
	if !asked && err == nil {
		return Result{}, false
	}
	result = s.judge(ctx, e, r, input, errors.Join(inputErr, err), limit)
	result.Override = s.Override(result.Policy, r.Now)
	return result, true
}

func (s *Snapshot) judge(ctx context.Context, e *entry, r *policy.Request, input *rego.Input, inputErr error,
	limit time.Duration) Result {
	definition := e.definition()
	failed := func(err error) Result {
		return Result{
			Decision: policy.Decision{Policy: definition.Name, Revision: e.revision(),
				Err: fmt.Errorf("policy %s: %w", definition.Name, err)},
			Definition: definition,
		}
	}
	switch {
	case e.compiled == nil:
		return failed(fmt.Errorf("it doesn't compile and has no earlier revision: %w", e.problem))
	case match.NeedsNamespace(definition, r):
		return failed(fmt.Errorf("its namespaceSelector can't be judged: the Namespace %s isn't known yet",
			r.Namespace))
	case inputErr != nil:
		return failed(inputErr)
	}
	input, err := s.withInventory(input, e.compiled, r)
	if err != nil {
		return failed(err)
	}
	return s.decide(ctx, e, r, input, limit)
}

func (s *Snapshot) decide(ctx context.Context, e *entry, r *policy.Request, input *rego.Input,
	limit time.Duration) Result {
	begun := s.clock.Now()
	decision := e.compiled.EvaluateInTurns(ctx, input, limit, s.lane)
	ended := s.clock.Now()
	s.count(&decision)
	result := Result{Decision: decision.Censor(r), Definition: e.definition(), Took: ended.Sub(begun)}
	if len(result.Violations) > 0 {
		result.Waived = s.waivers.of(result.Policy, r)
	}
	return result
}

// Policies are the definitions in force, sorted by name. They are shared: read
// them only.
func (s *Snapshot) Policies() []*v1alpha1.ClusterRegoPolicy {
	definitions := make([]*v1alpha1.ClusterRegoPolicy, 0, len(s.entries))
	for _, e := range s.entries {
		definitions = append(definitions, e.definition())
	}
	slices.SortFunc(definitions, func(a, b *v1alpha1.ClusterRegoPolicy) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return definitions
}

// Definition is the policy's definition in force, or nil when there is no such
// policy. It is shared: read it only.
func (s *Snapshot) Definition(name string) *v1alpha1.ClusterRegoPolicy {
	if e, ok := s.entries[name]; ok {
		return e.definition()
	}
	return nil
}

// Revision is the policy's revision in force; false when it is unknown or has
// never compiled.
func (s *Snapshot) Revision(name string) (string, bool) {
	e, ok := s.entries[name]
	if !ok || e.compiled == nil {
		return "", false
	}
	return e.compiled.Revision(), true
}

// DependsOnNamespace says that what the policy says of an object may change with the labels, or
// any other part, of its Namespace: by its selector, or by what its rules may read.
func (s *Snapshot) DependsOnNamespace(name string) bool {
	e, ok := s.entries[name]
	return ok && (e.definition().Spec.Match.NamespaceSelector != nil || e.compiled != nil &&
		e.compiled.ReadsNamespace())
}

// tracedLimit is how long one policy may take for one object while topdown is traced, which takes many times as long.
const tracedLimit = 10 * time.Second

// Traced is the same catalog with its policies left to topdown, whose decisions say how it came to them.
func (s *Snapshot) Traced() *Snapshot {
	own := *s
	own.limit = max(own.limit, tracedLimit)
	own.entries = make(map[string]*entry, len(s.entries))
	for name, e := range s.entries {
		traced := *e
		if e.compiled != nil {
			traced.compiled = e.compiled.Traced()
		}
		own.entries[name] = &traced
	}
	return &own
}
