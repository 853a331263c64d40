// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// faultOf is what a policy found wrong, as it was found.
func faultOf(r *Record, t *Tally) Fault {
	f, _ := r.kept(t)
	return f.told(r.name)
}

// heap is what is in use, in bytes.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestViolatingObjectsTakeLittle has objects violate ten policies each: what is said of one and of its like is kept
// once.
func TestViolatingObjectsTakeLittle(t *testing.T) {
	const objects, policies = 5_000, 10
	for name, tc := range map[string]struct {
		message func(object string, i int) string
		most    int64
	}{
		"messages alike": {func(string, int) string { return strings.Repeat("container web has no limit ", 4) }, 200},
		"messages that name the object": {func(object string, _ int) string {
			return strings.Repeat("container web of "+object+" has no limit ", 3)
		}, 200},
		"one of ten messages differs": {func(_ string, i int) string {
			return fmt.Sprintf("%s %d", strings.Repeat("container web has no limit ", 4), i)
		}, 500},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			var defs []Definition
			for i := range policies {
				defs = append(defs, def(fmt.Sprintf("p%d", i), "r1", configMaps))
			}
			f.inForce(defs...)
			before := heap()
			var shared Shared
			var all []*Judged
			for i := range objects {
				key := KeyOf("shop", fmt.Sprintf("web-6b9f8c7d55-%05d", i))
				var faults []Fault
				for n := range policies {
					text := "the same for all"
					if n == 0 || !strings.Contains(name, "one of ten") {
						text = strings.Clone(tc.message(key[len("shop/"):], i))
					}
					faults = append(faults, Fault{Tally: f.plans[configMaps][fmt.Sprintf("p%d", n)], Violations: 1,
						Message: strings.Clone(text)})
				}
				all = append(all, &Judged{Key: key, Record: shared.Record(nil, faults, key,
					fmt.Sprintf("0b2a7f6e-0000-4000-8000-%012d", i), fmt.Sprint(1_000_000+i))})
			}
			f.pass(configMaps, all...)
			clear(all)
			each := (heap() - before) / objects
			t.Logf("%d bytes for each object", each)
			if each > tc.most {
				t.Errorf("an object takes %d bytes, want %d at most", each, tc.most)
			}
			found, _, _ := f.Findings("p0")
			if len(found) != objects || found[7].Message != tc.message("web-6b9f8c7d55-00007", 7) ||
				found[7].UID != "0b2a7f6e-0000-4000-8000-000000000007" || found[7].ResourceVersion != "1000007" {
				t.Errorf("%d are found, the eighth as %+v", len(found), found[7])
			}
		})
	}
}

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "aa", "web-1", "web-12", ""}).Draw(rt, "name")
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "web-1", "web-12", "2", " ", "\x00", "é"})).
			Draw(rt, "message"), "")
		p := &Tally{Policy: "p"}
		var shared Shared
		for range 2 { // kept, and found to be kept
			r := shared.Record(nil, []Fault{{Tally: p, Violations: 1, Message: text}}, KeyOf("ns", name), "u", "1")
			want := Fault{Tally: p, Violations: 1, Message: text}
			if got := faultOf(r, p); got != want {
				rt.Fatalf("%+q of %q comes back as %+q", text, name, got.Message)
			}
		}
	})
}

func TestObjectsAreKnownByTheirUIDAndVersion(t *testing.T) {
	uids := []string{"", "x", "0b2a7f6e-0000-4000-8000-00000000000a", "0B2A7F6E-0000-4000-8000-00000000000A",
		"0b2a7f6e-0000-4000-8000_00000000000a", "0b2a7f6e00004000800000000000000a", strings.Repeat("long", 100),
		"0123456789abcdef", "0b2a7f6e-0000-4000-8000-00000000000g"}
	p := &Tally{Policy: "p"}
	of := func(uid, version string) *Record {
		return new(Shared).Record(nil, []Fault{{Tally: p}}, KeyOf("ns", "a"), uid, version)
	}
	for i, uid := range uids {
		for _, version := range []string{"", "1", "18446744073709551616", "not a number"} {
			if uid2, version2 := of(uid, version).seen(); uid2 != uid || version2 != version {
				t.Errorf("%q, %q come back as %q, %q", uid, version, uid2, version2)
			}
		}
		for j, other := range uids {
			if same := of(uid, "1").sameUID(of(other, "2")); same != (i == j) {
				t.Errorf("%q and %q are the same: %v", uid, other, same)
			}
		}
	}
}

