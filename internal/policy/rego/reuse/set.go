// SPDX-License-Identifier: Apache-2.0

package reuse

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"

	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

const (
	// mostYoung is how many digests a Set holds at least before it forgets the oldest, and half of how many at most.
	// Objects that are alike come together: the Pods of a Deployment are made, and listed, one after the other.
	mostYoung = 1024
	keyBytes  = 32
	// enough questions tell how often the answer is yes, and mostAsked are counted. Less than one in rarely isn't
	// worthwhile.
	enough, mostAsked, rarely = 128, 1024, 16
)

// Digest stands for the content that it was made of, in the Set that made it.
type Digest [16]byte

// Set is a set of contents, of which it keeps digests alone, and the latest alone. It is safe for concurrent use.
type Set struct {
	// key is random, and told to nobody: else two contents with one digest could be sought.
	key [keyBytes]byte

	mu         sync.Mutex
	young, old map[Digest]struct{}
	// asked and found count questions and those answered with yes, of late, and left those that weren't worth one.
	asked, found, left int
}

// NewSet makes an empty set.
func NewSet() *Set {
	s := &Set{young: map[Digest]struct{}{}}
	_, _ = rand.Read(s.key[:]) // it never fails: see the documentation of crypto/rand
	return s
}

// Digest is that of a content, which write writes to the text: half of the SHA-256 of the key and the content. It has
// none where the content is too large.
func (s *Set) Digest(text *facts.Text, write func(*facts.Text)) (d Digest, ok bool) {
	text.Begin(s.key[:])
	write(text)
	if text.Failed {
		return d, false
	}
	sum := sha256.Sum256(text.Bytes)
	copy(d[:], sum[:])
	return d, true
}

// Has says whether a content was added, and not forgotten since.
func (s *Set) Has(d Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.young[d]; !ok {
		if _, ok := s.old[d]; !ok {
			return false
		}
		s.add(d)
	}
	s.found++
	return true
}

// Worth says whether it is worthwhile to make a digest and to ask for it. Where hardly anything was found of late, as
// of a policy that reads each object's name, it is so once in so many times only.
func (s *Set) Worth() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked >= mostAsked {
		s.asked, s.found = s.asked/2, s.found/2
	}
	if s.asked >= enough && s.found*rarely < s.asked {
		if s.left++; s.left%rarely != 0 {
			return false
		}
	}
	s.asked++
	return true
}

// Add adds a content.
func (s *Set) Add(d Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(d)
}

func (s *Set) add(d Digest) {
	if len(s.young) >= mostYoung {
		s.old, s.young = s.young, make(map[Digest]struct{}, mostYoung)
	}
	s.young[d] = struct{}{}
}
