// SPDX-License-Identifier: Apache-2.0

package index

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// judgedLate is an Index that listed some objects at the epoch which couldn't be judged, and finds two seconds later
// that they violate.
func judgedLate(objects int) (*fixture, *clocktesting.FakePassiveClock) {
	f, clock := newFixture(), clocktesting.NewFakePassiveClock(epoch)
	f.clock = clock
	f.inForce(def("p", "r1", configMaps))
	f.pass(configMaps, f.fleet(objects, objects, -1)...)
	clock.SetTime(epoch.Add(2 * time.Second))
	f.pass(configMaps, f.fleet(objects, objects, 1)...)
	return f, clock
}

// Whoever has written something before an object could be judged for the first time asks about that, too. Nothing is
// known of the time before the first pass: who has written then asks about none.
func TestWhatWasNeverJudgedBeforeAWriteIsASuspect(t *testing.T) {
	for name, tc := range map[string]struct {
		written time.Duration
		want    int
	}{
		"written before it could be judged": {written: time.Second, want: 1},
		"written since":                     {written: 3 * time.Second},
		"written before the manager began":  {written: -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := judgedLate(1)
			found, all := f.Newcomers("p", epoch.Add(tc.written))
			if len(found) != tc.want || !all || tc.want == 1 && (found[0].Name != "0" || found[0].UID != "uid-0") {
				t.Errorf("got %+v, all: %t", found, all)
			}
			if len(f.found) > 0 {
				t.Errorf("an event says that it began to violate: %+v", f.found)
			}
		})
	}
}

// An object that was judged meanwhile, or that couldn't be for a moment only, is no suspect.
func TestWhatWasJudgedIsNoSuspect(t *testing.T) {
	f, clock := newFixture(), clocktesting.NewFakePassiveClock(epoch)
	f.clock = clock
	f.inForce(def("p", "r1", configMaps))
	f.pass(configMaps, f.fleet(1, 1, 1)...)
	f.pass(configMaps, f.fleet(1, 1, -1)...)
	clock.SetTime(epoch.Add(2 * time.Second))
	f.pass(configMaps, f.fleet(1, 1, 1)...)
	if found, all := f.Newcomers("p", epoch.Add(time.Second)); len(found) > 0 || !all {
		t.Errorf("it violated before: %+v, all: %t", found, all)
	}
}

// After a restart whole fleets may be judged late: they drive none out that is known to have begun, and whoever has
// written meanwhile is told that they are too many.
func TestSuspectsDriveNoNewcomerOut(t *testing.T) {
	f, clock := judgedLate(maxNewcomers + 1)
	if found, all := f.Newcomers("p", epoch.Add(time.Second)); len(found) != maxNewcomers || all {
		t.Errorf("written before they could be judged: %d, all: %t", len(found), all)
	}
	if found, all := f.Newcomers("p", epoch.Add(-time.Second)); len(found) > 0 || !all {
		t.Errorf("written before the manager began: %d, all: %t", len(found), all)
	}
	clock.SetTime(epoch.Add(4 * time.Second))
	f.Put(configMaps, f.object(configMaps, "new", map[string]int{"p": 1}))
	found, all := f.Newcomers("p", epoch.Add(3*time.Second))
	if len(found) != 1 || found[0].Name != "new" || !all {
		t.Errorf("written since: %+v, all: %t", found, all)
	}
	if found, _ = f.Newcomers("p", epoch.Add(time.Second)); found[0].Name != "new" {
		t.Errorf("the first is %+v", found[0])
	}
}
