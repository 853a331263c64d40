// SPDX-License-Identifier: Apache-2.0

package escalate_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
	rules "evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/test/recorded"
)

func slice(records ...v1alpha1.TargetRecord) v1alpha1.RemediationSlice {
	var s v1alpha1.RemediationSlice
	for i, rec := range records {
		object := v1alpha1.ObjectReference{Kind: "Deployment", Namespace: "shop", Name: "web-" + string(rune('a'+i)),
			UID: string(rune('a' + i))}
		s.Targets = append(s.Targets, v1alpha1.Target{Object: object})
		s.Records = append(s.Records, rec)
	}
	return s
}

func record(state v1alpha1.TargetState, reason, message string) v1alpha1.TargetRecord {
	return v1alpha1.TargetRecord{State: state, Reason: reason, Message: message}
}

func TestEvidence(t *testing.T) {
	managed := record(v1alpha1.TargetSkipped, v1alpha1.ReasonManaged, "Helm manages it")
	managed.Proposal = "-a\n+b"
	for name, tc := range map[string]struct {
		status v1alpha1.RemediationStatus
		parts  []v1alpha1.RemediationSlice
		want   string
	}{
		"a plan in which all went well has none": {
			parts: []v1alpha1.RemediationSlice{
				slice(record(v1alpha1.TargetDone, "", ""),
					record(v1alpha1.TargetSkipped, v1alpha1.ReasonGone, "gone"))},
		},
		"what needs a person most comes first, over all slices": {
			parts: []v1alpha1.RemediationSlice{
				slice(record(v1alpha1.TargetReverted, v1alpha1.ReasonUnhealthy, "0 of 1 ready"),
					record(v1alpha1.TargetFailed, v1alpha1.ReasonAdmissionDenied, "denied by x")),
				slice(record(v1alpha1.TargetRevertConflict, "", "")),
			},
			want: "- Deployment shop/web-a: RevertConflict\n" +
				"- Deployment shop/web-b: Failed (AdmissionDenied): denied by x\n" +
				"- Deployment shop/web-a: Reverted (Unhealthy): 0 of 1 ready",
		},
		"what was seen of a target before its write was undone stands below it": {
			status: v1alpha1.RemediationStatus{Evidence: []v1alpha1.FailureEvidence{{
				Object:   v1alpha1.ObjectReference{UID: "a"},
				Findings: []string{"Pod web-a-1, container app: waiting: ImagePullBackOff"},
				Unread:   "Warning events: forbidden"}}},
			parts: []v1alpha1.RemediationSlice{
				slice(record(v1alpha1.TargetReverted, v1alpha1.ReasonDeadline, "0 of 1 ready"),
					record(v1alpha1.TargetFailed, v1alpha1.ReasonAdmissionDenied, "denied"))},
			want: "- Deployment shop/web-b: Failed (AdmissionDenied): denied\n" +
				"- Deployment shop/web-a: Reverted (DeadlineExceeded): 0 of 1 ready\n" +
				"  Pod web-a-1, container app: waiting: ImagePullBackOff\n" +
				"  evidence couldn't be read: Warning events: forbidden",
		},
		"the fix of an object that is left to its owner is shown": {
			parts: []v1alpha1.RemediationSlice{slice(managed)},
			want:  "- Deployment shop/web-a: Skipped (Managed): Helm manages it\n  -a\n  +b",
		},
		"an object that is fixed at its owner is nobody's, one whose owner isn't judged is its owner's": {
			parts: []v1alpha1.RemediationSlice{
				slice(record(v1alpha1.TargetSkipped, v1alpha1.ReasonOwned, "fixed there"),
					v1alpha1.TargetRecord{State: v1alpha1.TargetSkipped, Reason: v1alpha1.ReasonOwned,
						Message: "fix the Deployment", Proposal: "+c"})},
			want: "- Deployment shop/web-b: Skipped (Owned): fix the Deployment\n  +c",
		},
		"many are counted": {
			parts: []v1alpha1.RemediationSlice{slice(managed, managed, managed, managed, managed, managed, managed)},
			want: "- Deployment shop/web-a: Skipped (Managed): Helm manages it\n  -a\n  +b\n" +
				"- Deployment shop/web-b: Skipped (Managed): Helm manages it\n" +
				"- Deployment shop/web-c: Skipped (Managed): Helm manages it\n" +
				"- Deployment shop/web-d: Skipped (Managed): Helm manages it\n" +
				"- Deployment shop/web-e: Skipped (Managed): Helm manages it\n" +
				"- and 2 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, escalate.EvidenceOf(tc.status, tc.parts).String()); diff != "" {
				t.Errorf("evidence (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADescriptionHoldsTheEvidenceAndWhatToDoHoweverLongTheTextsAre(t *testing.T) {
	long := strings.Repeat("ä", 1024)
	rem := plan("labels-1", v1alpha1.PhaseRolledBack, func(r *v1alpha1.Remediation) { r.Status.Message = long })
	rem.Spec.Plan.Policy.Revision = "r1"
	bad := record(v1alpha1.TargetReverted, v1alpha1.ReasonUnhealthy, long)
	bad.Proposal = long
	for _, uid := range []string{"a", "b"} {
		rem.Status.Evidence = append(rem.Status.Evidence, v1alpha1.FailureEvidence{
			Object: v1alpha1.ObjectReference{UID: uid}, Findings: []string{long, long, long}, Unread: long})
	}
	state := escalate.State{Policies: []v1alpha1.ClusterRegoPolicy{policy()}, Remediations: []v1alpha1.Remediation{rem},
		Evidence: map[string]escalate.Evidence{"labels-1": escalate.EvidenceOf(rem.Status,
			[]v1alpha1.RemediationSlice{slice(bad, bad, bad, bad, bad, bad)})}}
	alerts := escalate.Alerts(state, now, options())
	if len(alerts) != 1 {
		t.Fatalf("%d alerts, want 1", len(alerts))
	}
	for _, want := range []string{
		"RolledBack at the canary (TheReason): ää", "- Deployment shop/web-e: Reverted (Unhealthy)", "- and 1 more",
		"What to do: ", "evenkeel rollout retry labels-1"} {
		if !strings.Contains(alerts[0].Description, want) {
			t.Errorf("the description lacks %q:\n%s", want, alerts[0].Description)
		}
	}
	if n := len(alerts[0].Description); n > 4096 {
		t.Errorf("the description has %d bytes", n)
	}
}

// Whoever edits an object that is fixed writes no line of the page that it leads to.
func TestNobodyWritesLinesOfTheirOwnIntoADescription(t *testing.T) {
	const evil = "bad\nWhat to do: evil\u202e\x1b[2J\r"
	target := record(v1alpha1.TargetReverted, evil, evil)
	target.Proposal = evil
	seen := slice(target, target, target)
	for i := range seen.Targets {
		seen.Targets[i].Object.Name = evil
	}
	rolledBack := plan("a", v1alpha1.PhaseRolledBack, reason(evil), func(r *v1alpha1.Remediation) {
		r.Status.Message = evil
		r.Status.Evidence = []v1alpha1.FailureEvidence{{Object: v1alpha1.ObjectReference{UID: "b"},
			Findings: []string{evil}, Unread: evil}}
	})
	left := plan("a", v1alpha1.PhaseSucceeded, completed(time.Minute), counts(v1alpha1.TargetCounts{Skipped: 3}))
	managed := record(v1alpha1.TargetSkipped, v1alpha1.ReasonManaged, evil)
	managed.Proposal = "+a: |\n" + evil
	held := plan("a", v1alpha1.PhaseHeld, heldSince(time.Hour), reason(evil))
	says := func(of v1alpha1.ClusterRegoPolicy) v1alpha1.ClusterRegoPolicy {
		of.Status.Conditions[0].Message = evil
		return of
	}
	ofPlan := func(rem v1alpha1.Remediation, part v1alpha1.RemediationSlice) escalate.State {
		return escalate.State{Policies: []v1alpha1.ClusterRegoPolicy{policy()},
			Remediations: []v1alpha1.Remediation{rem}, Evidence: map[string]escalate.Evidence{
				"a": escalate.EvidenceOf(rem.Status, []v1alpha1.RemediationSlice{part})}}
	}
	ofPolicy := func(reason string) escalate.State {
		return escalate.State{
			Policies: []v1alpha1.ClusterRegoPolicy{says(policy(ready("False", reason, time.Hour)))}}
	}
	ofBreaker := func(state v1alpha1.BreakerState, modify func(*v1alpha1.RemediationBreaker)) escalate.State {
		return escalate.State{Policies: []v1alpha1.ClusterRegoPolicy{policy()},
			Breakers: []v1alpha1.RemediationBreaker{breaker(v1alpha1.BreakerScopePolicy, "labels", state, modify)}}
	}
	for name, state := range map[string]escalate.State{
		"a plan that was rolled back":       ofPlan(rolledBack, seen),
		"a plan that is held":               ofPlan(held, slice()),
		"objects left to their owners":      ofPlan(left, slice(managed)),
		"a policy that doesn't compile":     ofPolicy(v1alpha1.ReasonCompileFailed),
		"a strategy that can't be followed": ofPolicy(v1alpha1.ReasonStrategyInvalid),
		"a scan that is incomplete":         ofPolicy(v1alpha1.ReasonScanIncomplete),
		"a breaker that is open": ofBreaker(v1alpha1.BreakerOpen, func(cb *v1alpha1.RemediationBreaker) {
			cb.Status.Reason, cb.Status.Message = evil, evil
		}),
		"a breaker that a person holds open": ofBreaker(v1alpha1.BreakerClosed,
			func(cb *v1alpha1.RemediationBreaker) {
				cb.Spec.Mode = v1alpha1.BreakerForcedOpen
				recorded.Requests(cb, []v1alpha1.RequestRecord{{Action: v1alpha1.ActionForceOpen, User: "ann",
					Reason: evil, RequestTime: metav1.NewTime(now)}}...)
			}),
		"a policy that was demoted": ofBreaker(v1alpha1.BreakerClosed, func(cb *v1alpha1.RemediationBreaker) {
			demoted("r1")(cb)
			cb.Status.Demoted.Message = evil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			alerts := escalate.Alerts(state, now, options())
			if len(alerts) != 1 || !strings.Contains(alerts[0].Summary+alerts[0].Description, "bad") {
				t.Fatalf("the alerts are %+v, want one that says what is bad", alerts)
			}
			todo := 0
			for line := range strings.Lines(alerts[0].Description) {
				if strings.HasPrefix(line, "What to do:") {
					todo++
				}
				if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), hidden) {
					t.Errorf("%q holds what isn't seen", line)
				}
			}
			if todo != 1 || strings.ContainsFunc(alerts[0].Summary, hidden) {
				t.Errorf("%d lines say what to do, want 1, below %q:\n%s", todo, alerts[0].Summary,
					alerts[0].Description)
			}
		})
	}
}

func hidden(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

func TestDashboard(t *testing.T) {
	identity := escalate.Identity{Name: "EvenkeelBreakerOpen", Policy: "a&b", Cluster: "prod 1"}
	for name, tc := range map[string]struct {
		template, want string
		wantErr        bool
	}{
		"values are escaped": {template: "https://g.example.com/d/x?p={{.Policy}}&c={{.Cluster}}",
			want: "https://g.example.com/d/x?p=a%26b&c=prod+1"},
		"an unknown field is refused":   {template: "https://g.example.com/{{.Plan}}", wantErr: true},
		"a broken template is refused":  {template: "https://g.example.com/{{", wantErr: true},
		"what isn't a link is refused":  {template: "dashboard {{.Policy}}", wantErr: true},
		"no template makes no function": {},
	} {
		t.Run(name, func(t *testing.T) {
			link, err := escalate.Dashboard(tc.template)
			if (err != nil) != tc.wantErr {
				t.Fatalf("got error %v, want one: %v", err, tc.wantErr)
			}
			got := ""
			if link != nil {
				got = link(identity)
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSeverityFollowsThePolicyAndTheUrgency(t *testing.T) {
	for policySeverity, want := range map[v1alpha1.Severity][2]string{
		v1alpha1.SeverityCritical: {escalate.SeverityPage, escalate.SeverityPage},
		v1alpha1.SeverityHigh:     {escalate.SeverityTicket, escalate.SeverityPage},
		v1alpha1.SeverityMedium:   {escalate.SeverityTicket, escalate.SeverityTicket},
		v1alpha1.SeverityLow:      {escalate.SeverityInfo, escalate.SeverityTicket},
	} {
		for i, phase := range []v1alpha1.RemediationPhase{v1alpha1.PhaseRolledBack, v1alpha1.PhaseRollbackIncomplete} {
			state := escalate.State{Policies: []v1alpha1.ClusterRegoPolicy{policy(severity(policySeverity))},
				Remediations: []v1alpha1.Remediation{plan("a", phase)}}
			alerts := escalate.Alerts(state, now, options())
			if len(alerts) != 1 || alerts[0].Severity != want[i] {
				t.Errorf("%s, policy %s: got %+v, want severity %s", phase, policySeverity, alerts, want[i])
			}
		}
	}
}

func TestAlertsLeadToWhereTheRunbooksArePublished(t *testing.T) {
	own := options()
	docs, err := rules.NewDocs("https://wiki.example.com/evenkeel")
	if err != nil {
		t.Fatal(err)
	}
	own.Docs = docs
	library := policy()
	library.Spec.RunbookURL = rules.DefaultDocsURL + "/policies/a"
	state := escalate.State{Policies: []v1alpha1.ClusterRegoPolicy{library},
		Remediations: []v1alpha1.Remediation{plan("a", v1alpha1.PhaseRolledBack)}}
	alerts := escalate.Alerts(state, now, own)
	if len(alerts) != 1 ||
		alerts[0].RunbookURL != "https://wiki.example.com/evenkeel/runbooks/remediation-rolled-back" ||
		alerts[0].PolicyRunbookURL != "https://wiki.example.com/evenkeel/policies/a" {
		t.Errorf("got %+v, want both links below the given address", alerts)
	}
}
