// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/recorded"
)

var update = flag.Bool("update", false, "write the golden drawings anew")

func clock() time.Time { return time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC) }

func ago(d time.Duration) *metav1.MicroTime {
	t := metav1.NewMicroTime(clock().Add(-d))
	return &t
}

// fleet is a plan over so many Deployments, all pending.
func fleet(waves ...int32) display.Rollout {
	rem := &v1alpha1.Remediation{
		ObjectMeta: metav1.ObjectMeta{
			Name: "no-privilege-1a2b3c4d", CreationTimestamp: metav1.NewTime(clock().Add(-5 * time.Minute))},
		Spec: v1alpha1.RemediationSpec{
			Plan: v1alpha1.RemediationPlan{
				Policy: v1alpha1.PlannedPolicy{Name: "no-privilege", Revision: "0123456789abcdef", Owner: "platform",
					RunbookURL: "https://runbooks.example/no-privilege"},
				Waves: fixture.PlannedWaves(waves...), Rollout: fixture.Planned(v1alpha1.RemediationAutomatic)}}}
	var slice v1alpha1.RemediationSlice
	for wave, n := range waves {
		for range n {
			slice.Targets = append(slice.Targets, v1alpha1.Target{Wave: int32(wave),
				Object: v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop",
					Name: fmt.Sprintf("web-%03d", rem.Spec.Plan.Targets)}})
			rem.Spec.Plan.Targets++
		}
	}
	closed := v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerClosed, Outcomes: 12, Failures: 1}
	return display.Rollout{Remediation: rem, Slices: []v1alpha1.RemediationSlice{slice}, Now: clock(),
		Breakers: []v1alpha1.RemediationBreaker{
			{ObjectMeta: metav1.ObjectMeta{Name: "global"},
				Spec: v1alpha1.RemediationBreakerSpec{
					Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeGlobal}},
				Status: closed},
			{ObjectMeta: metav1.ObjectMeta{Name: "policy-no-privilege"}, Status: closed,
				Spec: v1alpha1.RemediationBreakerSpec{
					Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: "no-privilege"}}}}}
}

// records sets the states of the first targets, and counts them.
func records(r display.Rollout, list ...v1alpha1.TargetRecord) {
	r.Slices[0].Records = list
	c := &r.Remediation.Status.Counts
	c.Pending = r.Remediation.Spec.Plan.Targets - int32(len(list))
	for _, rec := range list {
		switch rec.State {
		case v1alpha1.TargetDone:
			c.Done++
		case v1alpha1.TargetFailed:
			c.Failed++
		case v1alpha1.TargetReverted:
			c.Reverted++
		case v1alpha1.TargetSkipped:
			c.Skipped++
		default:
			c.InFlight++
		}
	}
}

func many(n int, rec v1alpha1.TargetRecord) []v1alpha1.TargetRecord {
	out := make([]v1alpha1.TargetRecord, n)
	for i := range out {
		out[i] = rec
	}
	return out
}

func applying() display.Rollout {
	r := fleet(1, 24, 100, 375)
	r.Remediation.Status = v1alpha1.RemediationStatus{
		Phase: v1alpha1.PhaseVerifying, Wave: 2, Reason: v1alpha1.ReasonWaveInProgress,
		Message: "wave 2 of 3: 3 of 10 verified; waiting for Deployment shop/web-033: InProgress: 1 of 2 " +
			"available",
		PhaseStartTime: ago(12 * time.Second)}
	list := append(many(24, v1alpha1.TargetRecord{State: v1alpha1.TargetDone}),
		v1alpha1.TargetRecord{State: v1alpha1.TargetSkipped, Reason: v1alpha1.ReasonManaged,
			Message: "Argo CD manages this object"})
	list = append(list,
		many(7, v1alpha1.TargetRecord{
			State: v1alpha1.TargetVerified, Write: &v1alpha1.WriteRecord{AppliedTime: ago(20 * time.Second)}})...)
	list = append(list,
		many(3, v1alpha1.TargetRecord{
			State: v1alpha1.TargetApplied, Write: &v1alpha1.WriteRecord{AppliedTime: ago(9 * time.Second)}})...)
	records(r, list...)
	return r
}

