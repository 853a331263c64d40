// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/recorded"
)

// planMade is when the plan of these tests was made.
var planMade = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const manualPlan = "p-12345678"

// manualOf is a plan in mode Manual, of a policy that ann has written.
func manualOf(change ...func(*v1alpha1.Remediation)) *v1alpha1.Remediation {
	rem := &v1alpha1.Remediation{
		ObjectMeta: metav1.ObjectMeta{Name: manualPlan, UID: "plan", CreationTimestamp: metav1.NewTime(planMade)},
		Spec: v1alpha1.RemediationSpec{
			Plan: v1alpha1.RemediationPlan{
				Hash: "hash", Targets: 7, Policy: v1alpha1.PlannedPolicy{
					Name: "p", UID: "policy", Author: "ann", Owner: "platform"},
				Rollout: fixture.Planned(v1alpha1.RemediationManual)}}}
	for _, c := range change {
		c(rem)
	}
	return rem
}

func writtenByAnn() *v1alpha1.ClusterRegoPolicy {
	return &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", UID: "policy", Annotations: map[string]string{v1alpha1.AnnotationAuthor: "ann"}}}
}

// by has a user answer the plan, so many seconds after it was made, as admission records it.
func by(user string, decision v1alpha1.ApprovalDecision, after int) func(*v1alpha1.Remediation) {
	return func(rem *v1alpha1.Remediation) {
		rem.Spec.Approval = &v1alpha1.PlanApproval{Decision: decision, Comment: "as " + user + " says"}
		recorded.Requests(rem, v1alpha1.RequestRecord{User: user, Action: v1alpha1.RequestAction(decision),
			RequestTime: metav1.NewTime(planMade.Add(time.Duration(after) * time.Second)),
			Reason:      rem.Spec.Approval.Comment})
	}
}

func distinct(rem *v1alpha1.Remediation) {
	rem.Spec.Plan.Rollout.RequireDistinctApprover = true
}

// known is what a plan does, once that is known.
func known() *preview.Proposal { return &preview.Proposal{Digest: "sha256:shown", Known: 7, All: 7} }

// answerTo is what a plan makes of its answer.
func answerTo(rem *v1alpha1.Remediation, proposal *preview.Proposal, now time.Time) rollout.Approval {
	var refused canary.Refusal
	if rem.Spec.Approval != nil && rem.Status.Approval == nil {
		refused = take(rem, proposal, canary.Asked{Policy: writtenByAnn()}, canary.Approvers{})
	}
	return approvalOf(rem, refused, proposal, "", canary.Approvers{}, now)
}

