// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"math"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// PlanAtWork is what a budget needs to know of a plan that may write.
type PlanAtWork struct {
	// Name is the Remediation's.
	Name string
	// Budget is the plan's own; nil sets no limit.
	Budget *v1alpha1.BudgetStrategy
	// Targets is the number of targets in the plan, which percentages are of.
	Targets int
	// InFlight counts, by namespace, the targets whose write was decided or has
	// happened and that aren't verified yet. Those of cluster scope stand
	// under "".
	InFlight map[string]int
}

// Room is how many more targets may be begun, by the budgets of all plans at
// work together. Its zero value has none: make it by RoomFor.
type Room struct {
	all, perNamespace limit
	inFlight          int
	inNamespace       map[string]int
}

// limit is the most restrictive of several limits, with the words for it.
type limit struct {
	most int
	from string
}

// tighten takes another limit when it is the more restrictive one.
func (l *limit) tighten(most int, from string) {
	if most < l.most {
		l.most, l.from = most, from
	}
}

// RoomFor adds up what is in flight over all plans, and takes the most
// restrictive of their limits: each plan keeps to the budgets of all. A limit
// that can't be read means 0. Percentages round down, at least 1.
func RoomFor(plans []PlanAtWork) *Room {
	r := &Room{all: limit{most: math.MaxInt}, perNamespace: limit{most: math.MaxInt}, inNamespace: map[string]int{}}
	for _, p := range plans {
		for namespace, n := range p.InFlight {
			r.inNamespace[namespace] += max(n, 0)
			r.inFlight += max(n, 0)
		}
		if p.Budget != nil {
			r.limit(p)
		}
	}
	return r
}

func (r *Room) limit(p PlanAtWork) {
	if v := p.Budget.MaxUnavailable; v != nil {
		if s, err := parseShare(*v); err != nil {
			r.all.tighten(0, fmt.Sprintf("budget.maxUnavailable of plan %s allows none: %v", p.Name, err))
		} else {
			n := int(s.of(int64(max(p.Targets, 0))))
			r.all.tighten(n, fmt.Sprintf(
				"budget.maxUnavailable of plan %s (%s of %s) allows %d in flight over all plans", p.Name,
				v.String(), prose.Count(p.Targets, "target"), n))
		}
	}
	if v := p.Budget.MaxPerNamespace; v != nil {
		if *v < 1 {
			r.perNamespace.tighten(
				0, fmt.Sprintf("budget.maxPerNamespace of plan %s allows none: %d must be at least 1", p.Name, *v))
		} else {
			r.perNamespace.tighten(int(*v),
				fmt.Sprintf("budget.maxPerNamespace of plan %s allows %d in flight in one namespace over all plans",
					p.Name, *v))
		}
	}
}

// Left is how many more targets may be begun in all; math.MaxInt without a limit.
func (r *Room) Left() int { return left(r.all, r.inFlight) }

// LeftIn is how many more targets may be begun in a namespace; for cluster scope
// (""), which no namespace's limit is for, in all.
func (r *Room) LeftIn(namespace string) int {
	if namespace == "" {
		return r.Left()
	}
	return min(r.Left(), left(r.perNamespace, r.inNamespace[namespace]))
}

// Take counts one more target of the namespace ("" for cluster scope) as in
// flight and returns "". When there is no room for it, it counts nothing and
// says which budget is spent.
func (r *Room) Take(namespace string) (spent string) {
	if r.LeftIn(namespace) > 0 {
		r.inFlight++
		r.inNamespace[namespace]++
		return ""
	}
	if r.Left() == 0 {
		return fmt.Sprintf("%s; %d are", r.all.from, r.inFlight)
	}
	return fmt.Sprintf("%s; %d are in %s", r.perNamespace.from, r.inNamespace[namespace], namespace)
}

func left(l limit, inFlight int) int {
	if l.most == math.MaxInt {
		return math.MaxInt
	}
	return max(l.most-inFlight, 0)
}
