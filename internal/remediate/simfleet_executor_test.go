// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/recorded"
)

// simulation has the controller's own executor carry out what the machine decides,
// on a simulated fleet. What survives a crash is rem, store, the objects and the
// counted outcomes; a step keeps everything else to itself.
type simulation struct {
	clock   *clocktesting.FakePassiveClock
	rem     *v1alpha1.Remediation
	store   *simStore
	objects []*simObject
	// counted are the outcomes that the breakers have counted, by key.
	counted map[string]rollout.Outcome
	told    []rollout.Outcome // in order, without repetition

	gate func(*simulation) rollout.Gate
	stop func(*simulation) string
	// spec is what people have written into the plan's spec by now.
	spec func(*simulation, *v1alpha1.RemediationSpec)
	// approval is what people have said of a plan in mode Manual.
	approval func(*simulation) rollout.Approval
	// metrics answer while the wave has nothing, or nothing more, to be said.
	metrics func(*simulation) rollout.Analysis
	learned []v1alpha1.MetricRecord // to be persisted with the step
	// barred keeps single targets back.
	barred func(*simulation, rollout.TargetView) (why, reason string)
	// breakers are real ones to be asked and told; nil for none.
	breakers circuitBreakers
	// undoAt is when a person has the plan undone that has ended by then; zero: nobody does.
	undoAt time.Duration
	// claims are the objects that other plans have in work, by UID.
	claims func(*simulation) map[string]string
	// others are the other plans at work; their budgets count.
	others func(*simulation) []canary.PlanAtWork
	// floors is what the administrator's flags ask for by now.
	floors func(*simulation) limits.Floors
	// watch sees every step, before and after.
	watch func(simStep)

	// shutUntil is until when the gate is closed that closed right before a write.
	shutUntil time.Time

	// effects counts what was persisted; crashes are the counts after which the
	// controller dies.
	effects int
	crashes map[int]bool
	// dead: the controller has died within this step. Nothing that it asks for has
	// any effect, and it hears no answer.
	dead  bool
	steps int
	// seen are the targets as the step before has left them, which nothing else changes.
	seen []rollout.TargetView
	// intends is what the step is about; places are the objects' places by name.
	intends doing
	places  map[string]int
	// broken is the first rule that the executor saw violated.
	broken error
}

// errCrash says that the simulated controller died within a step.
var errCrash = errors.New("the controller died")

// simStep is one step of the machine, with what came of it.
type simStep struct {
	Observation   rollout.Observation
	Intent        rollout.Intent
	Before, After []rollout.TargetView
	Crashed       bool
}

func newSimulation(f fleet) (*simulation, error) {
	rem, slices, objects, err := f.plan()
	if err != nil {
		return nil, err
	}
	s := &simulation{clock: clocktesting.NewFakePassiveClock(simStart()), rem: rem, objects: objects,
		store: &simStore{slices: map[string]*v1alpha1.RemediationSlice{},
			asStored: map[string]*v1alpha1.RemediationSlice{}},
		counted: map[string]rollout.Outcome{}, crashes: map[int]bool{},
		gate: func(*simulation) rollout.Gate { return rollout.Gate{} }, stop: func(*simulation) string { return "" },
		spec: func(*simulation, *v1alpha1.RemediationSpec) {}, approval: func(*simulation) rollout.Approval {
			return rollout.Approval{}
		},
		metrics: func(*simulation) rollout.Analysis { return rollout.Analysis{Verdict: v1alpha1.AnalysisPassed} },
		barred:  func(*simulation, rollout.TargetView) (string, string) { return "", "" },
		places:  map[string]int{},
		claims:  func(*simulation) map[string]string { return nil },
		others:  func(*simulation) []canary.PlanAtWork { return nil }, watch: func(simStep) {}}
	s.store.stored, s.store.reached = s.effect, s.alive
	for i, obj := range objects {
		s.places[obj.ref.Name] = i
		obj.mark = markBefore(i)
	}
	for _, slice := range slices {
		s.store.keep(slice)
	}
	return s, nil
}

// fork is the same simulation once more: what happens in one is nothing to the other. What
// is set of the world outside must keep nothing of its own.
func (s *simulation) fork() *simulation {
	f := *s
	f.clock, f.rem = clocktesting.NewFakePassiveClock(s.clock.Now()), s.rem.DeepCopy()
	f.store = &simStore{slices: maps.Clone(s.store.slices), asStored: maps.Clone(s.store.asStored),
		stored: f.effect, reached: f.alive}
	f.objects = make([]*simObject, len(s.objects))
	for i, obj := range s.objects {
		own := *obj
		if obj.late != nil {
			late := *obj.late
			own.late = &late
		}
		f.objects[i] = &own
	}
	f.counted, f.told, f.learned = maps.Clone(s.counted), slices.Clone(s.told), slices.Clone(s.learned)
	f.crashes = maps.Clone(s.crashes)
	return &f
}

// since is the time that has passed since the start.
func (s *simulation) since() time.Duration { return s.clock.Now().Sub(simStart()) }

// effect is called after each thing that was persisted. It errs when the controller
// dies over it.
func (s *simulation) effect() error {
	s.effects++
	s.dead = s.dead || s.crashes[s.effects]
	return s.alive()
}

