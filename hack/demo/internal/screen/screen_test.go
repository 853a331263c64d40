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

func plain(out *bytes.Buffer, now func() time.Time) *Screen {
	return &Screen{out: out, now: now, width: func() int { return defaultWidth }}
}

func TestClip(t *testing.T) {
	cases := map[string]struct {
		reason string
		line   string
		width  int
		want   string
	}{
		"a short line stays":            {"nothing to cut", "abc", 5, "abc"},
		"a long line is cut":            {"a line that wraps would break the redraw", "abcdef", 3, "abc"},
		"characters count, not bytes":   {"the marks are multi-byte", "▓▓▓▓", 2, "▓▓"},
		"escape sequences take no room": {"they aren't seen", "\x1b[32mab\x1b[0mcd", 3, "\x1b[32mab\x1b[0mc"},
		"a color that is cut off still ends": {"it would run into the next line", "\x1b[32mabcd\x1b[0m", 2,
			"\x1b[32mab\x1b[0m"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := clip(tc.line, tc.width); got != tc.want {
				t.Errorf("got %q, want %q: %s", got, tc.want, tc.reason)
			}
		})
	}
}

func TestRegionsAreReplacedOnATerminalOnly(t *testing.T) {
	var terminal, file bytes.Buffer
	live := plain(&terminal, time.Now)
	live.live = true
	for _, s := range []*Screen{live, plain(&file, time.Now)} {
		s.Draw("one", "two")
		s.Draw("three")
		s.Say("done")
	}
	if diff := cmp.Diff("one\ntwo\n\x1b[2A\x1b[Jthree\n\x1b[1A\x1b[J  done\n", terminal.String()); diff != "" {
		t.Errorf("terminal (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("  done\n", file.String()); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}

func TestSummaryHasARowForEachClaim(t *testing.T) {
	var out bytes.Buffer
	s := plain(&out, time.Now)
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
	s := plain(&bytes.Buffer{}, func() time.Time { now = now.Add(time.Second); return now })
	broken := errors.New("broken")
	took, err := s.Track("work", func(func(string)) error { return broken })
	if !errors.Is(err, broken) || took != time.Second {
		t.Errorf("got %s, %v; want 1s, %v", took, err, broken)
	}
}
