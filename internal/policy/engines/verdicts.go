// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/fnv"
	"math"
	"reflect"
	"slices"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// What has become of a decision that was to be made again, as the metric has it.
const (
	same      = "same"
	different = "different"
	// notCompared is one that topdown was stopped at: by a limit of time or memory, or with the
	// process.
	notCompared = "not_compared"
	// skipped is one for which there was no room.
	skipped = "skipped"
)

// together is how many times as many policies are compared of a request that is chosen, and of how many times fewer
// requests: topdown is given all of an object, and converting that takes as long as a policy or two.
const together = 4

// chosen says whether a decision is one of the share: always the same for the same revision and
// the same object at the same version, or the same request.
func chosen(share float64, revision string, r *policy.Request) bool {
	if share <= 0 {
		return false
	}
	of, requests := identity(r), min(1, share*together)
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(of)) // a hash gives no error
	if !within(requests, float64(hash.Sum32())/math.MaxUint32) {
		return false
	}
	sum := sha256.Sum256([]byte(revision + "\x00" + of))
	return within(share/requests, float64(binary.BigEndian.Uint64(sum[:]))/math.MaxUint64)
}

func within(share, drawn float64) bool { return drawn < share || share >= 1 }

// identity is what a request is chosen by: its UID at admission, and the object at its version.
func identity(r *policy.Request) string {
	meta := policy.Metadata(r.Judged())
	uid, _ := meta["uid"].(string)
	version, _ := meta["resourceVersion"].(string)
	return r.UID + "\x00" + uid + "\x00" + version + "\x00" + r.Namespace + "\x00" + r.Name
}

// compare holds two decisions against each other, and names the parts in which they differ.
func compare(compiled, topdown *policy.Decision) (result string, parts []string) {
	if stopped(topdown.Err) {
		return notCompared, nil
	}
	if (compiled.Err == nil) != (topdown.Err == nil) {
		return different, []string{"errors"}
	}
	if !equal(compiled.Violations, topdown.Violations) {
		parts = append(parts, "violations")
	}
	if !equal(compiled.Warnings, topdown.Warnings) {
		parts = append(parts, "warnings")
	}
	switch {
	case stopped(topdown.FixErr):
	case (compiled.FixErr == nil) != (topdown.FixErr == nil):
		parts = append(parts, "errors of the fix")
	case !equal(compiled.Actions, topdown.Actions):
		parts = append(parts, "fixes")
	}
	if len(parts) > 0 {
		return different, parts
	}
	return same, nil
}

// equal says that two lists hold the same in the same order; one that is nil is empty.
func equal[T any](a, b []T) bool {
	return slices.EqualFunc(a, b, func(x, y T) bool { return reflect.DeepEqual(x, y) })
}

// stopped says that an evaluation wasn't made to its end.
func stopped(err error) bool {
	return errors.Is(err, rego.ErrTimeLimit) || errors.Is(err, rego.ErrMemoryLimit) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// digest tells one difference from another without telling what an object holds; nothing is told
// of a Secret's.
func digest(e *Evaluation, topdown *policy.Decision) string {
	if e.secret {
		return ""
	}
	hash := sha256.New()
	for _, d := range []*policy.Decision{&e.Decision, topdown} {
		text, err := json.Marshal([]any{d.Violations, d.Warnings, d.Actions, d.Err != nil, d.FixErr != nil})
		if err != nil {
			return ""
		}
		hash.Write(append(text, '\n'))
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}
