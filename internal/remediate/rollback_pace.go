package remediate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/limits"
)

// Undoing restarts what the rollout restarted, so it keeps to the same budgets,
// and what it has undone counts for other plans until it is well again. It is
// never blocked altogether: while nothing of it recovers, one target may always be
// undone, whatever the budgets say, and also when nobody knows what they say.

// maxRecoveryReads bounds how many objects a step looks at that were undone.
const maxRecoveryReads = 64

// atRecovery looks whether the objects whose write was undone are well again.
func (c *Controller) atRecovery(ctx context.Context, p *pass, o *Observation) error {
	var list []int
	for i, t := range o.Targets {
		if t.Recovering {
			list = append(list, i)
		}
	}
	// A large rollback is looked at in turn, by the time, so that none is forgotten.
	if turn := int(o.Now.Unix()) % max(len(list), 1); len(list) > maxRecoveryReads {
		list = slices.Concat(list[turn:], list[:turn])[:maxRecoveryReads]
	}
	inParallel(len(list), func(n int) { o.Targets[list[n]].Check = p.checkRecovered(ctx, list[n]) })
	return nil
}

// checkRecovered looks at an object whose write was undone: it must be as well as
// it was before the write. No answer is never a yes.
func (p *pass) checkRecovered(ctx context.Context, i int) *Check {
	rec := p.book.record(i)
	obj, err := p.targets.read(ctx, p.book.target(i).Object)
	switch {
	case kube.Classify(err) == kube.Gone, err == nil && obj.GetDeletionTimestamp() != nil, rec.Write == nil:
		return &Check{CheckPassed, "", "nothing of it is left that could recover"}
	case err != nil:
		return &Check{CheckWaiting, "", "the object couldn't be read: " + err.Error()}
	}
	return asWellAsBefore(p.rem.Spec.Plan.Strategy, obj, kube.ParseHealth(rec.Write.HealthBefore))
}

// atRollbackRoom bars the targets whose undoing must wait for room, and reserves
// room for the others.
func (c *Controller) atRollbackRoom(ctx context.Context, p *pass, o *Observation) error {
	c.budgets.reserveUndo(ctx, p, o)
	return nil
}

func (b *budgets) reserveUndo(ctx context.Context, p *pass, o *Observation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	room, err := b.room(ctx, p, &limits.Floors{})
	why := ""
	if err != nil {
		room, why = &canary.Room{}, "what other plans have in flight isn't known: "+err.Error()
		if !tellsNothing(err) {
			log.FromContext(ctx).Error(err, "the budgets can't be read: undoing one target at a time")
		}
	}
	b.reserved[p.rem.Name] = o.paceUndo(room, why)
}

// paceUndo bars the targets for whose undoing there is no room, and gives those
// that it took room for, with their namespaces by UID. A target in flight is
// unavailable, or may be, already: its undoing takes no more room.
func (o *Observation) paceUndo(room *canary.Room, unknown string) (taken map[string]string) {
	taken = map[string]string{}
	needRoom, begun := o.needRoom()
	for _, i := range needRoom {
		t := &o.Targets[i]
		if len(taken) == int(o.Spec.Plan.Strategy.MaxInFlight) {
			t.Barred, t.BarredReason = "its batch is full", v1alpha1.ReasonBudgetSpent
		} else if why := room.Take(t.Object.Namespace); why != "" {
			t.Barred, t.BarredReason = cmp.Or(unknown, why), v1alpha1.ReasonBudgetSpent
		} else {
			taken[t.Object.UID] = t.Object.Namespace
		}
	}
	if len(needRoom) > 0 && begun+len(taken) == 0 {
		t := &o.Targets[needRoom[0]]
		t.Barred, t.BarredReason = "", ""
		taken[t.Object.UID] = t.Object.Namespace
	}
	return taken
}

// needRoom are the targets whose undoing takes room, the last first, and how many are
// undone, or to be undone, without any.
func (o *Observation) needRoom() (list []int, begun int) {
	for i, t := range slices.Backward(o.Targets) {
		switch {
		case t.Recovering:
			begun++
		case !o.undoes(t) || t.NextAttemptAt.After(o.Now):
		case t.State == v1alpha1.TargetIntent || t.State == v1alpha1.TargetApplied:
			begun++
		default:
			list = append(list, i)
		}
	}
	return list, begun
}

// recovered marks the targets that are well again after their write was undone, or
// have had the time for it; it returns those that aren't yet.
func (o Observation) recovered() (marks []Mark, recovering []int) {
	for i, t := range o.Targets {
		if !t.Recovering {
			continue
		}
		deadline := o.Spec.Plan.Strategy.ProgressDeadline.Duration
		switch {
		case t.Check != nil && t.Check.Result == CheckPassed:
			marks = append(marks, Mark{Target: i, State: t.State, Recovered: true})
		case o.Now.Sub(t.RevertedAt) > deadline:
			marks = append(marks, Mark{Target: i, State: t.State, Recovered: true,
				Message: fmt.Sprintf("undone, but the object wasn't well again within %s: %s", deadline, o.checkMessage(i))})
		default:
			recovering = append(recovering, i)
		}
	}
	return marks, recovering
}
