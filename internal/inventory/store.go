// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// Options are what a Store works with.
type Options struct {
	// Client reads the objects.
	Client dynamic.Interface
	// Resolver finds the resource of a kind.
	Resolver Resolver
	// ResyncPeriod is how often each kind is listed anew, give or take a tenth. Default: 10 minutes.
	ResyncPeriod time.Duration
	// MaxStaleness is how long a watch may be broken before what was seen of its kind counts as
	// unknown. Default: DefaultMaxStaleness.
	MaxStaleness time.Duration
	// MaxSilence is how long a watch that stands may bring nothing before its kind is listed anew; MaxStaleness later
	// what was seen counts as unknown. Default: DefaultMaxSilence.
	MaxSilence time.Duration
	// MaxMemory is about what is kept of all kinds together, in bytes; one that doesn't fit counts as unknown.
	// Default: DefaultMaxMemory.
	MaxMemory int64
	// Clock is the time. Default: the real one.
	Clock clock.WithTicker
	// Log is told what can't be followed. Default: nobody is.
	Log logr.Logger
}

// DefaultMaxStaleness is how long a watch may be broken before what was seen counts as unknown.
const DefaultMaxStaleness = time.Minute

// DefaultMaxSilence is how long a watch may bring nothing: three of the bookmarks that an API server sends about every
// minute (k8s.io/apiserver/pkg/storage/cacher, bookmarkFrequency).
const DefaultMaxSilence = 3 * time.Minute

// DefaultMaxMemory is about what is kept of all kinds together, in bytes.
const DefaultMaxMemory = 256 << 20

// Resolver is what a Store needs of listing.Resolver.
type Resolver interface {
	// Resolve finds the resource of a kind, in one of the versions if there are any.
	Resolve(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
	// Refresh has it ask the cluster anew what is served.
	Refresh()
}

// Policies are what a Store needs of catalog.Catalog.
type Policies interface {
	Snapshot() *catalog.Snapshot
	// Complete says that all policies are among them.
	Complete() bool
	// Advance puts in force what has waited for what it refers to. It is called when what is known has changed, and
	// every few seconds.
	Advance()
	Subscribe() <-chan struct{}
}

// Store follows what policies refer to. It is safe for concurrent use.
type Store struct {
	options Options
	memory  *memory

	mu        sync.RWMutex
	followers map[string]*follower
	// joined are the tables of the references of policies, by the keys of all of them.
	joined map[string]joined
	// changed are the references of which something has changed since they were taken.
	changed map[string]bool
	// known are those that have become known since they were taken.
	known  map[string]bool
	signal chan struct{}
	// states has a value after what is known has changed, and reviewed too.
	states, reviewed chan struct{}
}

type joined struct {
	tables []*inventory.Table
	all    *inventory.Joined
}

// New makes a Store that follows nothing yet.
func New(o Options) *Store {
	if o.ResyncPeriod <= 0 {
		o.ResyncPeriod = 10 * time.Minute
	}
	if o.MaxStaleness <= 0 {
		o.MaxStaleness = DefaultMaxStaleness
	}
	if o.MaxSilence <= 0 {
		o.MaxSilence = DefaultMaxSilence
	}
	if o.MaxMemory <= 0 {
		o.MaxMemory = DefaultMaxMemory
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Store{options: o, memory: newMemory(o.MaxMemory), followers: map[string]*follower{},
		joined: map[string]joined{}, changed: map[string]bool{}, known: map[string]bool{},
		signal: make(chan struct{}, 1), states: make(chan struct{}, 1), reviewed: make(chan struct{}, 1)}
}

// Tables are those of some references; the error, a policy.UnknownReferenceError, names the first that isn't known.
func (s *Store) Tables(references []inventory.Reference) (*inventory.Joined, error) {
	keys := make([]string, len(references))
	tables := make([]*inventory.Table, len(references))
	s.mu.RLock()
	for i := range references {
		keys[i] = references[i].Key()
		f := s.followers[keys[i]]
		if f == nil {
			s.mu.RUnlock()
			return nil, &policy.UnknownReferenceError{Kind: references[i].String(), Err: errNotListed}
		}
		var err error
		if tables[i], err = f.table(); err != nil {
			s.mu.RUnlock()
			return nil, &policy.UnknownReferenceError{Kind: references[i].String(), Err: err}
		}
	}
	s.mu.RUnlock()
	return s.join(keys, tables), nil
}

// Shows says with an error that the watch of a reference hasn't come as far as a resourceVersion yet.
func (s *Store) Shows(reference inventory.Reference, resourceVersion string) error {
	s.mu.RLock()
	f := s.followers[reference.Key()]
	s.mu.RUnlock()
	if f == nil {
		return errNotListed
	}
	return f.shows(resourceVersion)
}

// join is the same for the same tables, so that a view is made once for all who ask.
func (s *Store) join(keys []string, tables []*inventory.Table) *inventory.Joined {
	key := strings.Join(keys, "\x01")
	s.mu.RLock()
	known, found := s.joined[key]
	s.mu.RUnlock()
	if found && slices.Equal(known.tables, tables) {
		return known.all
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, found = s.joined[key]; found && slices.Equal(known.tables, tables) {
		return known.all
	}
	all := inventory.Join(tables...)
	if s.held(keys, tables) {
		s.joined[key] = joined{tables: tables, all: all}
	}
	return all
}

// held says that these tables are still kept: what isn't must not be remembered.
func (s *Store) held(keys []string, tables []*inventory.Table) bool {
	for i, key := range keys {
		f := s.followers[key]
		if f == nil {
			return false
		}
		f.mu.Lock()
		same := f.held == tables[i]
		f.mu.Unlock()
		if !same {
			return false
		}
	}
	return true
}

func (s *Store) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.joined)
}

// Changed has a value after objects that are referred to have changed; Take says which.
func (s *Store) Changed() <-chan struct{} { return s.signal }

// Take gives the keys of the references of which something has changed since it was asked last.
func (s *Store) Take() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.changed
	s.changed = map[string]bool{}
	return taken
}

// TakeKnown gives the keys of the references that have become known since it was asked last, for the first time or
// again. Changed has a value then too.
func (s *Store) TakeKnown() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.known
	s.known = map[string]bool{}
	return taken
}

func (s *Store) tellKnown(key string) {
	s.mu.Lock()
	s.known[key] = true
	s.mu.Unlock()
	s.tell(key)
}

func (s *Store) tell(key string) {
	s.mu.Lock()
	s.changed[key] = true
	s.mu.Unlock()
	select {
	case s.signal <- struct{}{}:
	default:
	}
}
