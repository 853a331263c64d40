// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"math"
)

// PlanAtWork is what Room needs to know of a plan that may write.
type PlanAtWork struct {
	// Name is the Remediation's.
	Name string
	// MaxInFlight and MaxPerNamespace are the plan's limits over all plans (MaxTotalInFlight and
	// MaxPerNamespace of its rollout); 0 sets none, less than 0 allows none.
	MaxInFlight, MaxPerNamespace int32
	// InFlight counts, by namespace, the targets whose write was decided or has
	// happened and that aren't verified yet. Those of cluster scope stand
	// under "".
	InFlight map[string]int
}

// Room is how many more targets may be begun, by the limits of all plans at
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
// restrictive of their limits: each plan keeps to the limits of all.
func RoomFor(plans []PlanAtWork) *Room {
	r := &Room{all: limit{most: math.MaxInt}, perNamespace: limit{most: math.MaxInt}, inNamespace: map[string]int{}}
	for _, p := range plans {
		for namespace, n := range p.InFlight {
			r.inNamespace[namespace] += max(n, 0)
			r.inFlight += max(n, 0)
		}
		r.limit(p)
	}
	return r
}

func (r *Room) limit(p PlanAtWork) {
	if p.MaxInFlight != 0 {
		most := max(int(p.MaxInFlight), 0)
		r.all.tighten(most, fmt.Sprintf("maxTotalInFlight of plan %s allows %d in flight over all plans", p.Name, most))
	}
	if p.MaxPerNamespace != 0 {
		most := max(int(p.MaxPerNamespace), 0)
		r.perNamespace.tighten(most, fmt.Sprintf(
			"maxPerNamespace of plan %s allows %d in flight in one namespace over all plans", p.Name, most))
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
// says which limit is reached.
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
