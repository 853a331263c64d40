package remediate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
)

// planMade is when the plan of these tests was made.
var planMade = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const manualPlan = "p-12345678"

// manualOf is a plan in mode Manual, of a policy that ann has written.
func manualOf(change ...func(*v1alpha1.Remediation)) *v1alpha1.Remediation {
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: manualPlan, UID: "plan", CreationTimestamp: metav1.NewTime(planMade)},
		Spec: v1alpha1.RemediationSpec{PlanHash: "hash", Targets: 7, Policy: v1alpha1.PlannedPolicy{Name: "p", UID: "policy", Author: "ann", Owner: "platform"},
			Strategy: v1alpha1.RemediationStrategy{Mode: v1alpha1.RemediationManual}}}
	for _, c := range change {
		c(rem)
	}
	return rem
}

func writtenByAnn() *v1alpha1.Policy {
	return &v1alpha1.Policy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "policy", Annotations: map[string]string{v1alpha1.AnnotationAuthor: "ann"}}}
}

// answerOf is a user's answer to the plan, so many seconds after it was made.
func answerOf(user string, decision v1alpha1.ApprovalDecision, after int, change ...func(*v1alpha1.RemediationApproval)) *v1alpha1.RemediationApproval {
	a := &v1alpha1.RemediationApproval{
		ObjectMeta: metav1.ObjectMeta{Name: user, CreationTimestamp: metav1.NewTime(planMade.Add(time.Duration(after) * time.Second))},
		Spec:       v1alpha1.RemediationApprovalSpec{Remediation: manualPlan, PlanHash: "hash", Decision: decision, Approver: user, Comment: "as " + user + " says"}}
	for _, c := range change {
		c(a)
	}
	return a
}

func distinct(rem *v1alpha1.Remediation) { rem.Spec.Strategy.Approval.RequireDistinctApprover = true }

func approvalClient(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.RemediationApproval{}, &v1alpha1.Remediation{}).Build()
}

