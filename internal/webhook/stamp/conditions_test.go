// SPDX-License-Identifier: Apache-2.0

package stamp

import (
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The kill switch works while nobody answers; whatever lets go of it, also in part, is on record.
func TestOnlyTheKillSwitchGoesUnrecorded(t *testing.T) {
	env, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv().Extend(
		cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Compile(AsksOfBreakerByName())
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	const soon, late = "2027-01-07T08:00:00Z", "2027-01-08T08:00:00Z"
	breaker := func(spec tree, lines ...string) any { return holding(spec, lines...) }
	held := func(until string) any { return breaker(tree{"mode": "ForcedOpen", "forcedOpenUntilTime": until}) }
	forGood, automatic := breaker(tree{"mode": "ForcedOpen"}), breaker(tree{})
	for name, tc := range map[string]struct {
		before, after any
		recorded      bool
	}{
		"held open for good":             {automatic, forGood, false},
		"held open until a time":         {automatic, held(soon), false},
		"a new one, held until a time":   {nil, held(soon), false},
		"held open for longer":           {held(soon), held(late), false},
		"held open for good, not an end": {held(soon), forGood, false},
		"let go of":                      {held(soon), automatic, true},
		"let go of sooner":               {held(late), held(soon), true},
		"let go of at some time":         {forGood, held(late), true},
		"nothing that anybody asks for":  {held(soon), held(soon), false},
		"an end of none that is held":    {automatic, breaker(tree{"forcedOpenUntilTime": soon}), true},
		"a reset of one that is held so": {held(soon),
			breaker(tree{"mode": "ForcedOpen", "forcedOpenUntilTime": soon, "resetToken": "1"}), true},
		"held for longer, and it is said": {held(soon),
			breaker(tree{"mode": "ForcedOpen"}, record("ForceOpen", "bob")), true},
		"held for longer, and what was said is taken away": {breaker(tree{}, record("ForceOpen", "bob")),
			breaker(tree{"mode": "ForcedOpen"}), true},
		"held open, and what was said is kept": {breaker(tree{}, record("ForceOpen", "bob")),
			breaker(tree{"mode": "ForcedOpen"}, record("ForceOpen", "bob")), false},
	} {
		got, _, err := program.Eval(map[string]any{"object": tc.after, "oldObject": tc.before})
		if err != nil || got.Value() != tc.recorded {
			t.Errorf("%s: it must be recorded: %v, %v; want %t", name, got, err, tc.recorded)
		}
	}
}
