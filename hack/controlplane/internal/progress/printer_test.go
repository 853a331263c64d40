// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

func TestElapsed(t *testing.T) {
	cases := map[string]struct {
		reason string
		given  time.Duration
		want   string
	}{
		"short times have a decimal":      {"0s says nothing", 420 * time.Millisecond, "0.4s"},
		"seconds are whole":               {"decimals are noise by then", 42*time.Second + 700*time.Millisecond, "42s"},
		"minutes have two-digit seconds":  {"columns stay aligned", 63 * time.Second, "1m03s"},
		"long times stay in minutes only": {"no build takes hours", 90 * time.Minute, "90m00s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Elapsed(tc.given); got != tc.want {
				t.Errorf("got %s, want %s: %s", got, tc.want, tc.reason)
			}
		})
	}
}

func TestTrackOffATerminalPrintsPlainLines(t *testing.T) {
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	var out bytes.Buffer
	show := New(&out, clock)
	broken := errors.New("broken")
	if err := show.Track(1, 2, "etcd", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := show.Track(2, 2, "kwok", func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got error %v, want %v", err, broken)
	}
	want := "[1/2] etcd …\n[1/2] etcd … done in 1.0s\n[2/2] kwok …\n[2/2] kwok … failed after 1.0s\n"
	if out.String() != want {
		t.Errorf("got:\n%swant:\n%s", out.String(), want)
	}
}