func rolledBack() display.Rollout {
	r := fleet(1, 9)
	r.Remediation.Status = v1alpha1.RemediationStatus{
		Phase: v1alpha1.PhaseRolledBack, Reason: v1alpha1.ReasonVerificationFailed,
		Message: "1 write undone; no other wave was begun. canary failed: Deployment shop/web-000: its health got " +
			"worse", PhaseStartTime: ago(time.Hour)}
	records(r, append([]v1alpha1.TargetRecord{
		{State: v1alpha1.TargetReverted, Reason: v1alpha1.ReasonUnhealthy, Message: "its health got worse"}},
		many(9, v1alpha1.TargetRecord{State: v1alpha1.TargetSkipped, Reason: v1alpha1.ReasonNotAttempted})...)...)
	r.Remediation.Status.Evidence = []v1alpha1.FailureEvidence{{Object: r.Slices[0].Targets[0].Object,
		CollectedTime: *ago(time.Hour), Unread: "Warning events: forbidden", Findings: []string{
			"0 of 1 Pod of its newest template ready",
			"Pod web-000-5d8-x1, container app: waiting: CrashLoopBackOff; 5 restarts"}}}
	r.Breakers[1].Status = v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerOpen, Reason: "CanaryFailed",
		Message: "The canary failed."}
	r.Breakers[0].Spec.Mode = v1alpha1.BreakerForcedOpen
	return r
}

// undone is a plan that a person had undone after its end; of one target she has changed the same field since.
func undone() display.Rollout {
	r := fleet(1, 9)
	r.Remediation.Spec.DesiredState = v1alpha1.StateUndone
	recorded.Requests(r.Remediation, []v1alpha1.RequestRecord{
		{Action: v1alpha1.ActionUndo, User: "ann", Reason: "INC-42",
			RequestTime: metav1.NewTime(clock().Add(-time.Hour))}}...)
	r.Remediation.Status = v1alpha1.RemediationStatus{Phase: v1alpha1.PhaseRolledBack, Reason: v1alpha1.ReasonUndone,
		Message:        "10 writes undone, of all waves that were begun. ann has all of the plan undone",
		PhaseStartTime: ago(time.Hour)}
	records(r, many(10, v1alpha1.TargetRecord{State: v1alpha1.TargetReverted})...)
	r.Breakers = nil
	return r
}

// TestAnUndoThatWasAskedForIsNoTrouble, but what couldn't be undone is.
func TestAnUndoThatWasAskedForIsNoTrouble(t *testing.T) {
	r := undone()
	if text := strings.Join(r.Draw(display.Style{Color: true}), "\n"); strings.Contains(text, "Trouble") ||
		strings.Contains(text, "✗") || strings.Contains(text, "\x1b[31m") {
		t.Errorf("it is drawn as a failure:\n%s", text)
	}
	r.Slices[0].Records[0] = v1alpha1.TargetRecord{State: v1alpha1.TargetRevertConflict,
		Reason: v1alpha1.ReasonConflict, Message: "ann has changed it"}
	r.Remediation.Status.Phase = v1alpha1.PhaseRollbackIncomplete
	text := strings.Join(r.Draw(display.Style{Color: true}), "\n")
	for _, part := range []string{"Undone (9)", "Trouble (1)", "✗ canary", "\x1b[31m  Phase"} {
		if !strings.Contains(text, part) {
			t.Errorf("it lacks %q:\n%s", part, text)
		}
	}
}

func awaiting() display.Rollout {
	r := fleet(1, 4, 1, 4)
	r.Remediation.Spec.Plan.Rollout.Mode = v1alpha1.RemediationManual
	r.Remediation.Spec.DesiredState = v1alpha1.StatePaused
	recorded.Requests(r.Remediation, []v1alpha1.RequestRecord{
		{Action: v1alpha1.ActionPause, User: "ann", Reason: "INC-42"}}...)
	r.Remediation.Spec.Plan.Stages = []v1alpha1.PlannedStage{
		{Name: "staging", FirstWave: 0}, {Name: "others", FirstWave: 2}}
	r.Remediation.Status = v1alpha1.RemediationStatus{
		Phase: v1alpha1.PhaseAwaitingApproval, Reason: v1alpha1.ReasonAwaitingApproval,
		Message: "a person must approve",
		Analysis: []v1alpha1.MetricRecord{
			{Name: "error-ratio", Verdict: v1alpha1.AnalysisInconclusive, Baseline: "0.1", Message: "no data"}}}
	r.Breakers = nil
	change := preview.Change{Digest: "sha256:0a", Text: "/spec/privileged: true → false\n"}
	list := many(8, v1alpha1.TargetRecord{State: v1alpha1.TargetPending,
		Proposal: preview.Change{Digest: "sha256:0a", SameAs: 1}.String()})
	list[0].Proposal = change.String()
	list = append(list, v1alpha1.TargetRecord{State: v1alpha1.TargetPending,
		Proposal: preview.Change{Why: "OptOut: the object has the annotation"}.String()},
		v1alpha1.TargetRecord{State: v1alpha1.TargetPending, Proposal: preview.Change{Digest: "sha256:0c"}.String()})
	records(r, list...)
	r.Remediation.Status.Counts = v1alpha1.TargetCounts{Pending: 10}
	return r
}

