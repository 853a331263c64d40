// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
)

// maxDiff bounds the diff of one fix, in bytes.
const maxDiff = 32 << 10

// Teller has the results of an object in a file tell the fixes that Run would make, and why it would leave the others:
// it is for check.Options.Fixed.
func Teller(snapshot *catalog.Snapshot, now time.Time) func(ctx context.Context, results []check.Result) {
	return func(ctx context.Context, results []check.Result) {
		if results[0].Document == nil || !slices.ContainsFunc(results, counts) {
			return
		}
		text, _ := results[0].Document.Text()
		o := &object{run: &run{snapshot: snapshot, now: now, report: &Report{}}, document: results[0].Document,
			subject: results[0].Subject, stored: results[0].Document.Object, text: text}
		if o.fix(ctx) != nil {
			return // it was interrupted, and nothing of it is told
		}
		for i := range results {
			if counts(results[i]) {
				o.tell(&results[i])
			}
		}
	}
}

// counts says whether a result has violations that are to be fixed, and could be judged.
func counts(r check.Result) bool { return r.Waived == nil && len(r.Violations) > 0 && r.Err == nil }

// tell has a result say what became of it.
func (o *object) tell(r *check.Result) {
	made, isMade := o.taken[r.Policy.Name]
	reason, isLeft := o.reasons[r.Policy.Name]
	var err error
	switch {
	case isLeft && reason != "":
		r.Fix, r.Fixed = "", nil
	case r.Fix != "":
		return // it works by itself
	case isMade: // once others were made
		r.Fix, err = action.Propose(r.Title(), made.before, made.fixed.Object, made.fixed.Steps, maxDiff)
	default:
		reason = "the fix of another policy resolves it"
	}
	if err != nil {
		reason = err.Error()
	}
	r.NoFix = policy.SecretsOf(r.Object).Redact(prose.OneLine(reason))
}
