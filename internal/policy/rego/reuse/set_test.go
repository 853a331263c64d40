// SPDX-License-Identifier: Apache-2.0

package reuse

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

func digest(s *Set, content string) Digest {
	d, _ := s.Digest(&facts.Text{Most: facts.MaxText}, func(t *facts.Text) { t.Text(content) })
	return d
}

func TestASetHasWhatWasAddedLast(t *testing.T) {
	s := NewSet()
	for i := range 3 * mostYoung {
		s.Add(digest(s, fmt.Sprint(i)))
		if d := digest(s, fmt.Sprint(i)); !s.Has(d) {
			t.Fatalf("it lacks %d, which has just been added", i)
		}
		if !s.Has(digest(s, "0")) {
			t.Fatalf("it has forgotten what is asked for again and again, after %d others", i)
		}
	}
	if s.Has(digest(s, "1")) {
		t.Error("it still has what nobody has asked for since")
	}
	if got := len(s.young) + len(s.old); got > 2*mostYoung {
		t.Errorf("it holds %d digests, want %d at most", got, 2*mostYoung)
	}
	if s.Has(digest(s, "never")) {
		t.Error("it has what was never added")
	}
}

// A digest tells nothing of what has it in another set, or in another process.
func TestDigestsOfSetsDiffer(t *testing.T) {
	a, b := NewSet(), NewSet()
	if digest(a, "x") == digest(b, "x") {
		t.Error("two sets have the same key")
	}
	if again := digest(a, "x"); digest(a, "x") == digest(a, "y") || again != digest(a, "x") {
		t.Error("a digest isn't that of the content")
	}
}

func TestASetIsSafeForConcurrentUse(t *testing.T) {
	s := NewSet()
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 2 * mostYoung {
				d := digest(s, fmt.Sprint(worker, i))
				s.Add(d)
				_ = s.Has(d)
			}
		})
	}
	all.Wait()
}

func TestWhatIsTooLargeHasNoDigest(t *testing.T) {
	s, text := NewSet(), &facts.Text{Most: facts.MaxText}
	if d, ok := s.Digest(text, func(t *facts.Text) { t.Text(strings.Repeat("x", facts.MaxText)) }); ok {
		t.Errorf("it has the digest %x", d)
	}
	if _, ok := s.Digest(text, func(t *facts.Text) { t.Text("x") }); !ok {
		t.Error("a small one that comes after it has none")
	}
}

func TestASetThatHardlyHasAnythingIsHardlyAsked(t *testing.T) {
	s := NewSet()
	worth := func(times int, add bool) (count int) {
		for i := range times {
			if s.Worth() {
				count++
				d := digest(s, fmt.Sprint(i))
				if add {
					s.Add(d)
				}
				_ = s.Has(d)
			}
		}
		return count
	}
	if got := worth(enough, false); got != enough {
		t.Errorf("of the first %d questions %d were worthwhile", enough, got)
	}
	if got := worth(160*rarely, false); got != 160 {
		t.Errorf("where nothing is found, %d of %d questions are worthwhile, want one in %d", got, 160*rarely, rarely)
	}
	worth(mostAsked*rarely, true)
	if got := worth(100, true); got != 100 {
		t.Errorf("once all is found again, %d of 100 questions are worthwhile", got)
	}
}
