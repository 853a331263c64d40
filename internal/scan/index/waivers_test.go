// SPDX-License-Identifier: Apache-2.0

package index

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// waived is the policy "p" under other waivers than def gives it.
func waived(revision, waivers string) Definition {
	d := def("p", revision, configMaps)
	d.Waivers = waivers
	return d
}

// What a write has an object violate is found though the waivers of the policy change before a pass has judged it. What
// violated before, or a waiver covered, doesn't begin by such a change.
func TestAChangeOfWaiversHidesNoneThatBegan(t *testing.T) {
	const written = time.Second
	for name, tc := range map[string]struct {
		before int
		change func(f *fixture)
		found  int
		told   int
	}{
		"it complied": {change: func(f *fixture) {
			f.inForce(waived("r1", "a"))
			f.pass(configMaps, f.fleet(1, 1, 1)...)
		}, found: 1, told: 1},
		"it wasn't there": {before: -2, change: func(f *fixture) {
			f.inForce(waived("r1", "a"))
			f.pass(configMaps, f.fleet(1, 1, 1)...)
		}, found: 1, told: 1},
		"it violated": {before: 1, change: func(f *fixture) {
			f.inForce(waived("r1", "a"))
			f.pass(configMaps, f.fleet(1, 1, 1)...)
		}},
		"it was never judged": {before: -1, change: func(f *fixture) {
			f.inForce(waived("r1", "a"))
			f.pass(configMaps, f.fleet(1, 1, 1)...)
		}},
		"another revision": {change: func(f *fixture) {
			f.inForce(waived("r2", "a"))
			f.pass(configMaps, f.fleet(1, 1, 1)...)
		}},
		"the watch tells of it before the pass": {change: func(f *fixture) {
			object := f.fleet(1, 1, 1)[0]
			f.inForce(waived("r1", "a"))
			f.Put(configMaps, object)
			f.pass(configMaps, f.fleet(1, 1, 1)...)
		}, found: 1},
		"the first pass can't judge it": {change: func(f *fixture) {
			f.inForce(waived("r1", "a"))
			f.pass(configMaps, f.fleet(1, 1, -1)...)
			f.pass(configMaps, f.fleet(1, 1, 1)...)
		}, found: 1, told: 1},
		"the waivers change again in the pass": {change: func(f *fixture) {
			f.inForce(waived("r1", "a"))
			plans, objects := f.plans, f.fleet(1, 1, 1)
			f.inForce(waived("r1", "b"))
			f.Replace(configMaps, "v1", listOf(objects...))
			f.MarkListed(configMaps, plans[configMaps], epoch)
			f.pass(configMaps, f.fleet(1, 1, 1)...)
		}, found: 1},
	} {
		t.Run(name, func(t *testing.T) {
			f, clock := newFixture(), clocktesting.NewFakePassiveClock(epoch)
			f.clock = clock
			f.inForce(def("p", "r1", configMaps))
			objects := f.fleet(1, 1, tc.before)
			if tc.before == -2 {
				objects = nil
			}
			f.pass(configMaps, objects...)
			clock.SetTime(epoch.Add(2 * written))
			tc.change(f)
			found, all := f.Newcomers("p", epoch.Add(written))
			if len(found) != tc.found || !all || len(f.found) != tc.told {
				t.Errorf("found %+v, all: %t; told of %+v", found, all, f.found)
			}
		})
	}
}

// An object that a waiver covered until it ended doesn't begin to violate by that.
func TestTheEndOfAWaiverIsNoBeginning(t *testing.T) {
	f := newFixture()
	f.inForce(waived("r1", "a"))
	tally := f.plans[configMaps]["p"]
	f.pass(configMaps, &Judged{Key: KeyOf("ns", "0"),
		Record: new(Shared).Record(nil, []Fault{{Tally: tally, Waived: true, Message: "bad"}}, "ns/0", "uid-0", "7")})
	f.inForce(waived("r1", ""))
	f.pass(configMaps, f.fleet(1, 1, 1)...)
	if found, _ := f.Newcomers("p", time.Time{}); len(found)+len(f.found) > 0 {
		t.Errorf("found %+v, told of %+v", found, f.found)
	}
}