func TestApproval(t *testing.T) {
	yes, no := v1alpha1.DecisionApprove, v1alpha1.DecisionReject
	wants := func(d v1alpha1.ApprovalDecision, message string) rollout.Approval {
		return rollout.Approval{Needed: true, Decision: d, Message: message}
	}
	waits := rollout.Approval{Needed: true}
	refused := rollout.Approval{Needed: true, Refused: v1alpha1.ReasonApproverRefused}
	type plan = func(*v1alpha1.Remediation)
	cases := map[string]struct {
		reason string
		plan   []plan
		after  time.Duration
		want   rollout.Approval
		says   string // of a plan that nobody's answer counts for
		taken  string
	}{
		"without an answer the plan waits": {want: waits, says: "evenkeel rollout approve " + manualPlan},
		"a yes lets it go on": {plan: []plan{by("bob", yes, 1)},
			want: wants(yes, "approved by bob: as bob says"), taken: "bob"},
		"a no ends it": {plan: []plan{by("bob", no, 1)},
			want: wants(no, "rejected by bob: as bob says"), taken: "bob"},
		"an author's yes that slipped past admission doesn't count": {plan: []plan{distinct, by("ann", yes, 1)},
			want: refused, says: "the answer doesn't count: ann has written policy p"},
		"an author's no does": {plan: []plan{distinct, by("ann", no, 1)},
			want: wants(no, "rejected by ann: as ann says"), taken: "ann"},
		"a yes that admission didn't see doesn't count": {
			plan: []plan{by("bob", yes, 1), func(rem *v1alpha1.Remediation) { rem.Annotations = nil }},
			want: refused, says: "admission hasn't recorded who answered. It can't be changed; to have the policy " +
				"planned again: evenkeel rollout abort p-12345678, then evenkeel rollout retry p-12345678"},
		"a yes whose record can't be read doesn't count": {
			plan: []plan{by("bob", yes, 1), func(rem *v1alpha1.Remediation) {
				rem.Annotations[v1alpha1.AnnotationRequests] += "\nbob said so"
			}},
			want: refused, says: "admission hasn't recorded who answered"},
		"the record of a no doesn't make a yes": {
			plan: []plan{by("bob", no, 1), func(rem *v1alpha1.Remediation) { rem.Spec.Approval.Decision = yes }},
			want: refused, says: "admission hasn't recorded who answered"},
		"an answer that was taken stays, whatever comes or goes": {
			plan: []plan{by("cid", no, 1), func(rem *v1alpha1.Remediation) {
				rem.Status.Approval = &v1alpha1.ApprovalRecord{Decision: yes, Approver: "bob"}
			}},
			want: wants(yes, "approved by bob"), taken: "bob"},
		"at the timeout nobody is late yet": {
			after: v1alpha1.DefaultApprovalTimeout, want: waits, says: "evenkeel rollout approve " + manualPlan},
		"after it the plan is overdue": {after: v1alpha1.DefaultApprovalTimeout + time.Second,
			want: rollout.Approval{Needed: true, Overdue: true}, says: "nobody has answered within"},
		"the policy says when": {after: 2 * time.Second, want: rollout.Approval{Needed: true, Overdue: true},
			plan: []plan{func(rem *v1alpha1.Remediation) {
				rem.Spec.Plan.Rollout.ApprovalTimeout = metav1.Duration{Duration: time.Second}
			}}, says: "nobody has answered within 1s"},
		"a late answer counts": {after: 48 * time.Hour, plan: []plan{by("bob", yes, 47*3600)},
			want: wants(yes, "approved by bob: as bob says"), taken: "bob"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem := manualOf(tc.plan...)
			got := answerTo(rem, known(), planMade.Add(tc.after))
			if tc.want.Decision == "" {
				if !strings.Contains(got.Message, tc.says) {
					t.Errorf("%s: it doesn't say %q: %s", tc.reason, tc.says, got.Message)
				}
				tc.want.Message = got.Message
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
			taken := ""
			if r := rem.Status.Approval; r != nil {
				taken = r.Approver
			}
			if taken != tc.taken {
				t.Errorf("taken is %q, want %q", taken, tc.taken)
			}
		})
	}
}

func TestAPlanInAnotherModeNeedsNoAnswer(t *testing.T) {
	rem := manualOf(func(rem *v1alpha1.Remediation) { rem.Spec.Plan.Rollout.Mode = v1alpha1.RemediationAutomatic })
	// Nothing is read: there is nobody to read from.
	if got, err := (&Reader{}).Read(t.Context(), rem, nil, ""); err != nil || got != (rollout.Approval{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTheRequestHoldsAnAnswerThatCanBeSent(t *testing.T) {
	text := request(manualOf(distinct), 0, known(), canary.Approvers{})
	begins := "7 targets of policy p (owner platform) wait for a person, who hasn't written the policy, to answer: "
	if !strings.HasPrefix(text, begins) {
		t.Errorf("%s\nwant the beginning %s", text, begins)
	}
	_, body, found := strings.Cut(text, "kubectl patch remediation "+manualPlan+" --type=merge -p '")
	var got v1alpha1.Remediation
	if err := json.Unmarshal([]byte(strings.TrimSuffix(body, "'")), &got); err != nil || !found {
		t.Fatalf("%s: %v", text, err)
	}
	want := &v1alpha1.PlanApproval{Decision: v1alpha1.DecisionApprove, ProposalDigest: "sha256:shown"}
	if diff := cmp.Diff(want, got.Spec.Approval); diff != "" || got.UID != "plan" {
		t.Errorf("%s (-want +got)\n%s", body, diff)
	}
}

func TestTheRequestSaysWhoMayNotAnswer(t *testing.T) {
	cases := map[string]struct {
		authors []string
		by      canary.Approvers
		want    string
	}{
		"anybody may where nothing is asked for": {authors: []string{"ann"}, want: "wait for a person to answer"},
		"no author may where the administrator asks": {authors: []string{"ann"}, by: canary.Approvers{Distinct: true},
			want: "a person, who hasn't written the policy (as ann has), to answer"},
		"all of them are named": {
			authors: []string{"ann", "bob"}, by: canary.Approvers{Distinct: true}, want: "(as ann, bob have)"},
		"of many the first are": {
			authors: strings.Split("abcdefghij", ""), by: canary.Approvers{Distinct: true},
			want: "(as a, b, c, d, e, f, g, h and 2 more have)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if text := request(manualOf(func(rem *v1alpha1.Remediation) {
				rem.Spec.Plan.Policy.Authors = tc.authors
			}), 0, &preview.Proposal{}, tc.by); !strings.Contains(text, tc.want) {
				t.Errorf("want %q in %s", tc.want, text)
			}
		})
	}
}

