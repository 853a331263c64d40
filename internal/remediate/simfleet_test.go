// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixture"
)

// simStart is when every simulated rollout begins.
func simStart() time.Time { return time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) }

// The values of the one field that a simulated fix changes.
const (
	valueBefore = "before"
	valueAfter  = "after"
	valueTheirs = "theirs"
	valueBent   = "bent" // what a neighbour makes of our write
)

// never is a time after the write that doesn't come.
const never = time.Duration(1<<62 - 1)

// behaviour is how one simulated object answers to a rollout. Times count from
// the write. The zero value is an object that is well at once and for ever.
type behaviour struct {
	Says string // for people, in traces

	Heals     time.Duration // not healthy before that
	FlapAt    time.Duration // not healthy from then on ...
	FlapFor   time.Duration // ... for so long
	FlapEvery time.Duration // ... and again each time; zero: once
	WorsensAt time.Duration // fails its check for good; zero: never, negative: at once
	RepairAt  time.Duration // somebody repairs what had failed; zero: nobody does
	GoneAt    time.Duration // deleted; zero: isn't
	SetBackAt time.Duration // somebody sets the field back; zero: nobody does

	GoneBefore         bool   // deleted before its turn
	Sick               bool   // not healthy before the write: no canary
	Stuck              bool   // in progress before the write, and for ever: no canary
	Refuses            string // the protocol before the write fails with this reason
	Skips              string // the protocol before the write skips it with this reason
	Denied             bool   // admission denies the write itself
	ExcludedFromCanary bool   // not chosen by canary.selector
	LeftTo             string // left to its owner, and recorded so before the rollout begins, with this reason

	PreErrors    int // API errors before the write
	Conflicts    int // somebody else writes another field just before the write
	CheckErrors  int // API errors while verifying
	RevertErrors int // API errors while undoing
	UndoAnswers  int // answers to undoings that are lost

	// Recovers is how long it isn't healthy after its write was undone.
	Recovers time.Duration

	// Answer is what becomes of a write whose answer is lost: "" none is lost,
	// "landed" it was stored, "lost" it wasn't, "theirs" somebody else wrote the
	// same field, "late" it reaches the object after LateBy, if nobody has written
	// it by then.
	Answer string
	LateBy time.Duration
	// LeavesBetween: the object opts out after its fix was computed, and before the
	// write is sent. ShutBetween: the gate closes then, for so long.
	LeavesBetween bool
	ShutBetween   time.Duration
	// Beaten: somebody makes the very edit of the fix just before our write.
	Beaten bool
	// OptsOutAt is when the object says that it wants no remediation, counted from
	// the start; zero: never.
	OptsOutAt time.Duration
	// Unserved is when the API server doesn't serve the object's kind, counted from the
	// start.
	Unserved []span
	// Edited: somebody changes our field once the rollback has begun.
	Edited bool
	// Remarked: somebody changes the mark that our write has left.
	Remarked bool
	// Neighbour is somebody else's admission webhook.
	Neighbour neighbour
}

// simObject is an object of the simulated cluster: nothing of it is lost in a
// crash of the controller.
type simObject struct {
	ref v1alpha1.ObjectReference
	behaviour
	value     string
	mark      string // the plan that has written it last, as the object says
	extra     string // what a neighbour added at our write
	more      string // what it added when that was undone
	version   int
	writtenAt time.Time
	undoneAt  time.Time
	// late is a write that is under way still.
	late *lateWrite
	// theirs: the object holds what the fix would make, and not by us. untold: nobody
	// can tell, for the news that our write was refused got lost in a crash.
	theirs, untold bool
	left           bool // it has opted out
	// fixes and undoes are how often our patches really changed the object.
	fixes, undoes int
}

func (o *simObject) exists(now time.Time) bool {
	gone := o.GoneBefore || o.GoneAt > 0 && o.fixes > 0 && now.Sub(o.writtenAt) >= o.GoneAt
	return !gone
}

// set stores a value, as a write by anybody does.
func (o *simObject) set(value string) {
	o.value = value
	o.version++
}

