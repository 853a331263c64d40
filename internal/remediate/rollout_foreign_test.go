// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// What a neighbour's webhook does beside what is asked for.
const (
	growsAlike = "alike" // it adds a field at dry runs and writes alike
	growsWrite = "write" // it adds a field at the write of the fix alone
	bendsWrite = "bends" // it sets the fix's own field to its own value at the write alone
	bendsUndo  = "undo"  // it sets it to its own value when the write is undone
	growsUndo  = "undo+" // it adds a field when the write is undone
)

// neighbour is somebody else's admission webhook for one object. Times count from
// the start. The zero value lets all pass as it is.
type neighbour struct {
	Denies  []span // it denies whatever is written, dry runs too
	Out     []span // it gives no answer, and the API server refuses with a 500
	Changes string
}

func (n neighbour) denies(s *simulation) bool { return within(n.Denies, s.since()) }
func (n neighbour) out(s *simulation) bool    { return within(n.Out, s.since()) }

// refuses is the answer to a request that the neighbour doesn't let through, or nil.
func (n neighbour) refuses(s *simulation) error {
	switch {
	case n.denies(s):
		return apierrors.NewForbidden(schema.GroupResource{Group: "apps"}, "app",
			errors.New(`admission webhook "neighbour.example.com" denied the request`))
	case n.out(s):
		return apierrors.NewInternalError(errors.New("failed calling webhook: no answer"))
	}
	return nil
}

// changed is what a neighbour makes of our write as it reaches the object.
func (o *simObject) changed() {
	switch o.Neighbour.Changes {
	case growsWrite:
		o.extra = valueTheirs
	case bendsWrite:
		o.value = valueBent
	}
}

// checkForeign: what got more than its dry run said is never well, and a rollback that
// neighbours refuse doesn't end.
func (r *rules) checkForeign(s simStep) {
	for i, after := range s.After {
		obj := r.sim.objects[i]
		well := after.State == v1alpha1.TargetVerified || after.State == v1alpha1.TargetDone
		if well && obj.extra != "" {
			r.sim.fault("%s got more than its dry run said, and is %s", after.Object.String(), after.State)
		}
		ours := after.State == v1alpha1.TargetApplied || after.State == v1alpha1.TargetIntent ||
			after.State == v1alpha1.TargetVerified
		if s.Intent.Phase.Final() && ours {
			r.sim.fault("%s, and %s is still %s", s.Intent.Phase, after.Object.String(), after.State)
		}
		news := after.State == v1alpha1.TargetReverted && s.Before[i].State != v1alpha1.TargetReverted
		if news && obj.exists(r.sim.clock.Now()) && (obj.value != valueBefore || obj.extra != "" || obj.more != "") {
			r.sim.fault("%s is Reverted, and holds %q, %q and %q", after.Object.String(), obj.value, obj.extra,
				obj.more)
		}
	}
}

// anyNeighbour is quiet most of the time, and once the world has calmed down it refuses
// nothing.
func anyNeighbour() *rapid.Generator[neighbour] {
	return rapid.Custom(func(t *rapid.T) neighbour {
		switch rapid.IntRange(0, 9).Draw(t, "neighbour") {
		case 0:
			return neighbour{Denies: spans().Draw(t, "denies")}
		case 1:
			return neighbour{Out: spans().Draw(t, "out")}
		case 2:
			return neighbour{Changes: rapid.SampledFrom(
				[]string{growsAlike, growsWrite, bendsWrite, bendsUndo, growsUndo}).Draw(t, "changes"),
				Denies: spans().Draw(t, "denies")}
		case 3:
			return neighbour{Changes: growsWrite}
		}
		return neighbour{}
	})
}

// A rollback that a neighbour's webhook denies for good never ends as one that is done:
// it goes on, says that a person is needed, and the object keeps its record.
func TestARollbackThatIsDeniedDoesNotEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := worlds(steady()).Draw(t, "world")
		denies := neighbour{Denies: []span{{durations(2, 5, 9).Draw(t, "from"), never}}}
		w.Objects[0] = behaviour{WorsensAt: 10 * time.Second, Neighbour: neighbour{Out: denies.Denies}}
		if rapid.Bool().Draw(t, "denied") {
			w.Objects[0].Neighbour = denies
		}
		w.Late, w.Soak = 15*time.Second, 60*time.Second
		s, err := newSimulation(w.fleet())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range w.Deaths {
			s.crashes[n] = true
		}
		w.surround(s)
		rules := newRules(s)
		s.watch = rules.check
		if err := s.runUntil(6 * time.Hour); err != nil {
			t.Fatal(err)
		}
		b, err := s.records()
		if err != nil {
			t.Fatal(err)
		}
		held := s.objects[0]
		if held.fixes == 0 || held.value != valueAfter {
			return // the denial came before the write, or after its undoing
		}
		if st := s.rem.Status; st.Phase != v1alpha1.PhaseRollingBack || st.HeldTime == nil {
			t.Fatalf("%s (%s), waiting since %v, while the undoing of %s is denied: %+v", st.Phase, st.Reason,
				st.HeldTime, held.ref.String(), *b.Record(0))
		}
		if rec := b.Record(0); rec.Write == nil || rec.State.Settled() {
			t.Fatalf("the object holds ours, and its record is %s (%v)", rec.State, rec.Write)
		}
	})
}

// Of a rollout that goes on for hours with nothing new, a look every few minutes tells as
// much as each of its polls, once all that has a deadline is over.
const (
	allOver = 75 * time.Minute
	seldom  = 5 * time.Minute
)

// runUntil takes steps until the plan has ended, or so much time has passed.
func (s *simulation) runUntil(end time.Duration) error {
	for s.since() < end && !s.rests() {
		wait, err := s.step()
		if err != nil {
			return err
		}
		if s.steps > 20000 {
			return fmt.Errorf("%d steps in %s", s.steps, s.since())
		}
		if s.since() > allOver {
			wait = max(wait, seldom)
		}
		s.clock.SetTime(s.clock.Now().Add(wait))
	}
	return s.broken
}