// TestWhatIsSharedDoesntLeak has two objects fail alike, of which one violated before.
func TestWhatIsSharedDoesntLeak(t *testing.T) {
	f := newFixture()
	f.inForce(def("p", "r1", configMaps))
	p := f.plans[configMaps]["p"]
	f.pass(configMaps, f.object(configMaps, "a", map[string]int{"p": 1}), f.object(configMaps, "b", nil))
	var shared Shared
	for _, name := range []string{"b", "a", "b"} {
		f.Put(configMaps, &Judged{Key: KeyOf("ns", name), Record: shared.Record(nil,
			[]Fault{{Tally: p, Failed: true, Message: "boom"}}, KeyOf("ns", name), "uid-"+name, "8")})
	}
	if s, _ := f.Summary("p", 0); s.Errors != 2 || s.ErrorsViolated != 1 {
		t.Errorf("%d can't be judged, of which %d violated; want 2 and 1", s.Errors, s.ErrorsViolated)
	}
}

// TestMoreThanIsSharedIsKeptAllTheSame goes beyond how much is looked for to be shared.
func TestMoreThanIsSharedIsKeptAllTheSame(t *testing.T) {
	p := &Tally{Policy: "p"}
	var shared Shared
	var all []*Record
	for i := range 3 * maxShared {
		faults := []Fault{{Tally: p, Violations: 1, Message: fmt.Sprint(i)}}
		all = append(all, shared.Record(nil, faults, "ns/a", "u", "1"))
	}
	for i, r := range all {
		if f := faultOf(r, p); f.Message != fmt.Sprint(i) {
			t.Fatalf("record %d says %q", i, f.Message)
		}
	}
	if len(shared.outcomes) > maxShared || len(shared.faults) > maxShared {
		t.Errorf("%d outcomes and %d faults are remembered, want %d at most", len(shared.outcomes),
			len(shared.faults), maxShared)
	}
}

// TestOneObjectCantFillTheMemory has one object comply with another set of policies at each change, as whoever may write
// it can have it, and be told something else of the others.
func TestOneObjectCantFillTheMemory(t *testing.T) {
	var shared Shared
	var policies []*Tally
	for i := range 14 {
		policies = append(policies, &Tally{Policy: fmt.Sprintf("p%d", i)})
	}
	said := func(set, i int) string { return fmt.Sprintf("%0*d", MaxMessage, set<<8|i) }
	var last *Record
	const changes = 1 << 14
	before := heap()
	for set := range changes {
		var clean []*Tally
		var faults []Fault
		for i, p := range policies {
			if set>>i&1 == 0 {
				clean = append(clean, p)
				continue
			}
			faults = append(faults, Fault{Tally: p, Violations: 1, Message: said(set, i)})
		}
		last = shared.Record(clean, faults, "ns/a", "u", "1")
	}
	if len(shared.compliances) > maxShared || len(shared.outcomes) > maxShared || len(shared.faults) > maxShared {
		t.Errorf("%d sets, %d outcomes and %d faults are remembered, want %d at most of each", len(shared.compliances),
			len(shared.outcomes), len(shared.faults), maxShared)
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("%d changes of one object take %d bytes", changes, grown)
	}
	if f := faultOf(last, policies[3]); f.Message != said(changes-1, 3) {
		t.Errorf("the last record says %+v", f)
	}
}

// TestASampleIsTheBeginningOfTheFindings holds the two together.
func TestASampleIsTheBeginningOfTheFindings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture()
		f.inForce(def("p", "r1", configMaps, deployments))
		for gk := range f.plans {
			var objects []*Judged
			for name := range rapid.MapOf(rapid.StringMatching("[a-c]{1,3}"), rapid.Just(0)).Draw(rt, gk.Kind) {
				objects = append(objects, f.object(gk, name, map[string]int{"p": rapid.IntRange(-1, 1).Draw(rt, name)}))
			}
			f.pass(gk, objects...)
		}
		findings, _, _ := f.Findings("p")
		for size := range len(findings) + 2 {
			s, _ := f.Summary("p", size)
			if want := findings[:min(size, len(findings))]; fmt.Sprint(s.Sample) != fmt.Sprint(want) {
				rt.Fatalf("a sample of %d is\n%v, want\n%v", size, s.Sample, want)
			}
		}
	})
}
