// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// calmAfter is when the random world has calmed down: no more gates, stops or crashes.
const calmAfter = 10 * time.Minute

// span is a time from the start on.
type span struct{ From, To time.Duration }

// world is a random fleet, with all that happens around it. It is made of
// exported plain values, so that a failing case can be read.
type world struct {
	Objects []behaviour
	Slice   int
	Max     int32
	Canary  int32
	Waves   []string
	Soak    time.Duration
	Late    time.Duration // the progress deadline
	Closed  []span        // when the gate is closed
	Stop    time.Duration // when the plan is stopped; negative: never
	Deaths  []int         // after which effects the controller dies
	Early   uint32        // how the machine is woken before its time
	People  people
	Limits  boundaries
	Floors  flags
}

func (w world) fleet() fleet {
	f := newFleet(len(w.Objects))
	f.sliceSize = w.Slice
	f.behave = func(place int) behaviour { return w.Objects[place] }
	f.strategy.steps(intstr.FromInt32(w.Canary), w.Waves...)
	f.strategy.soak(w.Soak)
	f.strategy.MaxInFlight, f.strategy.ProgressDeadline.Duration = w.Max, w.Late
	w.People.strategy(&f.strategy)
	w.Limits.strategy(&f.strategy)
	return f
}

// live runs a world to its end under the rules.
func (w world) live() (*simulation, error) {
	s, err := newSimulation(w.fleet())
	if err != nil {
		return nil, err
	}
	for _, n := range w.Deaths {
		s.crashes[n] = true
	}
	w.surround(s)
	rules := newRules(s)
	s.watch = rules.check
	if err := w.run(s); err != nil {
		return s, err
	}
	return s, errors.Join(s.broken, rules.end())
}

// surround puts the world around a plan.
func (w world) surround(s *simulation) {
	s.gate = func(s *simulation) rollout.Gate {
		return rollout.Gate{Closed: within(w.Closed, s.since()), Reason: v1alpha1.ReasonBreakerOpen, Message: "open"}
	}
	s.stop = func(s *simulation) string {
		if w.Stop < 0 || s.since() < w.Stop {
			return ""
		}
		return "the policy changed"
	}
	w.People.speak(s)
	w.Limits.apply(s)
	w.Floors.apply(s)
}

func within(spans []span, at time.Duration) bool {
	return slices.ContainsFunc(spans, func(c span) bool { return at >= c.From && at < c.To })
}

// run is like simulation.run, but wakes the machine before its time now and
// then, as a watch does.
func (w world) run(s *simulation) error {
	const limit = 6000
	for random := w.Early; s.steps < limit; {
		if s.rests() {
			return nil
		}
		wait, err := s.step()
		if err != nil {
			return err
		}
		random = random*1664525 + 1013904223
		if w.Early != 0 && random>>28 < 4 && wait > time.Second {
			wait = wait * time.Duration(random>>20&0xf) / 16
		}
		s.clock.SetTime(s.clock.Now().Add(wait))
	}
	return fmt.Errorf("no end within %d steps and %s: %s, %s: %s", limit, s.since(), s.rem.Status.Phase,
		s.rem.Status.Reason, s.rem.Status.Message)
}

func durations(seconds ...int) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.SampledFrom(seconds), func(s int) time.Duration { return time.Duration(s) * time.Second })
}

// steady behaviours end alike whenever they are looked at.
func steady() *rapid.Generator[behaviour] {
	return rapid.Custom(func(t *rapid.T) behaviour {
		b := behaviour{Heals: durations(0, 0, 2, 7).Draw(t, "heals"),
			Recovers:     durations(0, 0, 3, 20, 3600).Draw(t, "recovers"),
			RevertErrors: rapid.IntRange(0, 2).Draw(t, "revertErrors"),
			UndoAnswers:  rapid.IntRange(0, 1).Draw(t, "undoAnswers")}
		switch rapid.IntRange(0, 19).Draw(t, "kind") {
		case 0:
			b.Heals = never
		case 1:
			b.WorsensAt = -1
		case 2:
			b.FlapAt, b.FlapFor = 3*time.Second, 2*time.Second
		case 3:
			b.Sick, b.Stuck = true, rapid.Bool().Draw(t, "stuck")
		case 4, 5:
			b.Refuses = v1alpha1.ReasonDryRunRefused
		case 6, 7:
			b.Skips = v1alpha1.ReasonOptOut
		case 8:
			b.Denied = true
		case 9:
			b.GoneBefore = true
		case 10, 11, 12:
			b.Answer = rapid.SampledFrom([]string{"landed", "lost", "theirs"}).Draw(t, "answer")
		case 13:
			b.Edited = true
		}
		b.Remarked = rapid.IntRange(0, 9).Draw(t, "remarked") == 0
		return b
	})
}

