// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/rollout"
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
				Strategy: v1alpha1.RolloutStrategy{Mode: v1alpha1.RemediationManual}}}}
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

// answerOf is a user's answer to the plan, so many seconds after it was made.
func answerOf(user string, decision v1alpha1.ApprovalDecision, after int,
	change ...func(*v1alpha1.RemediationApproval)) *v1alpha1.RemediationApproval {
	a := &v1alpha1.RemediationApproval{
		ObjectMeta: metav1.ObjectMeta{Name: user, UID: types.UID(fmt.Sprintf("%s-%d", user, after)),
			CreationTimestamp: metav1.NewTime(planMade.Add(time.Duration(after) * time.Second))},
		Spec: v1alpha1.RemediationApprovalSpec{
			RemediationRef: v1alpha1.BoundReference{Name: manualPlan, UID: "plan"}, Policy: "p", Decision: decision,
			Approver: user, Comment: "as " + user + " says"}}
	for _, c := range change {
		c(a)
	}
	return a
}

func distinct(rem *v1alpha1.Remediation) {
	rem.Spec.Plan.Strategy.Approval.RequireDistinctApprover = true
}

// approvedBy is what a plan hears of its answers.
func approvedBy(rem *v1alpha1.Remediation, answers []*v1alpha1.RemediationApproval, now time.Time) rollout.Approval {
	var all []v1alpha1.RemediationApproval
	for _, a := range answers {
		all = append(all, *a)
	}
	if rem.Status.Approval == nil {
		rem.Status.Approval = firstThatCounts(answersTo(rem, all), rem, &preview.Proposal{},
			canary.Asked{Policy: writtenByAnn()}, canary.Approvers{})
	}
	return approvalOf(rem, &preview.Proposal{}, "", canary.Approvers{}, now)
}

func TestApproval(t *testing.T) {
	older := func(a *v1alpha1.RemediationApproval) { a.Spec.RemediationRef.UID = "older" }
	otherPlan := func(a *v1alpha1.RemediationApproval) { a.Spec.RemediationRef.Name = "p-other" }
	yes, no := v1alpha1.DecisionApprove, v1alpha1.DecisionReject
	wants := func(d v1alpha1.ApprovalDecision, message string) rollout.Approval {
		return rollout.Approval{Needed: true, Decision: d, Message: message}
	}
	cases := map[string]struct {
		reason  string
		plan    *v1alpha1.Remediation
		answers []*v1alpha1.RemediationApproval
		after   time.Duration
		want    rollout.Approval // Message is compared when there is a decision
		taken   string
	}{
		"without an answer the plan waits": {want: rollout.Approval{Needed: true}},
		"an answer to another plan isn't one to this": {
			answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 1, otherPlan)},
			want:    rollout.Approval{Needed: true}},
		"an answer to an older plan of the name isn't one": {
			answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 1, older)},
			want:    rollout.Approval{Needed: true}},
		"a yes lets it go on": {answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 1)},
			want: wants(yes, "approved by bob: as bob says"), taken: "bob"},
		"a no ends it": {answers: []*v1alpha1.RemediationApproval{answerOf("bob", no, 1)},
			want: wants(no, "rejected by bob: as bob says"), taken: "bob"},
		"of two answers the older counts": {
			answers: []*v1alpha1.RemediationApproval{answerOf("bob", no, 2), answerOf("cid", yes, 1)},
			want:    wants(yes, "approved by cid: as cid says"), taken: "cid"},
		"of two answers within a second the no counts": {reason: "the API keeps whole seconds, and a no does no harm",
			answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 1), answerOf("cid", no, 1)},
			want:    wants(no, "rejected by cid: as cid says"), taken: "cid"},
		"an author's yes that slipped past admission doesn't count": {plan: manualOf(distinct),
			answers: []*v1alpha1.RemediationApproval{answerOf("ann", yes, 1)}, want: rollout.Approval{Needed: true}},
		"another's later yes counts then": {plan: manualOf(distinct),
			answers: []*v1alpha1.RemediationApproval{answerOf("ann", yes, 1), answerOf("bob", yes, 2)},
			want:    wants(yes, "approved by bob: as bob says"), taken: "bob"},
		"a nameless yes doesn't count": {
			answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 1, func(a *v1alpha1.RemediationApproval) {
				a.Spec.Approver = ""
			})},
			want: rollout.Approval{Needed: true}},
		"an answer that was taken back in time doesn't count": {
			answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 1, func(a *v1alpha1.RemediationApproval) {
				a.DeletionTimestamp, a.Finalizers = &metav1.Time{Time: planMade}, []string{"test/kept"}
			})}, want: rollout.Approval{Needed: true}},
		"an answer that was taken stays, whatever comes or goes": {
			reason: "the RemediationApproval may be deleted, and another be made",
			plan: manualOf(func(rem *v1alpha1.Remediation) {
				rem.Status.Approval = &v1alpha1.ApprovalRecord{ApprovalRef: v1alpha1.BoundReference{Name: "gone"},
					Decision: yes, Approver: "bob"}
			}),
			answers: []*v1alpha1.RemediationApproval{answerOf("cid", no, 1)}, want: wants(yes, "approved by bob"),
			taken: "gone"},
		"at the timeout nobody is late yet": {
			after: v1alpha1.DefaultApprovalTimeout, want: rollout.Approval{Needed: true}},
		"after it the plan is overdue": {after: v1alpha1.DefaultApprovalTimeout + time.Second,
			want: rollout.Approval{Needed: true, Overdue: true}},
		"the policy says when": {after: 2 * time.Second, want: rollout.Approval{Needed: true, Overdue: true},
			plan: manualOf(func(rem *v1alpha1.Remediation) {
				rem.Spec.Plan.Strategy.Approval.Timeout = metav1.Duration{Duration: time.Second}
			})},
		"a late answer counts": {after: 48 * time.Hour,
			answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 47*3600)},
			want:    wants(yes, "approved by bob: as bob says"), taken: "bob"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.plan == nil {
				tc.plan = manualOf()
			}
			got := approvedBy(tc.plan, tc.answers, planMade.Add(tc.after))
			if tc.want.Needed && tc.want.Decision == "" {
				how := "evenkeel rollout approve " + manualPlan
				if !strings.Contains(got.Message, how) ||
					strings.HasPrefix(got.Message, "nobody has answered within") != tc.want.Overdue {
					t.Errorf("the message doesn't say how to answer: %s", got.Message)
				}
				tc.want.Message = got.Message
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
			taken := ""
			if r := tc.plan.Status.Approval; r != nil {
				taken = r.ApprovalRef.Name
			}
			if taken != tc.taken {
				t.Errorf("taken is %q, want %q", taken, tc.taken)
			}
		})
	}
}