func TestApproval(t *testing.T) {
	olderHash := func(a *v1alpha1.RemediationApproval) { a.Spec.PlanHash = "older" }
	otherPlan := func(a *v1alpha1.RemediationApproval) { a.Spec.Remediation = "p-other" }
	yes, no := v1alpha1.DecisionApprove, v1alpha1.DecisionReject
	wants := func(d v1alpha1.ApprovalDecision, message string) Approval {
		return Approval{Needed: true, Decision: d, Message: message}
	}
	cases := map[string]struct {
		reason  string
		plan    *v1alpha1.Remediation
		answers []*v1alpha1.RemediationApproval
		after   time.Duration
		want    Approval // Message is compared when there is a decision
		taken   string
	}{
		"a plan in another mode needs no answer": {plan: manualOf(func(rem *v1alpha1.Remediation) { rem.Spec.Strategy.Mode = v1alpha1.RemediationAutomatic }),
			answers: []*v1alpha1.RemediationApproval{answerOf("bob", no, 1)}},
		"without an answer the plan waits":                 {want: Approval{Needed: true}},
		"an answer to another plan isn't one to this":      {answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 1, otherPlan)}, want: Approval{Needed: true}},
		"an answer to an older plan of the name isn't one": {answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 1, olderHash)}, want: Approval{Needed: true}},
		"a yes lets it go on": {answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 1)},
			want: wants(yes, "approved by bob: as bob says"), taken: "bob"},
		"a no ends it": {answers: []*v1alpha1.RemediationApproval{answerOf("bob", no, 1)},
			want: wants(no, "rejected by bob: as bob says"), taken: "bob"},
		"of two answers the older counts": {answers: []*v1alpha1.RemediationApproval{answerOf("bob", no, 2), answerOf("cid", yes, 1)},
			want: wants(yes, "approved by cid: as cid says"), taken: "cid"},
		"of two answers within a second the no counts": {reason: "the API keeps whole seconds, and a no does no harm",
			answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 1), answerOf("cid", no, 1)},
			want:    wants(no, "rejected by cid: as cid says"), taken: "cid"},
		"an author's yes that slipped past admission doesn't count": {plan: manualOf(distinct),
			answers: []*v1alpha1.RemediationApproval{answerOf("ann", yes, 1)}, want: Approval{Needed: true}},
		"another's later yes counts then": {plan: manualOf(distinct),
			answers: []*v1alpha1.RemediationApproval{answerOf("ann", yes, 1), answerOf("bob", yes, 2)},
			want:    wants(yes, "approved by bob: as bob says"), taken: "bob"},
		"a nameless yes doesn't count": {answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 1, func(a *v1alpha1.RemediationApproval) { a.Spec.Approver = "" })},
			want: Approval{Needed: true}},
		"an answer that was taken back in time doesn't count": {answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 1, func(a *v1alpha1.RemediationApproval) {
			a.DeletionTimestamp, a.Finalizers = &metav1.Time{Time: planMade}, []string{"test/kept"}
		})}, want: Approval{Needed: true}},
		"an answer that was taken stays, whatever comes or goes": {reason: "the RemediationApproval may be deleted, and another be made",
			plan: manualOf(func(rem *v1alpha1.Remediation) {
				rem.Status.Approval = &v1alpha1.ApprovalRecord{Name: "gone", Decision: yes, Approver: "bob"}
			}),
			answers: []*v1alpha1.RemediationApproval{answerOf("cid", no, 1)}, want: wants(yes, "approved by bob"), taken: "gone"},
		"at the timeout nobody is late yet": {after: v1alpha1.DefaultApprovalTimeout, want: Approval{Needed: true}},
		"after it the plan is overdue":      {after: v1alpha1.DefaultApprovalTimeout + time.Second, want: Approval{Needed: true, Overdue: true}},
		"the policy says when": {after: 2 * time.Second, want: Approval{Needed: true, Overdue: true}, plan: manualOf(func(rem *v1alpha1.Remediation) {
			rem.Spec.Strategy.Approval.Timeout = metav1.Duration{Duration: time.Second}
		})},
		"a late answer counts": {after: 48 * time.Hour, answers: []*v1alpha1.RemediationApproval{answerOf("bob", yes, 47*3600)},
			want: wants(yes, "approved by bob: as bob says"), taken: "bob"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.plan == nil {
				tc.plan = manualOf()
			}
			objects := []client.Object{writtenByAnn()}
			for _, a := range tc.answers {
				objects = append(objects, a)
			}
			c := &Controller{reader: approvalClient(t, objects...), clock: clocktesting.NewFakePassiveClock(planMade.Add(tc.after))}
			got, err := c.approval(context.Background(), tc.plan)
			if err != nil {
				t.Fatal(err)
			}
			if tc.want.Needed && tc.want.Decision == "" {
				how := "evenkeel rollout approve " + manualPlan
				if !strings.Contains(got.Message, how) || strings.HasPrefix(got.Message, "nobody has answered within") != tc.want.Overdue {
					t.Errorf("the message doesn't say how to answer: %s", got.Message)
				}
				tc.want.Message = got.Message
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
			taken := ""
			if r := tc.plan.Status.Approval; r != nil {
				taken = r.Name
			}
			if taken != tc.taken {
				t.Errorf("taken is %q, want %q", taken, tc.taken)
			}
		})
	}
}

func TestTheRequestHoldsAnAnswerThatCanBeSent(t *testing.T) {
	text := request(manualOf(distinct))
	if want := "7 targets of policy p (owner platform) wait for a person, who hasn't written the policy, to answer: "; !strings.HasPrefix(text, want) {
		t.Errorf("%s\nwant the beginning %s", text, want)
	}
	_, rest, _ := strings.Cut(text, "echo '")
	body, _, found := strings.Cut(rest, "' | kubectl create -f -")
	var a v1alpha1.RemediationApproval
	if err := json.Unmarshal([]byte(body), &a); err != nil || !found {
		t.Fatalf("%s: %v", text, err)
	}
	want := v1alpha1.RemediationApprovalSpec{Remediation: manualPlan, PlanHash: "hash", Decision: v1alpha1.DecisionApprove}
	if diff := cmp.Diff(want, a.Spec); diff != "" || a.GenerateName != manualPlan+"-" || a.Kind != "RemediationApproval" {
		t.Errorf("%s (-want +got)\n%s", body, diff)
	}
}