// restless behaviours depend on time and on the number of tries besides.
func restless() *rapid.Generator[behaviour] {
	return rapid.Custom(func(t *rapid.T) behaviour {
		b := steady().Draw(t, "steady")
		switch rapid.IntRange(0, 9).Draw(t, "restless") {
		case 0:
			b.PreErrors = rapid.SampledFrom([]int{1, 2, 4, 100}).Draw(t, "preErrors")
		case 1:
			b.Conflicts = rapid.SampledFrom([]int{1, 3, 100}).Draw(t, "conflicts")
		case 2:
			b.CheckErrors = rapid.SampledFrom([]int{1, 3, 8, 1000}).Draw(t, "checkErrors")
		case 3:
			b.WorsensAt = durations(2, 10, 40).Draw(t, "worsensAt")
		case 4:
			b.GoneAt = durations(1, 10, 40).Draw(t, "goneAt")
		case 5:
			b.FlapAt, b.FlapFor, b.FlapEvery = 3*time.Second, 2*time.Second, 6*time.Second
		case 6:
			b.SetBackAt = durations(1, 10, 40).Draw(t, "setBackAt")
		case 7:
			b.Answer, b.LateBy = "late", durations(1, 20, 100, 119).Draw(t, "lateBy")
		case 8:
			b.Beaten = true
		case 9:
			b.ShutBetween = durations(1, 20, 200).Draw(t, "shutBetween")
		}
		if rapid.IntRange(0, 9).Draw(t, "unserved") == 0 {
			b.Unserved = spans().Draw(t, "away")
			if rapid.IntRange(0, 3).Draw(t, "uninstalled") == 0 {
				b.Unserved = append(b.Unserved, span{durations(0, 5, 30, 120).Draw(t, "uninstalledAt"), never})
			}
		}
		b.LeavesBetween = rapid.IntRange(0, 9).Draw(t, "leavesBetween") == 0
		b.Neighbour = anyNeighbour().Draw(t, "neighbour")
		if rapid.IntRange(0, 7).Draw(t, "optsOut") == 0 {
			b.OptsOutAt = durations(1, 60, 130).Draw(t, "optsOutAt")
		}
		return b
	})
}

func worlds(objects *rapid.Generator[behaviour]) *rapid.Generator[world] {
	return rapid.Custom(func(t *rapid.T) world {
		return world{
			Objects: rapid.SliceOfN(objects, 1, 14).Draw(t, "objects"),
			Slice:   v1alpha1.MaxTargetsPerSlice,
			Max:     rapid.Int32Range(1, 5).Draw(t, "maxInFlight"),
			Canary:  rapid.SampledFrom([]int32{1, 1, 2, 3}).Draw(t, "canary"),
			Waves: rapid.SampledFrom([][]string{{"100%"}, {"50%", "100%"}, {"20%", "40%", "60%", "100%"}}).Draw(
				t, "waves"),
			Soak:   durations(0, 5, 60).Draw(t, "soak"),
			Late:   durations(15, 60).Draw(t, "deadline"),
			Stop:   -1,
			People: people{Abort: -1},
			Deaths: rapid.SliceOfN(rapid.IntRange(1, 120), 0, 12).Draw(t, "deaths"),
		}
	})
}

// Whatever a fleet does, whenever gates close, the plan is stopped and the
// controller dies: the rules hold at every step, the rollout ends, and its end
// says what the cluster holds.
func TestRolloutKeepsTheRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := worlds(restless()).Draw(t, "world")
		w.Slice = rapid.IntRange(1, 5).Draw(t, "sliceSize")
		w.Early = rapid.Uint32().Draw(t, "early")
		w.Closed = spans().Draw(t, "closings")
		w.Stop = sometime().Draw(t, "stop")
		w.People = anyPeople().Draw(t, "people")
		w.Limits = anyLimits().Draw(t, "limits")
		w.Floors = anyFloors().Draw(t, "floors")
		if _, err := w.live(); err != nil {
			t.Fatalf("%v", err)
		}
	})
}

// ending is how a rollout ended, as far as anybody can see.
type ending struct {
	Phase   v1alpha1.RemediationPhase
	Reason  string
	Targets []string
	Counted map[string]int32
}

func endingOf(s *simulation) (ending, error) {
	b, err := s.records()
	if err != nil {
		return ending{}, err
	}
	e := ending{Phase: s.rem.Status.Phase, Reason: s.rem.Status.Reason, Counted: map[string]int32{}}
	for i, obj := range s.objects {
		e.Targets = append(e.Targets,
			fmt.Sprintf("%s: %s, holds %s, fixed %d, undone %d", obj.ref.String(), obj.endState(b.Record(i).State),
				obj.value, obj.fixes, obj.undoes))
	}
	for key, o := range s.counted {
		if !strings.Contains(key, "/denied/") {
			e.Counted[key+" "+string(o.Type)] = o.Count
		}
	}
	return e, nil
}

// endState is a target's state, but for one that admission denies. A denial after a crash
// doesn't say what has become of the write before it, which is waited for; where the wave
// fails meanwhile by another target, this one is skipped and not failed, and its denial
// isn't counted. It is unwritten either way.
func (o *simObject) endState(state v1alpha1.TargetState) string {
	if o.Denied && (state == v1alpha1.TargetFailed || state == v1alpha1.TargetSkipped) {
		return "unwritten"
	}
	return string(state)
}

// A controller that dies, anywhere and often, ends where one ends that lives.
func TestCrashesChangeNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := worlds(steady()).Draw(t, "world")
		w.People, w.Limits = steadyPeople().Draw(t, "people"), steadyLimits().Draw(t, "limits")
		calm := w
		calm.Deaths = nil
		var ends [2]ending
		for i, w := range []world{calm, w} {
			s, err := w.live()
			if err != nil {
				t.Fatalf("%v", err)
			}
			if ends[i], err = endingOf(s); err != nil {
				t.Fatal(err)
			}
		}
		if diff := gocmp.Diff(ends[0], ends[1]); diff != "" {
			t.Fatalf("the end differs (-living +dying):\n%s", diff)
		}
	})
}