// TestWhatIsToBeApprovedIsBounded: a plan may hold thousands of different changes.
func TestWhatIsToBeApprovedIsBounded(t *testing.T) {
	r := awaiting()
	for i := range r.Slices[0].Records {
		change := preview.Change{Digest: "sha256:0a", Text: fmt.Sprintf("/%d: 1 → 2\n", i)}
		r.Slices[0].Records[i].Proposal = change.String()
	}
	r.Shown = display.Shown{Changes: 2, Targets: 1}
	text := strings.Join(r.DrawProposal(display.Style{}), "\n")
	if !strings.Contains(text, "and 8 more changes, which the digest covers too") || strings.Contains(text, "/2: ") {
		t.Errorf("drawn:\n%s", text)
	}
	for i := range r.Slices[0].Records {
		r.Slices[0].Records[i].Proposal = preview.Change{Digest: "sha256:0a"}.String()
	}
	if text = strings.Join(r.DrawProposal(display.Style{}), "\n"); !strings.Contains(text,
		"10 Deployment: shop/web-000 and 9 more") {
		t.Errorf("drawn:\n%s", text)
	}
	r.Slices[0].Records[9].Proposal = ""
	if text = strings.Join(r.DrawProposal(display.Style{}), "\n"); strings.Contains(text, "Digest") ||
		!strings.Contains(text, "computed for 9 of 10 targets so far") {
		t.Errorf("drawn:\n%s", text)
	}
	r.Remediation.Status.Approval = &v1alpha1.ApprovalRecord{}
	if r.Proposal() != nil {
		t.Error("an approved plan asks for its approval")
	}
}

// TestDraw compares whole drawings: go test ./internal/display -update writes them.
func TestDraw(t *testing.T) {
	for name, r := range map[string]display.Rollout{"applying": applying(), "rolled-back": rolledBack(),
		"awaiting": awaiting(), "undone": undone()} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(r.Draw(display.Style{}), "\n") + "\n"
			path := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the drawing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDrawFitsTheTerminal(t *testing.T) {
	for _, line := range applying().Draw(display.Style{Width: 60}) {
		if n := len([]rune(line)); n > 60 {
			t.Errorf("%d characters in a terminal of 60: %s", n, line)
		}
	}
}

func TestLineTellsOnlyChanges(t *testing.T) {
	r := applying()
	before := r.Line()
	r.Now = r.Now.Add(time.Minute)
	if after := r.Line(); after != before {
		t.Errorf("the line grew older:\n%s\n%s", before, after)
	}
	r.Remediation.Status.Counts.Done++
	if after := r.Line(); after == before {
		t.Errorf("the line doesn't tell of progress: %s", after)
	}
}

func TestWell(t *testing.T) {
	cases := map[string]struct {
		reason string
		phase  v1alpha1.RemediationPhase
		failed int32
		want   bool
	}{
		"a rollout that succeeded":           {"nothing is left to do", v1alpha1.PhaseSucceeded, 0, true},
		"one that left failed targets":       {"a person must look at them", v1alpha1.PhaseSucceeded, 1, false},
		"one that was rolled back":           {"the fix does harm", v1alpha1.PhaseRolledBack, 0, false},
		"one that is still at work":          {"it hasn't ended", v1alpha1.PhaseApplying, 0, false},
		"one whose policy changed meanwhile": {"the next plan takes over", v1alpha1.PhaseSuperseded, 0, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem := &v1alpha1.Remediation{
				Status: v1alpha1.RemediationStatus{Phase: tc.phase, Counts: v1alpha1.TargetCounts{Failed: tc.failed}}}
			if got := rem.Status.Succeeded(); got != tc.want {
				t.Errorf("%s: Well() = %v", tc.reason, got)
			}
		})
	}
}

