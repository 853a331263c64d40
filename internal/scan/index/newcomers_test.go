// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestNewcomersAreTheLatestSinceAMoment(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	clock := clocktesting.NewFakePassiveClock(start)
	x := New(Options{Clock: clock, InForce: func(string) (string, bool) { return "", false }})
	began := func(policyName, name string) {
		x.began([]Transition{{Policy: policyName, Kind: schema.GroupKind{Kind: "ConfigMap"}, APIVersion: "v1",
			Key: KeyOf("shop", name), UID: "u-" + name, Message: "too bad"}})
	}
	began("p", "early")
	clock.SetTime(start.Add(time.Second))
	began("q", "other")
	began("p", "late")
	found, all := x.Newcomers("p", start.Add(time.Second))
	if !all || len(found) != 1 || found[0].Name != "late" || found[0].Namespace != "shop" || found[0].UID != "u-late" ||
		found[0].Kind != "ConfigMap" || found[0].APIVersion != "v1" || found[0].Message != "too bad" {
		t.Errorf("since a second: %+v", found)
	}
	if found, all = x.Newcomers("p", start); !all || len(found) != 2 || found[0].Name != "late" {
		t.Errorf("since the start: %+v", found)
	}
	if found, all = x.Newcomers("unknown", start); found != nil || !all {
		t.Errorf("an unknown policy has %+v", found)
	}
}

// An object that flaps drives no other out; too many objects do, and that is told to whoever asks since before then.
func TestNewcomersThatAreTooManyAreTold(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	clock := clocktesting.NewFakePassiveClock(start)
	x := New(Options{Clock: clock, InForce: func(string) (string, bool) { return "", false }})
	began := func(at int, name string) {
		clock.SetTime(start.Add(time.Duration(at) * time.Second))
		x.began([]Transition{{Policy: "p", Kind: schema.GroupKind{Kind: "ConfigMap"}, APIVersion: "v1",
			Key: KeyOf("shop", name), UID: "u-" + name, Message: fmt.Sprint("since ", at)}})
	}
	asked := func(since, want int, latest string, wantAll bool) {
		t.Helper()
		found, all := x.Newcomers("p", start.Add(time.Duration(since)*time.Second))
		if len(found) != want || all != wantAll || want > 0 && found[0].Name != latest {
			t.Errorf("since %d: %d are remembered, the latest %+v, all of them: %t", since, len(found), found[:1], all)
		}
	}
	began(1, "victim")
	for i := range 2 * maxNewcomers {
		began(2+i, "flapping")
	}
	asked(0, 2, "flapping", true)
	if found, _ := x.Newcomers("p", start); found[0].Message != fmt.Sprint("since ", 2*maxNewcomers+1) {
		t.Errorf("it is remembered as it was: %s", found[0].Message)
	}
	last := 2 * maxNewcomers
	for i := range maxNewcomers - 2 {
		last = 2*maxNewcomers + 2 + i
		began(last, fmt.Sprint(i))
	}
	asked(0, maxNewcomers, fmt.Sprint(maxNewcomers-3), true)
	began(last+1, "one too many")
	asked(0, maxNewcomers, "one too many", false)
	asked(1, maxNewcomers, "one too many", false)
	asked(2, maxNewcomers, "one too many", true)
}

// A policy that is gone, and comes again under its name, doesn't have the newcomers of the one before.
func TestNewcomersGoWithTheirPolicy(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))
	x := New(Options{Clock: clock, InForce: func(string) (string, bool) { return "", false }})
	x.SetPolicies([]Definition{{Name: "p", Revision: "1"}})
	x.began([]Transition{{Policy: "p", Key: "shop/a"}})
	x.SetPolicies(nil)
	if found, all := x.Newcomers("p", time.Time{}); found != nil || !all {
		t.Errorf("it has %+v", found)
	}
}
