// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"
	"testing"
)

// Whoever has written something waits for a pass over each kind of a policy that began afterwards: one that was under
// way doesn't count, and later changes don't matter. What is missing is asked for.
func TestAPassCountsForWhatWasWrittenBeforeItBegan(t *testing.T) {
	f := newFixture()
	f.inForce(def("p", "r1", configMaps, deployments), def("q", "r1", configMaps))
	waits := func(policyName string, number uint64, want string) {
		t.Helper()
		err := f.PassedSince(policyName, number)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("of %s since pass %d: %v, want %q", policyName, number, err, want)
		}
	}
	waits("p", f.LatestPass(), "gone through ConfigMap since, nor through 1 other kind")
	underWay := f.BeginPass(configMaps)
	written := f.LatestPass()
	f.EndPass(configMaps, underWay)
	waits("p", written, "nor through 1 other kind")
	select {
	case <-f.Asked():
	default:
		t.Error("nobody is told that passes were asked for")
	}
	if got := f.TakeAsked(); len(got) != 2 || !got[configMaps] || !got[deployments] {
		t.Errorf("asked for %v", got)
	}
	next := f.BeginPass(configMaps)
	waits("q", written, "gone through ConfigMap since")
	if got := f.TakeAsked(); len(got) != 0 {
		t.Errorf("asked for %v, of which a pass is under way that counts", got)
	}
	f.EndPass(configMaps, next)
	waits("p", written, "gone through Deployment.apps since")
	waits("q", written, "")
	f.Fail(deployments, "they may not be listed")
	waits("p", written, "gone through Deployment.apps since: they may not be listed")
	f.EndPass(deployments, f.BeginPass(deployments))
	waits("p", written, "")
	f.BeginPass(configMaps)
	waits("p", written, "")
	waits("p", f.LatestPass(), "gone through")
}

// A pass counts for a policy only if it judged by the revision and the waivers of now; one that doesn't is made anew.
func TestAPassByAnEarlierRevisionDoesntCount(t *testing.T) {
	for name, now := range map[string]Definition{
		"another revision": def("p", "r2", configMaps),
		"other waivers":    waived("r1", "a"),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			f.inForce(def("p", "r1", configMaps))
			written := f.LatestPass()
			underWay, before := f.BeginPass(configMaps), f.plans[configMaps]
			f.inForce(now)
			f.Index.EndPass(configMaps, before, underWay)
			if err := f.PassedSince("p", written); err == nil {
				t.Error("a pass counts that judged by what isn't in force any more")
			}
			if got := f.TakeAsked(); !got[configMaps] {
				t.Errorf("asked for %v", got)
			}
			f.EndPass(configMaps, f.BeginPass(configMaps))
			if err := f.PassedSince("p", written); err != nil {
				t.Error(err)
			}
		})
	}
}

// A kind of which nothing was stored may be served by now: while it can't be listed, nobody knows of its objects.
func TestThatNothingIsStoredHoldsUntilTheNextPass(t *testing.T) {
	for name, since := range map[string]func(f *fixture){
		"a pass has begun":     func(f *fixture) { f.BeginPass(configMaps) },
		"it may not be listed": func(f *fixture) { f.Fail(configMaps, "ConfigMap may not be read") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			f.inForce(def("p", "r1", configMaps))
			f.Fail(configMaps, "ConfigMap isn't served by this cluster")
			f.EndEmptyPass(configMaps, f.BeginPass(configMaps))
			if err := f.Observes("p"); err != nil {
				t.Fatal(err)
			}
			since(f)
			if err := f.Observes("p"); err == nil {
				t.Error("objects may be there, and what began to violate counts as found")
			}
		})
	}
}

// A policy that the scan doesn't know yet may find anything, and one that concerns no kind nothing.
func TestWhatIsPassedOfPoliciesWithoutKinds(t *testing.T) {
	f := newFixture()
	f.inForce(def("deletions", "r1"))
	if err := f.PassedSince("deletions", 0); err != nil {
		t.Error(err)
	}
	if err := f.PassedSince("unknown", 0); err == nil {
		t.Error("a policy that the scan hasn't taken up passes for one that finds nothing")
	}
}

// A kind that is scanned again was not passed meanwhile.
func TestAPassGoesWithItsKind(t *testing.T) {
	f := newFixture()
	f.inForce(def("p", "r1", configMaps))
	f.EndPass(configMaps, f.BeginPass(configMaps))
	f.DropKind(configMaps)
	if err := f.PassedSince("p", 0); err == nil {
		t.Error("what was known of a kind before it was dropped counts")
	}
}

// While the scan couldn't find what begins to violate a policy, nobody should write what may have objects violate it.
func TestWhatTheScanWouldFind(t *testing.T) {
	f := newFixture()
	f.inForce(def("p", "r1", configMaps))
	observes := func(when, want string) {
		t.Helper()
		err := f.Observes("p")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", when, err, want)
		}
	}
	observes("before the first pass", "hasn't gone through ConfigMap yet")
	number := f.BeginPass(configMaps)
	observes("while it is under way", "hasn't gone through ConfigMap yet")
	f.pass(configMaps)
	f.EndPass(configMaps, number)
	observes("after it", "")
	number = f.BeginPass(configMaps)
	observes("while another one is under way", "")
	f.Fail(configMaps, "it may not be listed")
	observes("once that has failed", "it may not be listed")
	f.EndEmptyPass(configMaps, number)
	observes("once it is known that nothing is stored of the kind", "")
	f.inForce(def("p", "r2", configMaps))
	f.Resume(configMaps)
	f.EndPass(configMaps, f.BeginPass(configMaps))
	observes("before the first pass of another revision", "hasn't gone through ConfigMap yet")
	if err := f.Observes("unknown"); err == nil {
		t.Error("a policy that the scan hasn't taken up is observed")
	}
}

// What a policy looks up may have been unknown for a moment while a pass went through: what it couldn't judge it hasn't
// found, though it has ended. A policy's own error is none that passes.
func TestAPassThatCouldNotJudgeDoesntCount(t *testing.T) {
	f := newFixture()
	f.inForce(def("p", "r1", configMaps))
	fails := map[string]int{"p": -1}
	unknown, broken := f.object(configMaps, "a", fails), f.object(configMaps, "b", fails)
	unknown.Record.faults[0].Unknown = true
	written := f.LatestPass()
	number := f.BeginPass(configMaps)
	f.pass(configMaps, unknown, broken)
	f.EndPass(configMaps, number)
	err := f.PassedSince("p", written)
	if err == nil || !strings.Contains(err.Error(), "1 object couldn't be judged") {
		t.Errorf("a pass counts that couldn't judge: %v", err)
	}
	if got := f.TakeAsked(); !got[configMaps] {
		t.Errorf("asked for %v", got)
	}
	number = f.BeginPass(configMaps)
	if _ = f.PassedSince("p", written); len(f.TakeAsked()) != 0 {
		t.Error("another pass is asked for though one is under way")
	}
	f.pass(configMaps, f.object(configMaps, "a", nil), broken)
	f.EndPass(configMaps, number)
	if err := f.PassedSince("p", written); err != nil {
		t.Error(err)
	}
}
