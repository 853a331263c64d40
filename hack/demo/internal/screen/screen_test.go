// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSummaryHasARowForEachClaim(t *testing.T) {
	var out bytes.Buffer
	s := New(&out, time.Now)
	s.Claim(Row{Step: 1, Claim: "It's up", Figure: "3 nodes", Took: 1400 * time.Millisecond})
	s.Claim(Row{Step: 2, Claim: "It's equal", Took: time.Millisecond})
	out.Reset()
	s.Summary(63 * time.Second)
	want := []string{
		"",
		"STEP  CLAIM, CHECKED AGAINST THE API SERVER  FIGURE   TIME",
		"1     It's up                                3 nodes  1.4s",
		"2     It's equal",
		"",
		"All 2 claims hold. It took 1m03s.",
		"",
	}
	if diff := cmp.Diff(want, strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTrackReturnsTheErrorAndTheTime(t *testing.T) {
	now := time.Unix(0, 0)
	s := New(&bytes.Buffer{}, func() time.Time { now = now.Add(time.Second); return now })
	broken := errors.New("broken")
	took, err := s.Track("work", func(func(string)) error { return broken })
	if !errors.Is(err, broken) || took != time.Second {
		t.Errorf("got %s, %v; want 1s, %v", took, err, broken)
	}
}
