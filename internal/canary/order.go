// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
)

// Candidate is an object that a rollout may fix.
type Candidate struct {
	// Group and Kind name the object's kind; Group is empty for the core group.
	Group, Kind string
	// Namespace is empty for an object of cluster scope.
	Namespace, Name string
	// Stage is the place of the candidate's stage: stages come one after another.
	Stage int
	// Critical candidates come after all others of their stage.
	Critical bool
	// Behind candidates come after the others that are as critical as they are: the
	// canary isn't drawn from them.
	Behind bool
}

// placed is a candidate with all that decides its place.
type placed struct {
	Candidate
	index int
	hash  [sha256.Size]byte
	// round is how many candidates of the same kind and namespace come first.
	round int
	// turn is how many of the same kind come first within the round.
	turn int
}

// Order gives the order in which a plan takes its candidates, as indices into c:
// stage by stage, critical ones last, those behind after the others. Within each
// part the first targets cover every pair
// of kind and namespace once before any a second time, and kinds take turns, so
// that a canary and an early wave see the breadth of the fleet. Ties are broken
// by SHA-256 over the plan's hash and the object: stable within a plan whatever
// the order of c, and different victims in each plan.
func Order(planHash string, c []Candidate) []int {
	list := make([]placed, len(c))
	for i, candidate := range c {
		list[i] = placed{Candidate: candidate, index: i, hash: candidate.hash(planHash)}
	}
	slices.SortFunc(list, byHash)
	spread(list)
	slices.SortStableFunc(list, func(a, b placed) int {
		return cmp.Or(a.part().compare(b.part()), cmp.Compare(a.round, b.round), cmp.Compare(a.turn, b.turn))
	})
	order := make([]int, len(list))
	for i := range list {
		order[i] = list[i].index
	}
	return order
}

// part is a run of candidates that the order deals with by itself.
type part struct {
	stage            int
	critical, behind bool
}

func (c Candidate) part() part { return part{c.Stage, c.Critical, c.Behind} }

func (p part) compare(q part) int {
	return cmp.Or(cmp.Compare(p.stage, q.stage), cmp.Compare(rank(p.critical), rank(q.critical)),
		cmp.Compare(rank(p.behind), rank(q.behind)))
}

// spread sets round and turn; list is in the order of hashes.
func spread(list []placed) {
	type kind struct {
		part
		group, kind string
	}
	type pair struct {
		kind
		namespace string
	}
	type turn struct {
		kind
		round int
	}
	pairs, turns := map[pair]int{}, map[turn]int{}
	for i := range list {
		t := &list[i]
		of := kind{t.part(), t.Group, t.Kind}
		t.round = pairs[pair{of, t.Namespace}]
		pairs[pair{of, t.Namespace}]++
		t.turn = turns[turn{of, t.round}]
		turns[turn{of, t.round}]++
	}
}

// hash separates its parts by NUL, which no part can hold.
func (c Candidate) hash(planHash string) [sha256.Size]byte {
	return sha256.Sum256([]byte(planHash + "\x00" + c.Group + "/" + c.Kind + "\x00" + c.Namespace + "/" + c.Name))
}

// byHash falls back to the place in the input only for one object given twice.
func byHash(a, b placed) int {
	return cmp.Or(bytes.Compare(a.hash[:], b.hash[:]), cmp.Compare(a.index, b.index))
}

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}
