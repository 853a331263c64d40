// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// MaxMemoryFlag is the flag of the manager that bounds what is kept of all kinds together.
const MaxMemoryFlag = "--reference-max-memory"

// TooLargeError says that a kind isn't known because its objects don't fit.
type TooLargeError struct {
	// Limit is what all kinds together may take, in bytes.
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("what is kept of its objects doesn't fit into %s=%s, which all kinds that policies refer to "+
		"share: keep less of each object with fields, or fewer objects with selector, in spec.match.references, or "+
		"raise the flag together with the manager's memory limit; it is tried again by itself",
		MaxMemoryFlag, resource.NewQuantity(e.Limit, resource.BinarySI))
}

// memory shares out what all tables may take together. What is told here is an estimate, which
// inventory.Table gives.
type memory struct {
	limit int64

	mu     sync.Mutex
	used   int64
	shares map[string]*share
}

// share is what one reference takes.
type share struct {
	of  *memory
	key string
	// refuse is called without a lock when it has to go.
	refuse func(error)

	// Under the lock of the memory:
	// kept is what its table takes, and listed what a list that is under way takes besides.
	kept, listed int64
	// known says that its objects were listed once and are kept since, and refused that they don't fit, or one can't be
	// kept: nothing is until a list begins anew.
	known, refused bool
}

func newMemory(limit int64) *memory { return &memory{limit: limit, shares: map[string]*share{}} }

func (m *memory) join(key string, refuse func(error)) *share {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &share{of: m, key: key, refuse: refuse}
	m.shares[key] = s
	return s
}

func (s *share) leave() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.drop()
	s.refused = true
	if s.of.shares[s.key] == s {
		delete(s.of.shares, s.key)
	}
}

func (s *share) drop() {
	s.of.used -= s.kept + s.listed
	s.kept, s.listed, s.known = 0, 0, false
}

// refuseAll drops all that is kept, and has nothing be kept until a list begins anew.
func (s *share) refuseAll() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.drop()
	s.refused = true
}

func (s *share) begin() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.used -= s.listed
	s.listed, s.refused = 0, false
}

func (s *share) abandon() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.used -= s.listed
	s.listed = 0
}

// list takes some bytes for a list that is under way, and keep for an object that is kept; false means that the
// reference has to go.
func (s *share) list(bytes int64) bool { return s.take(&s.listed, bytes) }

func (s *share) keep(bytes int64) bool { return s.take(&s.kept, bytes) }

// commit says that a list has ended and what the table takes by now.
func (s *share) commit(t *inventory.Table) bool {
	bytes := t.Bytes()
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.refused {
		return false
	}
	s.of.used += bytes - s.kept - s.listed
	s.kept, s.listed, s.known = bytes, 0, true
	return true
}

func (s *share) take(of *int64, bytes int64) bool {
	gone := s.of.fit(s, of, bytes)
	for _, other := range gone {
		other.refuse(&TooLargeError{Limit: s.of.limit})
	}
	return !slices.Contains(gone, s) && !s.isRefused()
}

func (s *share) isRefused() bool {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	return s.refused
}

// fit makes room for some bytes, and gives the shares that have to go for it.
func (m *memory) fit(s *share, of *int64, bytes int64) (gone []*share) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.refused {
		return nil
	}
	*of += bytes
	m.used += bytes
	for bytes > 0 && m.used > m.limit && !s.refused {
		next := m.next(s)
		next.drop()
		next.refused = true
		gone = append(gone, next)
	}
	return gone
}

// next is which share goes when one has grown past the limit. What is known stays as long as something is only being
// listed: the largest of those goes. Else it is the one that has grown, unless that takes no more than its part of the
// limit: then the largest takes more than its own. So whoever makes objects of one kind without end loses that kind
// and no other, and two that don't fit together never drive each other out in turn.
func (m *memory) next(grown *share) *share {
	var all, listing []*share
	for _, s := range m.shares {
		all = append(all, s)
		if !s.known && s.listed > 0 {
			listing = append(listing, s)
		}
	}
	if len(listing) > 0 {
		return largest(listing)
	}
	if grown.kept+grown.listed > m.limit/int64(len(all)) {
		return grown
	}
	return largest(all)
}

func largest(of []*share) *share {
	return slices.MaxFunc(of, func(a, b *share) int {
		return cmp.Or(cmp.Compare(a.kept+a.listed, b.kept+b.listed), cmp.Compare(a.key, b.key))
	})
}