// TestTheRequestNamesTheAuthorsOfTheStrategy: their answer counts as little as that of the
// policy's.
func TestTheRequestNamesTheAuthorsOfTheStrategy(t *testing.T) {
	cases := map[string]struct {
		policy, strategy []string
		want             string
	}{
		"each of them is named": {policy: []string{"bob"}, strategy: []string{"ann"},
			want: "(as ann, bob have)"},
		"who wrote both once": {policy: []string{"ann", "bob"}, strategy: []string{"bob", "cid"},
			want: "(as ann, bob, cid have)"},
		"nobody is where none is known": {
			want: "a person, who hasn't written the policy, its template or its strategy, to answer"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem := manualOf(distinct, func(rem *v1alpha1.Remediation) {
				rem.Spec.Plan.Policy.Authors = tc.policy
				rem.Spec.Plan.StrategyRef = &v1alpha1.PlannedStrategy{Name: "careful", UID: "one", Authors: tc.strategy}
			})
			text := request(rem, 0, &preview.Proposal{}, canary.Approvers{})
			if !strings.Contains(text, "who hasn't written the policy, its template or its strategy") ||
				!strings.Contains(text, tc.want) {
				t.Errorf("want %q in %s", tc.want, text)
			}
		})
	}
}

func TestAYesIsToTheChangesThatWereShown(t *testing.T) {
	const shown, other = "sha256:shown", "sha256:other"
	type plan = func(*v1alpha1.Remediation)
	to := func(decision v1alpha1.ApprovalDecision, digest string) plan {
		return func(rem *v1alpha1.Remediation) {
			by("bob", decision, 1)(rem)
			rem.Spec.Approval.ProposalDigest = digest
		}
	}
	yes, no := v1alpha1.DecisionApprove, v1alpha1.DecisionReject
	yet := &preview.Proposal{Known: 6, All: 7}
	cases := map[string]struct {
		reason   string
		answer   plan
		proposal *preview.Proposal
		taken    bool
		refused  string
		says     string
	}{
		"a yes to what was shown": {answer: to(yes, shown), proposal: known(), taken: true},
		"a yes to something else": {answer: to(yes, other), proposal: known(),
			refused: v1alpha1.ReasonProposalMismatch, says: "isn't the digest of the plan's changes"},
		"a yes that names nothing": {reason: "the field is optional: it is to the plan", answer: to(yes, ""),
			proposal: known(), taken: true},
		"a yes before it is known": {reason: "it counts later", answer: to(yes, ""), proposal: yet,
			says: "approved by bob: as bob says. No approval counts before the changes are known: computed for 6 of"},
		"a yes to a digest before any is known": {reason: "it may be the one", answer: to(yes, other), proposal: yet,
			says: "No approval counts before the changes are known"},
		"a no before it is known": {answer: to(no, ""), proposal: yet, taken: true},
		"a no to something else": {reason: "no change is wanted", answer: to(no, other), proposal: known(),
			taken: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem := manualOf(tc.answer)
			got := answerTo(rem, tc.proposal, planMade)
			if (rem.Status.Approval != nil) != tc.taken || got.Refused != tc.refused || got.Overdue ||
				!strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: taken %+v, %+v", tc.reason, rem.Status.Approval, got)
			}
		})
	}
}

