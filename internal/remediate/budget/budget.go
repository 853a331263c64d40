// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Budgets shares out the room that the budgets of all plans at work leave. What
// is in flight is read anew from all their slices; what plans of this process
// are about to record there is kept in between, so that two plans that look at
// the same time never take the same room. Losing that in a restart loses
// nothing: what wasn't recorded is never written.
type Budgets struct {
	reader  client.Reader
	records *record.Cache
	// floors is what the administrator asks of what begins; what is undone keeps to what
	// its plan has frozen.
	floors limits.Floors

	mu sync.Mutex
	// reserved are the namespaces of the targets that a plan may be about to
	// record, by plan and UID.
	reserved map[string]map[string]string
}

// Options are what the budgets are counted from.
type Options struct {
	// Reader reads plans past every cache, and Records their slices.
	Reader  client.Reader
	Records *record.Cache
	// Floors is how careful every strategy must be at the least.
	Floors limits.Floors
}

// New makes the budgets over the plans and records that are read again each time.
func New(o Options) *Budgets {
	return &Budgets{reader: o.Reader, records: o.Records, floors: o.Floors, reserved: map[string]map[string]string{}}
}

// Reserve takes room for the first n targets that there is room for and that no other
// plan has in work, and bars those before them.
func (b *Budgets) Reserve(ctx context.Context, rem *v1alpha1.Remediation, own *record.Records, o *rollout.Observation,
	ready []int, n int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	room, err := b.room(ctx, rem, own, &b.floors)
	unknown := ""
	if record.Unreadable(err) {
		unknown = "what another plan has in flight isn't known: " + err.Error()
		room, err = &canary.Room{}, nil
	}
	if err != nil {
		return err
	}
	claims, err := b.claimed(ctx, rem, o.Now)
	if err != nil {
		return err
	}
	taken := map[string]string{}
	for _, i := range ready {
		if len(taken) == n {
			break
		}
		ref := o.Targets[i].Object
		if why := claims[ref.UID]; why != "" {
			o.Targets[i].Barred, o.Targets[i].BarredReason = why, v1alpha1.ReasonOtherPlan
			continue
		}
		if why := room.Take(ref.Namespace); why != "" {
			o.Targets[i].Barred, o.Targets[i].BarredReason = cmp.Or(unknown, why), v1alpha1.ReasonBudgetSpent
			continue
		}
		taken[ref.UID] = ref.Namespace
	}
	b.reserved[rem.Name] = taken
	return nil
}

// Release gives up what a plan has reserved: by now it is recorded, or it isn't
// going to be.
func (b *Budgets) Release(plan string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.reserved, plan)
}

// room is what all plans at work leave. Without any budget nothing more is read.
func (b *Budgets) room(ctx context.Context, rem *v1alpha1.Remediation, own *record.Records, floors *limits.Floors) (
	*canary.Room, error) {
	atWork, err := b.AtWork(ctx, rem, own, floors)
	return canary.RoomFor(atWork), err
}

// AtWork are the plans that may write, with what each has in flight; none when no
// budget limits anything.
func (b *Budgets) AtWork(ctx context.Context, own *v1alpha1.Remediation, records *record.Records,
	floors *limits.Floors) ([]canary.PlanAtWork, error) {
	list := &v1alpha1.RemediationList{}
	if err := b.reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the plans in progress: %w", err)
	}
	var plans []*v1alpha1.Remediation
	anyLimit := false
	for i := range list.Items {
		rem := &list.Items[i]
		if rem.Name == own.Name || MayHaveWritten(rem) {
			anyLimit = anyLimit || limited(rem, floors)
			plans = append(plans, rem)
		}
	}
	if !anyLimit {
		return nil, nil
	}
	var atWork []canary.PlanAtWork
	counted := map[string]bool{} // an object that several plans have written at once counts once
	for _, rem := range plans {
		held := records
		if rem.Name != own.Name {
			var err error
			if held, err = b.records.Read(ctx, rem); err != nil {
				return nil, fmt.Errorf("budgets count what plan %s has in flight: %w", rem.Name, err)
			}
		}
		r, _, _ := floors.Pace(rem.Spec.Plan.Rollout, nil, MayWrite(rem, held))
		atWork = append(atWork, canary.PlanAtWork{Name: rem.Name, MaxInFlight: r.MaxTotalInFlight,
			MaxPerNamespace: r.MaxPerNamespace, InFlight: b.inFlight(rem.Name, held, counted)})
	}
	return atWork, nil
}

// limited says whether a plan or the administrator limits what is in flight over all plans.
func limited(rem *v1alpha1.Remediation, floors *limits.Floors) bool {
	r := &rem.Spec.Plan.Rollout
	return r.MaxTotalInFlight != 0 || r.MaxPerNamespace != 0 || floors.MaxTotalInFlight != nil
}

// MayWrite is the number of targets that a plan may write, which percentages are
// of. What is left to its owners, or was found to need no write, is none of them:
// else a share of the fleet would be the whole of what is written.
func MayWrite(rem *v1alpha1.Remediation, own *record.Records) int {
	n := int(rem.Spec.Plan.Targets)
	if own != nil {
		for i := range own.Places {
			if own.Record(i).State == v1alpha1.TargetSkipped {
				n--
			}
		}
	}
	if w := int(rem.Spec.Plan.Writable); w > 0 {
		n = min(n, w)
	}
	return max(n, 1)
}

// MayHaveWritten says whether targets of a plan may be in flight. A plan's first
// write comes after its phase Applying was persisted.
func MayHaveWritten(rem *v1alpha1.Remediation) bool {
	facts := rem.Phase().Facts()
	return facts.InFlight || facts.Holds && rem.Status.HeldFrom != v1alpha1.PhasePlanned
}

// inFlight counts a plan's targets in flight by namespace, but those counted before.
func (b *Budgets) inFlight(plan string, own *record.Records, counted map[string]bool) map[string]int {
	counts := map[string]int{}
	for i := range own.Places {
		ref := own.Target(i).Object
		_, reserved := b.reserved[plan][ref.UID]
		if (reserved || inFlight(own.Record(i))) && !counted[ref.UID] {
			counted[ref.UID] = true
			counts[ref.Namespace]++
		}
	}
	return counts
}

// inFlight says whether a target may be unavailable by a write of ours, or by its
// undoing: the write was decided or has happened and isn't verified, or was undone
// and the object isn't known to be well again.
func inFlight(rec *v1alpha1.TargetRecord) bool {
	return rec.State == v1alpha1.TargetIntent || rec.State == v1alpha1.TargetApplied || rec.Recovering
}