// lateWrite is a write that reaches its object some time after it was sent, if the
// object is still at the version that it is guarded by.
type lateWrite struct {
	at      time.Time
	version int
	mark    string
}

// arrive lets a write that was under way reach the object.
func (o *simObject) arrive(now time.Time) {
	if o.late == nil || now.Before(o.late.at) {
		return
	}
	if o.late.version == o.version && o.exists(now) {
		o.fix(o.late.at, o.late.mark)
	}
	o.late = nil
}

// fix is our forward patch reaching the object.
func (o *simObject) fix(now time.Time, mark string) {
	o.set(valueAfter)
	if o.mark = mark; o.Remarked {
		o.mark = markTheirs
	}
	o.changed()
	o.fixes++
	o.writtenAt = now
}

// health is what a check of a fixed object says at a time.
func (o *simObject) health(now time.Time) *rollout.Check {
	age := now.Sub(o.writtenAt)
	round := age
	if o.FlapEvery > 0 {
		round %= o.FlapEvery
	}
	switch {
	case o.SetBackAt > 0 && age >= o.SetBackAt:
		if o.value == valueAfter {
			o.set(valueBefore)
		}
		return &rollout.Check{Result: rollout.CheckSetBack, Reason: v1alpha1.ReasonFighting,
			Message: "night-job set the fixed fields back"}
	case o.value != valueAfter:
		return &rollout.Check{Result: rollout.CheckFailed, Reason: v1alpha1.ReasonStillViolating,
			Message: "the object violates again"}
	case o.WorsensAt != 0 && age >= o.WorsensAt && (o.RepairAt == 0 || age < o.RepairAt):
		return &rollout.Check{Result: rollout.CheckFailed, Reason: v1alpha1.ReasonUnhealthy,
			Message: "its health got worse: crash loop"}
	case o.Stuck:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnhealthyBefore,
			Message: "InProgress, as before the write"}
	case age < o.Heals:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "", Message: "0 of 1 replicas ready"}
	case o.FlapFor > 0 && round >= o.FlapAt && round-o.FlapAt < o.FlapFor:
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "", Message: "1 replica restarting"}
	default:
		return &rollout.Check{Result: rollout.CheckPassed, Reason: "", Message: "clean and healthy"}
	}
}

// recorded is the object's record as the rollout finds it.
func (o *simObject) recorded() v1alpha1.TargetRecord {
	if o.LeftTo != "" {
		return v1alpha1.TargetRecord{State: v1alpha1.TargetSkipped, Reason: o.LeftTo}
	}
	return v1alpha1.TargetRecord{State: v1alpha1.TargetPending}
}

// take uses up one of a number of errors.
func take(left *int) bool {
	if *left <= 0 {
		return false
	}
	*left--
	return true
}

// simStrategy is how a simulated plan is rolled out.
type simStrategy struct {
	v1alpha1.PlannedRollout
	Steps []v1alpha1.RolloutStep
}

// soak has every step soak as long.
func (s *simStrategy) soak(d time.Duration) {
	for i := range s.Steps {
		s.Steps[i].Soak = &metav1.Duration{Duration: d}
	}
}

// steps sets the steps, which soak as long as the first did.
func (s *simStrategy) steps(first intstr.IntOrString, shares ...string) {
	soak := s.Steps[0].Soak
	s.Steps = []v1alpha1.RolloutStep{{Targets: first, Soak: soak}}
	for _, share := range shares {
		s.Steps = append(s.Steps, v1alpha1.RolloutStep{Targets: intstr.Parse(share), Soak: soak})
	}
}

// fleet is the input of a simulated plan.
type fleet struct {
	strategy simStrategy
	refs     []v1alpha1.ObjectReference
	// behave gives the behaviour of a target by its place in the plan.
	behave func(place int) behaviour
	// sliceSize is the number of targets in a slice.
	sliceSize int
	// waves and stages are the plan's, when they aren't those of the strategy alone.
	waves  []int32
	stages []v1alpha1.PlannedStage
}

