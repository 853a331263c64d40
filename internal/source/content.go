// SPDX-License-Identifier: Apache-2.0

package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// content is what a repository holds at one revision, as the spec reads it.
type content struct {
	revision string
	// signers identifies the keys that its signature was checked with.
	signers  string
	policies []directory.Located
	// strategies are those of the repository, which overrides don't change.
	strategies []directory.Strategy
	// partly says that only a part of it may be written.
	partly bool
	// inForce are the policies as they were last put into force, by overrides.
	inForce   []directory.Located
	overrides []v1alpha1.SourceOverride
}

// remembered is what is at hand of one source, so that drift can be corrected, and
// an unchanged revision be left alone, without reading the repository again. It is
// read anew after a restart.
type remembered struct {
	// spec is the part of the spec that it was read by.
	spec string
	// newest is the newest revision that could be read; nil while the repository's
	// newest can't. good is the last one that was brought into force as a whole.
	newest, good *content
	// behind says that the last reading of the repository failed.
	behind bool
	// askedAt is when the repository was last asked, and correctedAt when drift was last
	// corrected.
	askedAt, correctedAt time.Time
}

func (r *remembered) unread() bool { return r.newest == nil && r.good == nil }

// refused drops a revision that was read, but isn't in force: the repository doesn't give
// it any more, or those who may sign aren't those that it was checked with.
func (r *remembered) refused() {
	if r.pending() {
		r.newest = nil
	}
}

// pending says that a revision was read, and waits to come into force.
func (r *remembered) pending() bool { return r.newest != nil && r.newest != r.good }

// contentCache remembers the content of sources.
type contentCache struct {
	mu      sync.Mutex
	sources map[types.UID]*remembered
}

func newContentCache() *contentCache { return &contentCache{sources: map[types.UID]*remembered{}} }

// of is what is at hand of a source, empty when that was read by another spec.
// Only one pass of a source runs at a time, so it isn't guarded further.
func (s *contentCache) of(src *v1alpha1.PolicySource) *remembered {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec := readBy(&src.Spec)
	found := s.sources[src.UID]
	if found == nil || found.spec != spec {
		found = &remembered{spec: spec}
		s.sources[src.UID] = found
	}
	return found
}

func (s *contentCache) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sources, uid)
}

// readBy identifies what of a spec decides what is read.
func readBy(spec *v1alpha1.PolicySourceSpec) string {
	return digest([]any{spec.URL, spec.Ref, spec.Path, spec.Include, spec.Exclude, spec.Verify})
}

func digest(of any) string {
	text, _ := json.Marshal(of) //nolint:errchkjson // strings only, which can't fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
