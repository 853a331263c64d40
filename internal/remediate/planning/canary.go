// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/healthcheck"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
)

const (
	// canaryReads is how many candidates the planner reads at a time to find a canary: those in front each time, and
	// then those that it hasn't read yet.
	canaryReads, canaryFront = 100, 20
	// previewCanaryReads is how many a preview reads, which looks once.
	previewCanaryReads = 200
)

// search is the search for objects that can be a canary, of which only so many are read at a time.
type search struct {
	// of is the policy and strategy that it is for, as they were when it began.
	of string
	// reads is how many to read.
	reads int
	// once says that nobody looks again, so that what was found so far is to be told.
	once bool
	// seen are the UIDs of those that were read behind the front, and why is what is wrong with the last unfit one.
	seen map[string]bool
	why  string
	// complete says that none is left to be read.
	complete bool
	// wait is the last wait; zero until all candidates have been read once.
	wait time.Duration
}

// chooseCanary moves objects of the first stage to the front that the canary's
// selector chooses and, when the plan is to be rolled out, that can prove
// something: they are healthy and still violate. Objects that turn out clean are
// dropped. It says false when there is nothing left to fix, or no canary among those that
// were read; once it is final, refused says why, where a person can do something about it.
func (p *drafter) chooseCanary(ctx context.Context, d *draft) (found bool, refused string, err error) {
	layout, err := d.layout()
	if err != nil {
		return false, "", err
	}
	leaders := d.leaders()
	if len(leaders) == 0 {
		d.search.complete = true
		return false, d.noLeader(), nil
	}
	size := int(layout.Waves[0].Targets)
	if !d.rollout.Mode.Runs() {
		d.toFront(leaders[:min(size, len(leaders))])
		return true, "", nil
	}
	chosen, clean, why, err := p.readLeaders(ctx, d, d.search.next(d.eligible, leaders), size)
	if err != nil {
		return false, "", err
	}
	d.search.why = cmp.Or(why, d.search.why)
	if len(chosen) == 0 {
		refused = d.search.refusal(len(leaders))
	}
	d.toFront(append(chosen, clean...))
	d.eligible = slices.Delete(d.eligible, len(chosen), len(chosen)+len(clean))
	return len(chosen) > 0, refused, nil
}

// readLeaders chooses as many as the canary takes of objects that may lead, and says which of them turn out clean, and
// why the last of the others is unfit.
func (p *drafter) readLeaders(ctx context.Context, d *draft, leaders []int, size int) (
	chosen, clean []int, why string, err error) {
	for _, i := range leaders {
		if len(chosen) == size {
			break
		}
		fit, fixed, message, err := p.fitCanary(ctx, d, d.eligible[i].object)
		switch {
		case err != nil:
			return nil, nil, "", err
		case fit:
			chosen = append(chosen, i)
		case fixed:
			clean = append(clean, i)
		default:
			why = d.eligible[i].object.String() + ": " + message
		}
	}
	return chosen, clean, why, nil
}

// next takes those to read now.
func (s *search) next(eligible []candidate, leaders []int) []int {
	front := min(len(leaders), canaryFront, s.reads)
	now, left := slices.Clone(leaders[:front]), 0
	for _, i := range leaders[front:] {
		uid := eligible[i].object.UID
		switch {
		case s.seen[uid]:
		case len(now) == s.reads:
			left++
		default:
			if s.seen == nil {
				s.seen = map[string]bool{}
			}
			s.seen[uid] = true
			now = append(now, i)
		}
	}
	s.complete = left == 0
	return now
}

// refusal says that none of so many objects can be a canary, or none of those that were read; nothing while more are
// to be read, or where none was unfit.
func (s *search) refusal(leaders int) string {
	switch {
	case s.complete && s.why != "":
		return "no canary: none of the violating objects is healthy, and one that isn't would prove nothing; " +
			"the last checked is " + s.why
	case s.once && !s.complete:
		return fmt.Sprintf("no canary: none of the first %d of %s is healthy and still violates; the planner goes on "+
			"with the others", s.reads, prose.Count(leaders, "violating object"))
	default:
		return ""
	}
}

// noLeader says why a plan has no canary at all.
func (d *draft) noLeader() string {
	where := ""
	if stage := d.stages.Name(d.eligible[0].stage); stage != "" {
		where = fmt.Sprintf(" of the first stage that has any, %s", stage)
	}
	return fmt.Sprintf("no canary: steps[0].selector of the strategy (%s) chooses none of the violating objects%s: "+
		"change the selector, or the labels",
		canary.SelectorText(*d.strategy.CanarySelector()), where)
}

// fitCanary reads one object anew: does it still violate, and is it healthy?
func (p *drafter) fitCanary(ctx context.Context, d *draft, ref v1alpha1.ObjectReference) (
	fit, clean bool, message string, err error) {
	t := &targets.Client{Reader: p.reader, Mapper: p.mapper, Clock: p.clock}
	obj, err := t.Read(ctx, ref)
	if client.IgnoreNotFound(err) != nil {
		return false, false, "", err
	}
	if err != nil || string(obj.GetUID()) != ref.UID {
		return false, true, "", nil
	}
	violates, removed, err := p.violates(ctx, t, d.policy.Name, obj)
	if err != nil || !violates || removed {
		return violates && removed, !violates && err == nil, "", err
	}
	if reason := healthcheck.FitCanary(d.rollout, obj); reason != nil {
		return false, false, reason.Error(), nil
	}
	return true, false, "", nil
}

// violates says whether an object still violates, and whether its fix removes it:
// then its own health proves nothing, and needn't be good.
func (p *drafter) violates(ctx context.Context, t *targets.Client, policyName string, obj *unstructured.Unstructured) (
	violates, removed bool, err error) {
	result, matched, err := t.Judge(ctx, p.policies.Snapshot(), policyName, obj)
	if err != nil {
		return false, false, client.IgnoreNotFound(err)
	}
	return matched && result.Err == nil && len(result.Enforced()) > 0, action.Remove(result.Actions), nil
}
