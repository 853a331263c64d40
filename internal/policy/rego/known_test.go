// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// endless doesn't come to an end within any limit.
const endless = `{ some a in numbers.range(1, 100000); some b in numbers.range(1, 100000); a + b == -1 }`

// TestAKnownViolationIsKept holds that what a rule has found stays, whatever goes
// wrong before it, after it and beside it.
func TestAKnownViolationIsKept(t *testing.T) {
	known := []policy.Violation{{Message: "known"}}
	cases := map[string]struct {
		reason string
		rego   string
		want   []policy.Violation
		err    []string
	}{
		"warn fails": {
			reason: "whoever writes the object would only have to break what merely warns",
			rego:   "deny contains \"known\" if true\nwarn contains \"old\" if to_number(input.object.kind) > 1",
			want:   known, err: []string{"rule warn", "to_number"},
		},
		"warn is malformed": {
			reason: "as above, by its form",
			rego:   "deny contains \"known\" if true\nwarn contains 7 if true",
			want:   known, err: []string{"rule warn", "it is a number"},
		},
		"violation fails": {
			reason: "the two names are two rules",
			rego:   "deny contains \"known\" if true\nviolation contains \"x\" if to_number(input.object.kind) > 1",
			want:   known, err: []string{"rule violation", "to_number"},
		},
		"an earlier definition fails": {
			reason: "each definition is asked on its own",
			rego:   "deny contains \"x\" if to_number(input.object.kind) > 1\ndeny contains \"known\" if true",
			want:   known, err: []string{"rule deny", "to_number"},
		},
		"an earlier definition is endless": {
			reason: "a part of the time is kept for the others",
			rego:   "deny contains \"x\" if " + endless + "\ndeny contains \"known\" if true",
			want:   known, err: []string{"rule deny", "stopped at its time limit"},
		},
		"several definitions are endless": {
			reason: "time is kept for each that is left",
			rego: "deny contains \"x\" if " + endless + "\ndeny contains \"y\" if " + endless +
				"\nviolation contains \"known\" if true",
			want: known, err: []string{"rule deny", "stopped at its time limit", "1 more"},
		},
		"the definition itself goes on endlessly": {
			reason: "what it found before it was stopped is known",
			rego: `deny contains "known" if { some n in numbers.range(1, 2); slow(n) }` +
				"\nslow(1)\nslow(n) if { n == 2\n some a in numbers.range(1, 100000); some b in numbers.range(1, " +
				"100000); a + b == -1 }",
			want: known, err: []string{"rule deny", "stopped at its time limit"},
		},
		"another element fails first": {
			reason: "the order of the containers must not decide",
			rego: `deny contains "known" if { some v in ["abc", "7"]; number(v) > 5 }` +
				"\nnumber(v) := to_number(v)",
			want: known, err: []string{"rule deny", "to_number"},
		},
		"another element fails within a helper rule": {
			reason: "the helper holds what it found all the same",
			rego: `deny contains "known" if { some v in big; v > 5 }` +
				"\nbig contains to_number(v) if some v in [\"abc\", \"7\"]",
			want: known, err: []string{"rule deny", "to_number"},
		},
		"another element is malformed": {
			reason: "it denies too: what of it can be read is said",
			rego:   `deny contains m if some m in ["known", 7]`,
			want:   []policy.Violation{{Message: "known"}, {Message: "the rule gave no message but 7"}},
			err:    []string{"it is a number"},
		},
		"the message is empty": {
			reason: "the text may come out of the object",
			rego: `deny contains {"msg": input.object.metadata.labels.none, "path": "/spec"} if true` + "\n" +
				`deny contains {"msg": "", "path": "/spec"} if true`,
			want: []policy.Violation{
				{Message: `the rule gave no message but {"msg": "", "path": "/spec"}`, Path: "/spec"}},
			err: []string{"the message is empty"},
		},
		"the path is malformed": {
			reason: "it may come out of the object too",
			rego:   `deny contains {"msg": "known", "path": "spec"} if true`,
			want:   known, err: []string{"isn't a JSON Pointer"},
		},
		"the details aren't JSON": {
			reason: "the message is all that counts",
			rego:   `deny contains {"msg": "known", "details": {1: 2}} if true`,
			want:   known, err: []string{"details", "key 1 isn't a string"},
		},
		"an unknown key": {
			reason: "it denies all the same",
			rego:   `deny contains {"msg": "known", "detials": 1} if true`,
			want:   known, err: []string{`unknown key "detials"`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := compile(t, podPolicy(header+tc.rego))
			got := c.Evaluate(t.Context(), input(t, podRequest()), 200*time.Millisecond)
			wantError(t, tc.reason, got, tc.err...)
			if diff := cmp.Diff(tc.want, got.Violations); diff != "" {
				t.Errorf("%s: violations (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRemediationCostsAVerdictNothing holds that a fix which fails, or never ends,
// is an error of the fix alone; at admission it has a tenth of the time.
func TestRemediationCostsAVerdictNothing(t *testing.T) {
	for name, body := range map[string]string{
		"it fails":      `{ to_number(input.object.kind) > 1 }`,
		"it is endless": endless,
	} {
		t.Run(name, func(t *testing.T) {
			c := compile(t, podPolicy(
				header+"deny contains \"known\" if true\nremediation contains {\"action\": \"evict\"} if "+body))
			got := c.Evaluate(t.Context(), input(t, podRequest()), 300*time.Millisecond)
			wantFixError(t, "the verdict stands", got, "policy test: ", "rule remediation")
			if errors.Is(got.FixErr, rego.ErrTimeLimit) && !strings.Contains(got.FixErr.Error(), "limit of 30ms") {
				t.Errorf("the hint takes too much of the time: %v", got.FixErr)
			}
		})
	}
}

// TestDefinitionsAreAskedAsOneRule holds that asking each definition on its own
// gives what the rule as a whole holds.
func TestDefinitionsAreAskedAsOneRule(t *testing.T) {
	const bodies = `
deny contains msg if { some c in input.pod.spec.containers; msg := sprintf("1 %%s", [c.name]) }
deny contains {"msg": sprintf("2 %%s", [c.image]), "details": {k | some k, _ in c}} if some c in input.pod.spec.containers
deny contains "3" if not input.object.spec.hostPID
deny contains %q if count({x | some x in object.keys(input.object)}) == 4
deny contains input.object.kind
deny contains concat(" ", ["6", n]) if some n in names with input.object.metadata.name as "other"
names contains input.object.metadata.name`
	parts := judge(t, podPolicy(header+fmt.Sprintf(bodies, "4")), podRequest())
	whole := judge(t, podPolicy(header+strings.ReplaceAll(fmt.Sprintf(bodies, "4"), "deny contains", "all contains")+
		"\ndeny := all"), podRequest())
	if parts.Err != nil || whole.Err != nil {
		t.Fatal(parts.Err, whole.Err)
	}
	if diff := cmp.Diff(whole.Violations, parts.Violations); diff != "" || len(parts.Violations) != 6 {
		t.Errorf("-whole +parts:\n%s", diff)
	}
}

// TestAQuickRuleNeedsNoTime holds that a violation which is found at once is found
// by a machine that is too busy to evaluate anything within the limit.
func TestAQuickRuleNeedsNoTime(t *testing.T) {
	c := compile(t, podPolicy(
		header+"deny contains \"x\" if "+endless+"\ndeny contains \"known\" if input.object.kind == \"Pod\""))
	for range 20 {
		got := c.Evaluate(t.Context(), input(t, podRequest()), time.Nanosecond)
		wantError(t, "the other definition never ends", got, "stopped at its time limit")
		if diff := cmp.Diff([]policy.Violation{{Message: "known"}}, got.Violations); diff != "" {
			t.Fatalf("violations (-want +got):\n%s", diff)
		}
	}
}
