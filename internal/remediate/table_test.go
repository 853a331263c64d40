// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixture"
)

const (
	phaseTypes  = "../../api/v1alpha1/remediation_phase.go"
	rolloutDocs = "../../docs/rollout.md"
	docsBegin   = "<!-- begin: generated from internal/rollout/machine.go -->\n"
	docsEnd     = "<!-- end: generated -->\n"
)

// apiPhase is a phase of the API, with its doc comment in one line.
type apiPhase struct {
	phase v1alpha1.RemediationPhase
	doc   string
}

// apiPhases reads the constants of the API from their source, in order, so that
// a phase that is added there can't be forgotten here.
func apiPhases(t *testing.T) []apiPhase {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), phaseTypes, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var out []apiPhase
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		kind, isIdent := spec.Type.(*ast.Ident)
		if value, isLit := spec.Values[0].(*ast.BasicLit); isIdent && isLit && kind.Name == "RemediationPhase" {
			doc := strings.Join(strings.Fields(spec.Doc.Text()), " ")
			out = append(out, apiPhase{v1alpha1.RemediationPhase(strings.Trim(value.Value, `"`)), doc})
		}
		return true
	})
	return out
}

func TestTableHoldsEveryPhase(t *testing.T) {
	rows := map[v1alpha1.RemediationPhase]rollout.Row{}
	for _, row := range rollout.Table() {
		if _, twice := rows[row.Phase]; twice {
			t.Errorf("%s has two rows", row.Phase)
		}
		rows[row.Phase] = row
	}
	reached := reachable(v1alpha1.PhasePlanned, rows)
	all := apiPhases(t)
	if len(all) < len(rows) {
		t.Fatalf("%s declares %d phases, the table has %d rows", phaseTypes, len(all), len(rows))
	}
	for _, p := range all {
		row, hasRow := rows[p.phase]
		if !hasRow && !p.phase.Final() {
			t.Errorf("%s has no row, and isn't final", p.phase)
		}
		if left := []v1alpha1.RemediationPhase{v1alpha1.PhaseRollingBack}; hasRow && p.phase.Final() &&
			!slices.Equal(row.Next, left) {
			t.Errorf("%s is final, and may be followed by %v: only an undo may follow", p.phase, row.Next)
		}
		if !reached[p.phase] {
			t.Errorf("no way leads from %s to %s", v1alpha1.PhasePlanned, p.phase)
		}
		delete(reached, p.phase)
	}
	for p := range reached {
		t.Errorf("the table leads to %s, which the API doesn't know", p)
	}
}

func reachable(from v1alpha1.RemediationPhase,
	rows map[v1alpha1.RemediationPhase]rollout.Row) map[v1alpha1.RemediationPhase]bool {
	seen := map[v1alpha1.RemediationPhase]bool{from: true}
	for queue := []v1alpha1.RemediationPhase{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range rows[queue[0]].Next {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return seen
}

// Every step from a small world of observations answers with an allowed
// successor; Step itself turns any other answer into an error.
func TestEveryAnswerIsAllowed(t *testing.T) {
	states := []v1alpha1.TargetState{v1alpha1.TargetPending, v1alpha1.TargetIntent, v1alpha1.TargetApplied,
		v1alpha1.TargetVerified,
		v1alpha1.TargetDone, v1alpha1.TargetSkipped, v1alpha1.TargetFailed, v1alpha1.TargetReverted,
		v1alpha1.TargetRevertConflict}
	checks := []*rollout.Check{nil, {Result: rollout.CheckWaiting}, {Result: rollout.CheckPassed},
		{Result: rollout.CheckFailed}, {Result: rollout.CheckGone}, {Result: rollout.CheckSetBack}}
	strategy := newFleet(2).strategy
	for _, row := range rollout.Table() {
		for i, first := range states {
			for j, second := range states {
				for n := range len(checks) * 8 {
					o := rollout.Observation{Now: simStart(),
						Spec: v1alpha1.RemediationSpec{
							Plan: v1alpha1.RemediationPlan{Hash: simHash, Rollout: strategy.PlannedRollout,
								Waves: fixture.PlannedWaves(1, 1)}},
						Status: v1alpha1.RemediationStatus{
							Phase: row.Phase, PhaseStartTime: microTime(simStart().Add(-time.Hour))},
						Gate: rollout.Gate{Closed: n&1 == 0}, Targets: []rollout.TargetView{
							{State: first, Check: checks[n/8], AppliedAt: simStart().Add(-time.Hour)},
							{State: second, Wave: int32(n >> 1 & 1)}}}
					if n&4 == 0 {
						o.Stop = "the policy was deleted"
					}
					o.Spec.DesiredState = ""
					if i == j {
						o.Spec.DesiredState = v1alpha1.StateUndone
					}
					if _, err := rollout.Step(o); err != nil {
						t.Fatalf("%s with %s, %s (case %d %d %d): %v", row.Phase, first, second, i, j, n, err)
					}
				}
			}
		}
	}
}

func TestStepRefuses(t *testing.T) {
	for name, phase := range map[string]v1alpha1.RemediationPhase{
		"a phase without a row has no step": v1alpha1.PhasePreviewed, "an unknown phase": "Sleeping"} {
		t.Run(name, func(t *testing.T) {
			_, err := rollout.Step(rollout.Observation{Status: v1alpha1.RemediationStatus{Phase: phase}})
			if err == nil || !strings.Contains(err.Error(), string(phase)) {
				t.Errorf("want an error that names %s, got %v", phase, err)
			}
		})
	}
}

// diagram draws the table for docs/rollout.md, and explains each phase.
func diagram(all []apiPhase) string {
	var out strings.Builder
	out.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> Planned\n")
	for _, row := range rollout.Table() {
		for _, next := range row.Next {
			fmt.Fprintf(&out, "    %s --> %s\n", row.Phase, next)
		}
	}
	for _, p := range all {
		if p.phase.Final() {
			fmt.Fprintf(&out, "    %s --> [*]\n", p.phase)
		}
	}
	out.WriteString("```\n\n| phase | meaning | may be followed by |\n|---|---|---|\n")
	for _, p := range all {
		_, doc, _ := strings.Cut(p.doc, " means that ")
		next := "nothing"
		if i := slices.IndexFunc(rollout.Table(), func(r rollout.Row) bool { return r.Phase == p.phase }); i >= 0 {
			var names []string
			for _, n := range rollout.Table()[i].Next {
				names = append(names, string(n))
			}
			next = strings.Join(names, ", ")
			if p.phase.Final() {
				next = "nothing, or " + next + " when a person has the plan undone"
			}
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", p.phase, doc, next)
	}
	return out.String()
}

func TestDocsShowTheTable(t *testing.T) {
	raw, err := os.ReadFile(rolloutDocs)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := strings.Cut(string(raw), docsBegin)
	_, tail, ends := strings.Cut(rest, docsEnd)
	if !begins || !ends {
		t.Fatalf("%s lacks the lines %q and %q, between which the table is written", rolloutDocs, docsBegin, docsEnd)
	}
	want := head + docsBegin + diagram(apiPhases(t)) + docsEnd + tail
	if *update {
		if err := os.WriteFile(rolloutDocs, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("%s is stale: write it with go test ./internal/remediate -update (-want +got):\n%s", rolloutDocs, diff)
	}
}
