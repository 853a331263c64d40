// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/test/faultproxy"
)

const (
	// exhaustiveVariable, when set, has loops try every position, as make test-nightly does.
	exhaustiveVariable = "EVENKEEL_EXHAUSTIVE"
	// seedVariable is the seed of samples: hack/test.sh sets the commit.
	seedVariable = "EVENKEEL_SEED"
	// sampled is how many positions a sample has.
	sampled = 4
	// fewestWrites is what a rollout has at least.
	fewestWrites = 6
)

// exhaustive reports whether loops try every position and fleets have their full size.
func exhaustive() bool { return os.Getenv(exhaustiveVariable) != "" }

// Large labels the specs that use Many: make test-nightly runs them exhaustively.
var Large = Label("large")

// Many is the size of a fleet: all in an exhaustive run, fewer in any other.
func Many(fewer, all int) int {
	if exhaustive() {
		return all
	}
	return fewer
}

// AtWrites has attempt fault one write of a rollout, the nth from 1, and gives the number of writes that were faulted.
// It tries a sample of the writes, or every write in an exhaustive run. A rollout that no fault reaches shows how many
// writes there are.
func AtWrites(attempt func(nth int) *faultproxy.Injection) (faulted int) {
	GinkgoHelper()
	if exhaustive() {
		for attempt(faulted+1).Hits() == 1 {
			faulted++
		}
		Expect(faulted).To(BeNumerically(">=", fewestWrites), "writes")
		return faulted
	}
	writes := attempt(math.MaxInt).Seen()
	Expect(writes).To(BeNumerically(">=", fewestWrites), "writes")
	for _, nth := range sample(writes) {
		faulted += attempt(nth).Hits()
	}
	// The last write may be missing from one rollout of several: two changes of a status may be one write.
	Expect(faulted).To(BeNumerically(">=", sampled-1), "writes that were faulted")
	return faulted
}

// sample chooses positions from 1 to n by a hash of the seed and the current spec, and gives them in order.
func sample(n int) []int {
	GinkgoHelper()
	places := map[int]uint64{}
	for nth := 1; nth <= n; nth++ {
		hash := fnv.New64a()
		_, _ = fmt.Fprint(hash, nth, os.Getenv(seedVariable), CurrentSpecReport().FullText()) // never fails
		places[nth] = hash.Sum64()
	}
	chosen := slices.SortedFunc(maps.Keys(places), func(a, b int) int { return cmp.Compare(places[a], places[b]) })
	chosen = chosen[:sampled]
	slices.Sort(chosen)
	GinkgoWriter.Printf("writes %v of %d, by %s=%s\n", chosen, n, seedVariable, os.Getenv(seedVariable))
	return chosen
}