// newFleet has n objects of three kinds in four namespaces, all of them well.
func newFleet(n int) fleet {
	f := fleet{behave: func(int) behaviour { return behaviour{} }, sliceSize: v1alpha1.MaxTargetsPerSlice}
	var defaults v1alpha1.RemediationStrategySpec
	defaults.SetDefaults()
	f.strategy = simStrategy{PlannedRollout: fixture.Planned(v1alpha1.RemediationAutomatic), Steps: defaults.Steps}
	kinds := []string{"Deployment", "StatefulSet", "DaemonSet"}
	for i := range n {
		f.refs = append(f.refs, v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: kinds[i%len(kinds)],
			Namespace: fmt.Sprintf("team-%c", 'a'+rune(i%4)), Name: fmt.Sprintf("app-%03d", i),
			UID: fmt.Sprintf("uid-%03d", i)})
	}
	return f
}

// at gives single targets, by their place in the plan, their own behaviour.
func (f fleet) at(special map[int]behaviour) fleet {
	f.behave = func(place int) behaviour { return special[place] }
	return f
}

// also gives one more target, by its place in the plan, its own behaviour.
func (f fleet) also(place int, b behaviour) fleet {
	others := f.behave
	f.behave = func(at int) behaviour {
		if at == place {
			return b
		}
		return others(at)
	}
	return f
}

// every gives all targets one behaviour.
func (f fleet) every(b behaviour) fleet {
	f.behave = func(int) behaviour { return b }
	return f
}

// staged gives the plan stages of waves: the number of targets in each.
func (f fleet) staged(stages map[string][]int32, order ...string) fleet {
	for _, name := range order {
		f.stages = append(f.stages, v1alpha1.PlannedStage{Name: name, FirstWave: int32(len(f.waves))})
		f.waves = append(f.waves, stages[name]...)
	}
	return f
}

// with changes the strategy.
func (f fleet) with(change func(*simStrategy)) fleet {
	change(&f.strategy)
	return f
}

const simHash = "5e1f0f6a1c3d4b7a9e2d8c4b6a0f1e3d5e1f0f6a1c3d4b7a9e2d8c4b6a0f1e3d"

// plan makes the plan's API objects, and the cluster that they speak of.
func (f fleet) plan() (*v1alpha1.Remediation, []*v1alpha1.RemediationSlice, []*simObject, error) {
	var candidates []canary.Candidate
	for _, r := range f.refs {
		candidates = append(candidates,
			canary.Candidate{Group: "apps", Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
	}
	planned, err := canary.Waves(len(f.refs), f.strategy.Steps)
	if err != nil {
		return nil, nil, nil, err
	}
	if f.waves != nil {
		planned = fixture.PlannedWaves(f.waves...)
	}
	waves := canary.Assign(len(f.refs), planned)
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "tags-5e1f0f6a", UID: "plan-uid", Generation: 1},
		Spec: v1alpha1.RemediationSpec{
			Plan: v1alpha1.RemediationPlan{
				Policy: v1alpha1.PlannedPolicy{Name: "tags", UID: "policy-uid", Revision: "r1"},
				Hash:   simHash, Rollout: f.strategy.PlannedRollout, Targets: int32(len(f.refs)),
				Waves: planned, Stages: f.stages}}}
	var slices []*v1alpha1.RemediationSlice
	var objects []*simObject
	for place, i := range canary.Order(simHash, candidates) {
		if place%f.sliceSize == 0 {
			slices = append(slices, &v1alpha1.RemediationSlice{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", rem.Name, len(slices)),
					OwnerReferences: []metav1.OwnerReference{
						*metav1.NewControllerRef(rem, v1alpha1.GroupVersion.WithKind("Remediation"))}}})
			rem.Spec.Plan.Slices = append(rem.Spec.Plan.Slices, slices[len(slices)-1].Name)
		}
		last := slices[len(slices)-1]
		object := &simObject{ref: f.refs[i], value: valueBefore, version: 1, behaviour: f.behave(place)}
		last.Targets = append(last.Targets,
			v1alpha1.Target{Object: f.refs[i], Wave: waves[place], SkipReason: object.LeftTo,
				ExcludedFromCanary: object.ExcludedFromCanary})
		last.Records = append(last.Records, object.recorded())
		objects = append(objects, object)
	}
	return rem, slices, objects, nil
}