func TestAPlanInAnotherModeNeedsNoAnswer(t *testing.T) {
	rem := manualOf(func(rem *v1alpha1.Remediation) { rem.Spec.Plan.Strategy.Mode = v1alpha1.RemediationAutomatic })
	// Nothing is read: there is nobody to read from.
	if got, err := (&Reader{}).Read(t.Context(), rem, nil, ""); err != nil || got != (rollout.Approval{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTheRequestHoldsAnAnswerThatCanBeSent(t *testing.T) {
	text := request(manualOf(distinct), &preview.Proposal{}, canary.Approvers{})
	begins := "7 targets of policy p (owner platform) wait for a person, who hasn't written the policy, to answer: "
	if !strings.HasPrefix(text, begins) {
		t.Errorf("%s\nwant the beginning %s", text, begins)
	}
	_, rest, _ := strings.Cut(text, "echo '")
	body, _, found := strings.Cut(rest, "' | kubectl create -f -")
	var a v1alpha1.RemediationApproval
	if err := json.Unmarshal([]byte(body), &a); err != nil || !found {
		t.Fatalf("%s: %v", text, err)
	}
	want := v1alpha1.RemediationApprovalSpec{RemediationRef: v1alpha1.BoundReference{Name: manualPlan, UID: "plan"},
		Policy: "p", Decision: v1alpha1.DecisionApprove}
	if diff := cmp.Diff(want, a.Spec); diff != "" || a.GenerateName != manualPlan+"-" ||
		a.Kind != "RemediationApproval" {
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
			}), &preview.Proposal{}, tc.by); !strings.Contains(text, tc.want) {
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
			text := request(rem, &preview.Proposal{}, canary.Approvers{})
			if !strings.Contains(text, "who hasn't written the policy, its template or its strategy") ||
				!strings.Contains(text, tc.want) {
				t.Errorf("want %q in %s", tc.want, text)
			}
		})
	}
}