func TestAnswersAreTold(t *testing.T) {
	taken := func(name string, after int) func(*v1alpha1.Remediation) {
		return func(rem *v1alpha1.Remediation) {
			rem.Status.Approval = &v1alpha1.ApprovalRecord{Name: name, Decision: v1alpha1.DecisionApprove, Approver: name,
				At: metav1.NewMicroTime(planMade.Add(time.Duration(after) * time.Second))}
		}
	}
	yes := v1alpha1.DecisionApprove
	cases := map[string]struct {
		plan   *v1alpha1.Remediation
		answer *v1alpha1.RemediationApproval
		ready  string // status and reason; empty while nothing is said
		owned  bool
		event  string
	}{
		"one that the plan acts by is Ready and announced": {plan: manualOf(taken("bob", 1)), answer: answerOf("bob", yes, 1),
			ready: "True Taken", owned: true, event: "Normal Approved approved by bob"},
		"one that isn't taken yet is left for the plan": {plan: manualOf(), answer: answerOf("bob", yes, 1), owned: true},
		"one that came too late isn't":                  {plan: manualOf(taken("cid", 1)), answer: answerOf("bob", yes, 2), ready: "False AlreadyAnswered", owned: true},
		"an author's isn't":                             {plan: manualOf(distinct), answer: answerOf("ann", yes, 1), ready: "False NotDistinct", owned: true},
		"one to another plan of the name isn't, and isn't this plan's": {plan: manualOf(),
			answer: answerOf("bob", yes, 1, func(a *v1alpha1.RemediationApproval) { a.Spec.PlanHash = "older" }), ready: "False PlanMismatch"},
		"one to no plan isn't":               {answer: answerOf("bob", yes, 1), ready: "False PlanNotFound"},
		"one from before the plan isn't":     {plan: manualOf(), answer: answerOf("bob", yes, -1), ready: "False NotAwaited"},
		"one that took the name later isn't": {plan: manualOf(taken("bob", 1)), answer: answerOf("bob", yes, 2), ready: "False AlreadyAnswered", owned: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{writtenByAnn(), tc.answer}
			if tc.plan != nil {
				objects = append(objects, tc.plan)
			}
			c := approvalClient(t, objects...)
			recorder := kubeevents.NewFakeRecorder(8)
			s := &AnswerController{client: c, reader: c, clock: clocktesting.NewFakePassiveClock(planMade), events: escalate.NewRecorder(recorder),
				metrics: newApprovalMetrics(prometheus.NewRegistry())}
			for range 2 { // the second time nothing is new
				if _, err := s.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(tc.answer)}); err != nil {
					t.Fatal(err)
				}
			}
			var got v1alpha1.RemediationApproval
			if err := c.Get(context.Background(), client.ObjectKeyFromObject(tc.answer), &got); err != nil {
				t.Fatal(err)
			}
			said := ""
			if ready := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
				said = fmt.Sprintf("%s %s", ready.Status, ready.Reason)
			}
			if said != tc.ready {
				t.Errorf("Ready is %q, want %q", said, tc.ready)
			}
			if owned := len(got.OwnerReferences) == 1 && got.OwnerReferences[0].UID == "plan"; owned != tc.owned {
				t.Errorf("owners %v", got.OwnerReferences)
			}
			close(recorder.Events)
			var all []string
			for e := range recorder.Events {
				all = append(all, e)
			}
			if len(all) > 1 || strings.Join(all, "") != tc.event {
				t.Errorf("events %q, want %q", all, tc.event)
			}
		})
	}
}