func TestDrawTellsWhatIsNotTakenUp(t *testing.T) {
	const part = "isn't taken up yet"
	cases := map[string]struct {
		reason     string
		phase      v1alpha1.RemediationPhase
		generation int64
		want       bool
	}{
		"an abort while no manager runs": {"what is drawn is older than the order", v1alpha1.PhaseSoaking, 2, true},
		"nothing was asked for":          {"what is drawn is true", v1alpha1.PhaseSoaking, 1, false},
		"a plan that nobody has seen":    {"no order is needed for that", "", 2, false},
		"a plan that has ended":          {"no order changes it", v1alpha1.PhaseRolledBack, 2, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := fleet(1, 2)
			r.Remediation.Generation, r.Remediation.Status.Phase = tc.generation, tc.phase
			if tc.phase != "" {
				r.Remediation.Status.ObservedGeneration = 1
			}
			drawn := strings.Join(r.Draw(display.Style{}), "\n")
			if got := strings.Contains(drawn, part); got != tc.want {
				t.Errorf("%s: %q is drawn: %v, want %v\n%s", tc.reason, part, got, tc.want, drawn)
			}
		})
	}
}

func TestDrawOfAPlanWithoutItsSlices(t *testing.T) {
	r := applying()
	r.Slices, r.Remediation.Status.HealthyTime = nil, ago(5*time.Second)
	if drawn := strings.Join(r.Draw(display.Style{}), "\n"); strings.Contains(drawn, " ;") ||
		!strings.Contains(drawn, "verified for 5s") {
		t.Errorf("a wave whose targets are unknown leaves a gap:\n%s", drawn)
	}
}

func TestDrawAsksNoAnswerOfAPlanThatHasEnded(t *testing.T) {
	r := fleet(1, 2)
	r.Remediation.Spec.Plan.Rollout.Mode, r.Remediation.Status.Phase = v1alpha1.RemediationManual,
		v1alpha1.PhaseAborted
	drawn := strings.Join(r.Draw(display.Style{}), "\n")
	if strings.Contains(drawn, "rollout approve") ||
		!strings.Contains(drawn, "nobody has answered before the plan ended") {
		t.Errorf("an answer is asked for that would be refused:\n%s", drawn)
	}
}

// A plan that has ended is held by nothing: what stands there for it to go on would be read
// as an order.
func TestDrawOfAPlanThatHasEnded(t *testing.T) {
	window := []v1alpha1.PlannedWindow{{Schedule: "0 2 * * 0", Duration: metav1.Duration{Duration: time.Hour}}}
	for phase, want := range map[v1alpha1.RemediationPhase]string{
		v1alpha1.PhaseAborted: " 25 %", v1alpha1.PhaseRolledBack: " 25 %", v1alpha1.PhaseRollbackIncomplete: " 25 %",
		v1alpha1.PhaseSuperseded: " 25 %", v1alpha1.PhaseSucceeded: "100 %", v1alpha1.PhasePreviewed: "100 %",
	} {
		t.Run(string(phase), func(t *testing.T) {
			r := fleet(1, 3)
			r.Remediation.Spec.DesiredState, r.Remediation.Status.Phase = v1alpha1.StatePaused, phase
			r.Remediation.Spec.Plan.Rollout.Windows = window
			records(r, append(many(1, v1alpha1.TargetRecord{State: v1alpha1.TargetDone}),
				many(3, v1alpha1.TargetRecord{
					State: v1alpha1.TargetSkipped, Reason: v1alpha1.ReasonNotAttempted})...)...)
			drawn := strings.Join(r.Draw(display.Style{}), "\n")
			for _, not := range []string{"resume", "window", "Gates", "Closed", "Decisions", "Before the next plan"} {
				if strings.Contains(drawn, not) {
					t.Errorf("%q is drawn of a plan that has ended:\n%s", not, drawn)
				}
			}
			if !strings.Contains(drawn, want) {
				t.Errorf("no progress of %s:\n%s", want, drawn)
			}
			r.Breakers[1].Status.State = v1alpha1.BreakerOpen
			if drawn := strings.Join(r.Draw(display.Style{}), "\n"); !strings.Contains(drawn,
				"Before the next plan\n  ✗ breaker    policy-no-privilege is Open") {
				t.Errorf("the breaker that keeps the next plan isn't drawn:\n%s", drawn)
			}
		})
	}
}

func TestDrawLosesNothingInANarrowTerminal(t *testing.T) {
	words := func(lines []string) string { return strings.Join(strings.Fields(strings.Join(lines, " ")), "") }
	for _, r := range []display.Rollout{applying(), rolledBack(), awaiting()} {
		whole := words(r.Draw(display.Style{}))
		for _, width := range []int{20, 40, 80, 120} {
			if got := words(r.Draw(display.Style{Width: width})); got != whole {
				t.Errorf("at %d characters:\n%s\nwant\n%s", width, got, whole)
			}
		}
	}
}