func TestThePlanSaysWhyNobodyCanApproveItYet(t *testing.T) {
	for name, tc := range map[string]struct {
		proposal preview.Proposal
		waits    string
		want     string
	}{
		"all is known": {proposal: preview.Proposal{Digest: "sha256:x", Known: 7, All: 7},
			want: `"proposalDigest":"sha256:x"`},
		"some of it isn't": {proposal: preview.Proposal{Known: 6, All: 7}, want: "computed for 6 of 7 targets"},
		"permissions are lacking": {proposal: preview.Proposal{All: 7}, waits: "add this rule",
			want: "they can't be computed: add this rule"},
	} {
		got := approvalOf(manualOf(), canary.Refusal{}, &tc.proposal, tc.waits, canary.Approvers{}, planMade).Message
		if !strings.Contains(got, tc.want) ||
			strings.Contains(got, "No approval counts") != (tc.proposal.Digest == "") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// afterCanary is a plan whose canary is done, and whose second wave awaits its approval. bob has approved the first
// where it is in mode Manual.
func afterCanary(mode v1alpha1.RemediationMode) *v1alpha1.Remediation {
	rem := manualOf()
	plan := &rem.Spec.Plan
	plan.Rollout.Mode, plan.Waves = mode, fixture.PlannedWaves(1, 2, 4)
	plan.Waves[0].Approval = v1alpha1.ApprovalRequired
	asked := metav1.NewMicroTime(planMade.Add(time.Hour))
	rem.Status.Wave, rem.Status.HeldTime, rem.Status.Counts = 1, &asked, v1alpha1.TargetCounts{Done: 1, Pending: 6}
	if mode == v1alpha1.RemediationManual {
		by("bob", v1alpha1.DecisionApprove, 1)(rem)
		rem.Status.ProposalDigest = "sha256:shown"
		rem.Status.Approval = &v1alpha1.ApprovalRecord{Decision: v1alpha1.DecisionApprove, Approver: "bob"}
	}
	return rem
}

func TestAStepIsApprovedByAnAnswerOfItsOwn(t *testing.T) {
	to := func(wave int32, decision v1alpha1.ApprovalDecision, digest string) func(*v1alpha1.Remediation) {
		return func(rem *v1alpha1.Remediation) {
			rem.Spec.Approval = &v1alpha1.PlanApproval{Decision: decision, Wave: wave, ProposalDigest: digest}
			recorded.Requests(rem, v1alpha1.RequestRecord{User: "cid", Action: v1alpha1.RequestAction(decision),
				RequestTime: metav1.NewTime(planMade.Add(2 * time.Hour)), Token: rem.Spec.Approval.Token()})
		}
	}
	yes, no := v1alpha1.DecisionApprove, v1alpha1.DecisionReject
	nothing := func(*v1alpha1.Remediation) {}
	auto, manual := v1alpha1.RemediationAutomatic, v1alpha1.RemediationManual
	for name, tc := range map[string]struct {
		mode    v1alpha1.RemediationMode
		answer  func(*v1alpha1.Remediation)
		after   time.Duration
		want    v1alpha1.ApprovalDecision
		refused string
		overdue bool
		says    string
	}{
		"it waits in mode Automatic": {mode: auto, answer: nothing,
			says: "1 wave of 3 fixed and soaked, 1 target fixed; 6 targets of policy p"},
		"the answer to give names the wave": {mode: auto, answer: nothing,
			says: `"approval":{"decision":"Approve","wave":1}`},
		"the yes before the first wave is no answer": {mode: manual, answer: nothing, says: "6 targets of policy p"},
		"a yes": {mode: auto, answer: to(1, yes, ""), want: yes, says: "approved by cid"},
		"a yes in mode Manual": {mode: manual, answer: to(1, yes, "sha256:shown"), want: yes,
			says: "approved by cid"},
		"a no":                      {mode: manual, answer: to(1, no, ""), want: no, says: "rejected by cid"},
		"an answer to a later wave": {mode: auto, answer: to(2, yes, ""), says: "6 targets of policy p"},
		"a yes to other changes": {mode: manual, answer: to(1, yes, "sha256:other"),
			refused: v1alpha1.ReasonProposalMismatch, says: "isn't the digest"},
		"a digest where there is none": {mode: auto, answer: to(1, yes, "sha256:other"),
			refused: v1alpha1.ReasonProposalMismatch, says: "leave it out"},
		"an answer that admission didn't record isn't that of the first wave": {mode: manual,
			answer:  func(rem *v1alpha1.Remediation) { rem.Spec.Approval.Wave = 1 },
			refused: v1alpha1.ReasonApproverRefused, says: "admission hasn't recorded who answered"},
		"the time counts from when the step was done": {mode: auto, answer: nothing,
			after: time.Hour + v1alpha1.DefaultApprovalTimeout, says: "6 targets"},
		"after it the step is overdue": {mode: auto, answer: nothing, overdue: true,
			after: time.Hour + v1alpha1.DefaultApprovalTimeout + time.Second, says: "nobody has answered within"},
	} {
		t.Run(name, func(t *testing.T) {
			rem := afterCanary(tc.mode)
			tc.answer(rem)
			var refused canary.Refusal
			if answers(rem, 1) {
				refused = take(rem, nil, canary.Asked{Policy: writtenByAnn()}, canary.Approvers{})
			}
			got := approvalOf(rem, refused, nil, "", canary.Approvers{}, planMade.Add(tc.after))
			if !got.Needed || got.Decision != tc.want || got.Refused != tc.refused || got.Overdue != tc.overdue ||
				!strings.Contains(got.Message, tc.says) {
				t.Errorf("got %+v", got)
			}
			if taken := rem.Status.Approval; tc.want != "" && (taken.Wave != 1 || taken.Approver != "cid") {
				t.Errorf("taken %+v", taken)
			}
		})
	}
}
