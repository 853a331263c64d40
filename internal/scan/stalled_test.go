// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/internal/scan/index"
)

// unlisted is a pass whose list is under way.
func unlisted() *pass {
	s := &Scanner{clock: clock.RealClock{}, index: index.New(index.Options{Clock: clock.RealClock{},
		InForce: func(string) (string, bool) { return "", false }})}
	k := &kindScan{kind: schema.GroupKind{Kind: "ConfigMap"}, scanner: s}
	return &pass{scan: k, listed: make(chan struct{}), started: s.clock.Now()}
}

// TestAListThatHangsIsGivenUp has an API server, or what stands before an aggregated one, accept a list and not answer
// it.
func TestAListThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := unlisted(), time.Now()
		if err := p.awaitList(nil); !errors.Is(err, errStalled) {
			t.Fatalf("it ends with %v, want %v", err, errStalled)
		}
		if took := time.Since(began); took != mostStalled*stalledAfter {
			t.Errorf("it was given up after %s, want %s", took, mostStalled*stalledAfter)
		}
	})
}

// TestAListThatIsSlowIsWaitedFor has something come now and then, an hour long.
func TestAListThatIsSlowIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := unlisted()
		go func() {
			defer close(p.listed)
			for range 60 {
				<-time.After((mostStalled - 1) * stalledAfter)
				p.read.Add(1)
			}
		}()
		if err := p.awaitList(nil); err != nil {
			t.Errorf("it ends with %v", err)
		}
	})
}

// TestAPassThatFailsCostsAsMuchAsOneThatDoesnt has a list fail late: what is listed for the sake of changed references
// takes a tenth of the time all the same.
func TestAPassThatFailsCostsAsMuchAsOneThatDoesnt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := unlisted()
		<-time.After(time.Minute)
		p.scan.rest(p, firstRetry)
		if want := time.Now().Add(referenceShare * time.Minute); p.scan.restedAt() != want {
			t.Errorf("it has rested at %s, want %s", p.scan.restedAt(), want)
		}
		if want := time.Now().Add(firstRetry); p.scan.restedBrieflyAt() != want {
			t.Errorf("for who waits it has rested at %s, want %s", p.scan.restedBrieflyAt(), want)
		}
		listed := unlisted()
		close(listed.listed)
		<-time.After(time.Hour)
		listed.scan.rest(listed, firstRetry)
		if at := listed.scan.rested.Load(); at != 0 {
			t.Errorf("an hour's watch counts as a list: it rests until %s", listed.scan.restedAt())
		}
	})
}