// alive errs once the controller has died.
func (s *simulation) alive() error {
	if s.dead {
		return errCrash
	}
	return nil
}

// fault keeps the first broken rule.
func (s *simulation) fault(format string, args ...any) {
	if s.broken == nil {
		s.broken = fmt.Errorf("at +%s, step %d: "+format, append([]any{s.since(), s.steps}, args...)...)
	}
}

func (s *simulation) records() (*record.Records, error) {
	return record.Read(context.Background(), s.store, s.rem)
}

// step takes one step from what is persisted. It says how long to wait.
func (s *simulation) step() (wait time.Duration, err error) {
	s.steps++
	for _, obj := range s.objects {
		obj.arrive(s.clock.Now())
	}
	b, err := s.records()
	if err != nil {
		return 0, err
	}
	before := s.seen
	if before == nil {
		before = b.Views()
	}
	o := s.observe(before)
	intent, err := rollout.Step(o)
	if err != nil {
		return 0, err
	}
	s.intends = doing{intent}
	if intent, err = s.carryOut(b, intent); err != nil && !s.dead {
		return 0, err
	}
	died := s.dead
	s.dead = false
	after, err := s.records()
	if err != nil {
		return 0, err
	}
	s.seen = after.Views()
	s.watch(simStep{Observation: o, Intent: intent, Before: before, After: s.seen, Crashed: died})
	if died {
		return 0, s.broken
	}
	return intent.Wait, s.broken
}

// carryOut does what the controller's step does once the machine has decided.
func (s *simulation) carryOut(b *record.Records, decided rollout.Intent) (rollout.Intent, error) {
	executor := &executor{breakers: &simBreakers{s}, store: s.store}
	p := s.pass(executor, b)
	intent, err := executor.permitted(context.Background(), p, decided)
	if err != nil {
		return decided, err
	}
	if err := executor.act(context.Background(), p, intent); err != nil {
		return intent, err
	}
	for _, i := range intent.Write {
		if rec := b.Record(i); rec.State != v1alpha1.TargetApplied {
			s.objects[i].untold = s.objects[i].theirs && record.MayLand(rec) // it may be an earlier write's
		}
	}
	rem := s.rem.DeepCopy()
	rem.Status.Analysis = s.learned
	(&Controller{clock: s.clock}).record(rem, intent, b)
	s.rem = rem
	return intent, s.effect()
}

// pass is the step's work on the simulated fleet, one target at a time: so the nth
// effect is the same in each run.
func (s *simulation) pass(e *executor, b *record.Records) *execute.Pass {
	api := &simAPI{sim: s}
	p := &execute.Pass{Remediation: s.rem.DeepCopy(), Records: b, Snapshot: simPolicy{s}, Width: 1,
		Gate: &execute.LastGate{Ask: s.askAgain},
		Targets: &targets.Client{Reader: api, Writer: api, Mapper: meta.NewDefaultRESTMapper(nil), Clock: s.clock,
			Annotate: true, Owners: targets.OwnerMemo{Reader: api}}}
	p.Save = func(ctx context.Context) error { return e.persist(ctx, p) }
	return p
}

func (s *simulation) verify(i int, t rollout.TargetView) *rollout.Check {
	obj := s.objects[i]
	switch {
	case !s.serves(obj):
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnobserved,
			Message: "the object couldn't be read: its kind isn't served"}
	case take(&obj.CheckErrors):
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnobserved,
			Message: "the object couldn't be read: 503 from the API server"}
	case !obj.exists(s.clock.Now()):
		return &rollout.Check{Result: rollout.CheckGone, Reason: v1alpha1.ReasonVanished,
			Message: "the object was deleted after its write was sent"}
	}
	if c := fix.CheckBeyond(v1alpha1.TargetRecord{Reason: t.Reason}); c != nil {
		return c
	}
	return obj.health(s.clock.Now())
}

// run takes steps until the plan ends; the clock moves as the machine asks.
func (s *simulation) run(limit int) error {
	for s.steps < limit {
		if s.rests() {
			return nil
		}
		wait, err := s.step()
		if err != nil {
			return err
		}
		s.clock.SetTime(s.clock.Now().Add(wait))
	}
	return fmt.Errorf("the plan hasn't ended within %d steps: it is %s, %s: %s", limit, s.rem.Status.Phase,
		s.rem.Status.Reason, s.rem.Status.Message)
}

// rests says whether the plan has ended for good. One that a person is to have
// undone is woken when that time has come.
func (s *simulation) rests() bool {
	if !s.rem.Status.Phase.Final() {
		return false
	}
	if s.undoAt > 0 && !s.rem.Spec.WantsUndone() {
		if left := s.undoAt - s.since(); left > 0 {
			s.clock.SetTime(s.clock.Now().Add(left))
		}
		s.rem.Spec.DesiredState = v1alpha1.StateUndone
		recorded.Requests(s.rem, []v1alpha1.RequestRecord{{Action: v1alpha1.ActionUndo, User: "ada"}}...)
	}
	return s.rem.Rests()
}

func microTime(t time.Time) *metav1.MicroTime {
	m := metav1.NewMicroTime(t)
	return &m
}
