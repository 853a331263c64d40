// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"
)

func TestAPlanLooksAsOftenAsItIsAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		asked   time.Duration
		usual   time.Duration
		objects int
		want    time.Duration
	}{
		"nobody asks": {
			reason: "each wait has its own usual length",
			usual:  holdPoll, want: holdPoll,
		},
		"more often": {
			reason: "that is what the flag is for",
			asked:  200 * time.Millisecond, usual: holdPoll, want: 200 * time.Millisecond,
		},
		"less often": {
			reason: "it is the longest wait, not the shortest",
			asked:  time.Minute, usual: verifyPoll, want: verifyPoll,
		},
		"at many objects": {
			reason: "50 reads a second are enough for the API server",
			asked:  100 * time.Millisecond, usual: verifyPoll, objects: 20, want: 400 * time.Millisecond,
		},
		"at very many objects": {
			reason: "never less often than if nobody had asked",
			asked:  100 * time.Millisecond, usual: verifyPoll, objects: 500, want: verifyPoll,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Observation{PollInterval: tc.asked}.poll(tc.usual, tc.objects)
			if got != tc.want {
				t.Errorf("waits %s, want %s: %s", got, tc.want, tc.reason)
			}
		})
	}
}

func TestALargeWaveIsLookedAtLessOftenThoughItIsAsked(t *testing.T) {
	o := Observation{PollInterval: 100 * time.Millisecond}
	for verified, want := range map[int]time.Duration{
		1: 100 * time.Millisecond, 50: time.Second, 100: 2 * time.Second, 500: 10 * time.Second,
	} {
		if got := o.soakWait(Members{Verified: make([]int, verified)}); got != want {
			t.Errorf("%d verified targets are looked at after %s, want %s", verified, got, want)
		}
	}
}
