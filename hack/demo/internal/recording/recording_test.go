// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock goes on by a second with each line.
func clock() func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time { now = now.Add(time.Second); return now }
}

// shown is what a recording holds, as text with its styles in brackets.
func shown(r *Recording) []string {
	var out []string
	for _, l := range r.lines {
		text := ""
		for _, s := range l.spans {
			if s.style != "" {
				text += "[" + s.style + "]"
			}
			text += s.text
		}
		out = append(out, text)
	}
	return out
}

func TestARecordingKeepsWhatATerminalShowsInTheEnd(t *testing.T) {
	cases := map[string]struct {
		reason string
		writes []string
		want   []string
	}{
		"lines as they are": {"nothing to draw over", []string{"one\n", "\n", "two\n"},
			[]string{"one", "", "two"}},
		"a line that comes in pieces": {
			"writers needn't write whole lines", []string{"o", "ne\ntw", "o\n"}, []string{"one", "two"}},
		"what is drawn over in its last state": {
			"a region is drawn anew many times a second", []string{"a\n", "x\ny\n", "\x1b[2A\x1b[Jz\n"},
			[]string{"a", "z"}},
		"going back over more lines than there are": {
			"a terminal's top is the top", []string{"a\n", "\x1b[9A\x1b[Jb\n"}, []string{"b"}},
		"colors as styles": {
			"the picture has colors", []string{"\x1b[32m✓\x1b[0m it \x1b[1mholds\x1b[0m\n"},
			[]string{"[32]✓ it [1]holds"}},
		"a long line broken at the width": {
			"a terminal breaks it, too", []string{strings.Repeat("x", Columns) + "yz\n"},
			[]string{strings.Repeat("x", Columns), "yz"}},
		"no characters that XML can't hold": {"a picture that isn't well-formed isn't shown at all",
			[]string{"a\x00\x07\x7fb\n"}, []string{"ab"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := New(clock())
			for _, text := range tc.writes {
				if n, err := r.Write([]byte(text)); n != len(text) || err != nil {
					t.Fatalf("Write took %d of %d bytes: %v", n, len(text), err)
				}
			}
			if diff := cmp.Diff(tc.want, shown(r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func picture(t *testing.T) string {
	t.Helper()
	r := New(clock())
	for i := range 60 {
		fmt.Fprintf(r, "\x1b[36m$ kubectl get \"<all>\" & wait %d\x1b[0m\n", i)
	}
	var b strings.Builder
	if err := r.WriteSVG(&b, "A <demo>"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestThePictureIsWellFormedAndHoldsEveryLine(t *testing.T) {
	decoder := xml.NewDecoder(strings.NewReader(picture(t)))
	counts, text := map[string]int{}, ""
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture isn't well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			counts[token.Name.Local]++
		case xml.CharData:
			text += string(token)
		}
	}
	if diff := cmp.Diff(map[string]int{"svg": 2, "title": 1, "style": 1, "rect": 1, "g": 1, "text": 60, "tspan": 60},
		counts); diff != "" {
		t.Errorf("elements (-want +got):\n%s", diff)
	}
	for _, want := range []string{"A <demo>", `$ kubectl get "<all>" & wait 0`, `$ kubectl get "<all>" & wait 59`} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}

func TestTheSameScreenGivesTheSamePicture(t *testing.T) {
	if diff := cmp.Diff(picture(t), picture(t)); diff != "" {
		t.Errorf("the same lines at the same times give another picture:\n%s", diff)
	}
}

// TestThePlayKeepsNobodyWaiting: a build of minutes passes in a moment, and what comes at once can be read.
func TestThePlayKeepsNobodyWaiting(t *testing.T) {
	began := time.Unix(0, 0)
	shown, total := times([]line{{at: began}, {at: began}, {at: began.Add(time.Hour)}})
	want := []time.Duration{perLine, 2 * perLine, 2*perLine + longestPause}
	if diff := cmp.Diff(want, shown); diff != "" || total != want[2]+hold {
		t.Errorf("it takes %s; (-want +got):\n%s", total, diff)
	}
}