func TestAnswersAreTold(t *testing.T) {
	taken := func(name string, after int) func(*v1alpha1.Remediation) {
		return func(rem *v1alpha1.Remediation) {
			rem.Status.Approval = &v1alpha1.ApprovalRecord{
				ApprovalRef: v1alpha1.BoundReference{Name: name, UID: fmt.Sprintf("%s-%d", name, after)},
				Decision:    v1alpha1.DecisionApprove, Approver: name,
				DecisionTime: metav1.NewMicroTime(planMade.Add(time.Duration(after) * time.Second))}
		}
	}
	yes := v1alpha1.DecisionApprove
	cases := map[string]struct {
		plan   *v1alpha1.Remediation
		answer *v1alpha1.RemediationApproval
		ready  string // status and reason; empty while nothing is said
		owned  bool
		news   int
	}{
		"one that the plan acts by is Ready and announced": {
			plan: manualOf(taken("bob", 1)), answer: answerOf("bob", yes, 1),
			ready: "True InEffect", owned: true, news: 1},
		"one that isn't taken yet is left for the plan": {plan: manualOf(), answer: answerOf("bob", yes, 1),
			owned: true},
		"one that came too late isn't": {
			plan: manualOf(taken("cid", 1)), answer: answerOf("bob", yes, 2), ready: "False AlreadyAnswered",
			owned: true},
		"an author's isn't": {plan: manualOf(distinct), answer: answerOf("ann", yes, 1),
			ready: "False SelfApproval", owned: true},
		"one to another plan of the name isn't, and isn't this plan's": {plan: manualOf(),
			answer: answerOf("bob", yes, 1, func(a *v1alpha1.RemediationApproval) {
				a.Spec.RemediationRef.UID = "older"
			}), ready: "False PlanMismatch"},
		"one to no plan isn't": {answer: answerOf("bob", yes, 1), ready: "False PlanNotFound"},
		"one that took the name later isn't": {plan: manualOf(taken("bob", 1)), answer: answerOf("bob", yes, 2),
			ready: "False AlreadyAnswered", owned: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			said, news := "", 0
			for range 2 { // the second time nothing is new
				if refused, known := fate(tc.answer, tc.plan, canary.Asked{Policy: writtenByAnn()},
					canary.Approvers{}); known {
					if setStatus(tc.answer, tc.plan, refused, planMade) {
						news++
					}
				}
			}
			if ready := meta.FindStatusCondition(tc.answer.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
				said = fmt.Sprintf("%s %s", ready.Status, ready.Reason)
			}
			if said != tc.ready || news != tc.news {
				t.Errorf("Ready is %q, news %d times, want %q, %d times", said, news, tc.ready, tc.news)
			}
			if owned := tc.plan != nil && adoptable(tc.answer, tc.plan); owned != tc.owned {
				t.Errorf("the plan's own: %t, want %t", owned, tc.owned)
			}
		})
	}
}

func TestAYesIsToTheChangesThatWereShown(t *testing.T) {
	const shown, other = "sha256:shown", "sha256:other"
	to := func(digest string) func(*v1alpha1.RemediationApproval) {
		return func(a *v1alpha1.RemediationApproval) { a.Spec.ProposalDigest = digest }
	}
	known, yet := preview.Proposal{Digest: shown, Known: 7, All: 7}, preview.Proposal{Known: 6, All: 7}
	cases := map[string]struct {
		reason   string
		answer   *v1alpha1.RemediationApproval
		proposal preview.Proposal
		taken    bool
		refused  string
	}{
		"a yes to what was shown": {answer: answerOf("bob", v1alpha1.DecisionApprove, 1, to(shown)), proposal: known,
			taken: true},
		"a yes to something else": {answer: answerOf("bob", v1alpha1.DecisionApprove, 1, to(other)), proposal: known,
			refused: v1alpha1.ReasonProposalMismatch},
		"a yes that names nothing": {reason: "the field is optional: it is to the plan",
			answer: answerOf("bob", v1alpha1.DecisionApprove, 1), proposal: known, taken: true},
		"a yes before it is known": {reason: "it counts later", proposal: yet,
			answer: answerOf("bob", v1alpha1.DecisionApprove, 1)},
		"a yes to a digest before any is known": {reason: "it may be the one", proposal: yet,
			answer: answerOf("bob", v1alpha1.DecisionApprove, 1, to(other))},
		"a no before it is known": {answer: answerOf("bob", v1alpha1.DecisionReject, 1), proposal: yet, taken: true},
		"a no to something else": {reason: "no change is wanted", proposal: known, taken: true,
			answer: answerOf("bob", v1alpha1.DecisionReject, 1, to(other))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := firstThatCounts([]v1alpha1.RemediationApproval{*tc.answer}, manualOf(), &tc.proposal,
				canary.Asked{Policy: writtenByAnn()}, canary.Approvers{})
			if refused := refuseProposal(tc.answer, &tc.proposal); (got != nil) != tc.taken ||
				refused.Reason != tc.refused {
				t.Errorf("%s: taken %+v, refused %+v", tc.reason, got, refused)
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
		got := approvalOf(manualOf(), &tc.proposal, tc.waits, canary.Approvers{}, planMade).Message
		if !strings.Contains(got, tc.want) ||
			strings.Contains(got, "No approval counts") != (tc.proposal.Digest == "") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
