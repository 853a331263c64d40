// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/cluster"
	"evenkeel.dev/evenkeel/test/fixture"
)

// userWith is a client of a user who has the given ClusterRole, and no other
// permissions, for the rest of the spec.
func userWith(ctx context.Context, name, role string) client.Client {
	GinkgoHelper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "test-" + name + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
	}
	suite.Create(ctx, binding)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, binding)).To(Succeed()) })
	awaitPermission(ctx, name, role)
	return user(name)
}

// awaitPermission waits until the API server has heard of a user's role.
func awaitPermission(ctx context.Context, name, role string) {
	GinkgoHelper()
	granted := &rbacv1.ClusterRole{}
	Expect(suite.API.Get(ctx, client.ObjectKey{Name: role}, granted)).To(Succeed())
	suite.AwaitPermission(ctx, name, granted.Rules[0])
}

// user is a client of a user.
func user(name string) client.Client {
	GinkgoHelper()
	config := suite.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	scheme, err := cluster.Scheme()
	Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// authors makes a role that may write policies, and returns its name.
func authors(ctx context.Context) string {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-author"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"clusterregopolicies"},
				Verbs: []string{"get", "create", "update"}}}}
	suite.Create(ctx, role)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, role)).To(Succeed()) })
	return role.Name
}

var _ = Describe("The author of a policy", func() {
	It("is who changed its spec last, whatever requests say", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "author")
		ann := userWith(ctx, "ann", authors(ctx))
		policy := fixture.Policy(namespace, namespace, fixture.FixState)
		policy.Annotations = map[string]string{v1alpha1.AnnotationAuthor: "bob", "theirs": "kept"}
		suite.CleanUp(policy.Name)
		Expect(ann.Create(ctx, policy)).To(Succeed())
		recorded := `{"users":["ann"],"generation":1}`
		Expect(policy.Annotations).To(
			Equal(map[string]string{v1alpha1.AnnotationAuthor: "ann", v1alpha1.AnnotationAuthors: recorded,
				"theirs": "kept"}))

		By("keeping it when anything else is changed")
		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.ClusterRegoPolicy) {
			p.Annotations = map[string]string{v1alpha1.AnnotationAuthor: "bob"}
		})
		Expect(suite.Policy(ctx, policy.Name).Annotations).To(
			Equal(map[string]string{v1alpha1.AnnotationAuthor: "ann", v1alpha1.AnnotationAuthors: recorded}))
		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.ClusterRegoPolicy) { p.Annotations = nil })
		Expect(suite.Policy(ctx, policy.Name).Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationAuthor, "ann"))

		By("replacing it when the spec is changed")
		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Title = "Another title" })
		Expect(suite.Policy(ctx, policy.Name).Annotations[v1alpha1.AnnotationAuthor]).To(
			And(Not(Equal("ann")), Not(BeEmpty())))
	})
})

// answer patches a plan with an answer to it, as people do, and returns the plan as it is then.
func answer(ctx context.Context, as client.Client, rem *v1alpha1.Remediation, decision v1alpha1.ApprovalDecision,
	change ...func(*v1alpha1.PlanApproval)) (*v1alpha1.Remediation, error) {
	GinkgoHelper()
	given := v1alpha1.PlanApproval{Decision: decision, Comment: "change 4711"}
	for _, c := range change {
		c(&given)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": rem.UID},
		"spec": map[string]any{"approval": given}})
	Expect(err).NotTo(HaveOccurred())
	answered := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: rem.Name}}
	return answered, as.Patch(ctx, answered, client.RawPatch(types.MergePatchType, patch))
}

// approve answers a plan with a yes.
func approve(ctx context.Context, as client.Client, rem *v1alpha1.Remediation,
	change ...func(*v1alpha1.PlanApproval)) error {
	GinkgoHelper()
	_, err := answer(ctx, as, rem, v1alpha1.DecisionApprove, change...)
	return err
}

var _ = Describe("A plan in mode Manual", func() {
	var (
		namespace, policy string
		ann, bob          client.Client
	)
	distinct := func(s *fixture.Rollout) { s.Approval.RequireDistinctApprover = true }
	// planned makes ann the author of a policy with three violating objects, and
	// waits for its plan.
	planned := func(ctx context.Context, modifiers ...func(*fixture.Rollout)) *v1alpha1.Remediation {
		GinkgoHelper()
		suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
		suite.CleanUp(policy)
		p := fixture.Policy(policy, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationManual, modifiers...))
		suite.Create(ctx, fixture.StrategyOf(p))
		Expect(ann.Create(ctx, p)).To(Succeed())
		return suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAwaitingApproval)
	}
	waitsOn := func(ctx context.Context, rem *v1alpha1.Remediation) {
		GinkgoHelper()
		Consistently(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, rem)).To(Succeed())
			g.Expect(rem.Status.Phase).To(Equal(v1alpha1.PhaseAwaitingApproval))
			g.Expect(patchedObjects(namespace)).To(BeEmpty())
		}, "2s").Should(Succeed())
	}

	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "manual")
		policy = namespace
		ann = userWith(ctx, "ann", authors(ctx))
		bob = userWith(ctx, "bob", "evenkeel-approver")
	})

	It("writes nothing until somebody else than the author approves it, and records who did",
		func(ctx context.Context) {
			rem := planned(ctx, distinct)
			Expect(rem.Spec.Plan.Policy.Author).To(Equal("ann"))
			Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonAwaitingApproval))
			Expect(rem.Status.Message).To(And(ContainSubstring("evenkeel rollout approve "+rem.Name),
				ContainSubstring("kubectl patch remediation "+rem.Name+" --type=merge -p '")))
			suite.AwaitEvent(ctx, "ApprovalRequested", rem.Name,
				HavePrefix("3 targets of policy "+policy+" (owner platform) wait"))
			waitsOn(ctx, rem)

			By("refusing whoever may not answer")
			err := approve(ctx, user("zoe"), rem)
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			Expect(err).To(MatchError(ContainSubstring(`cannot patch resource "remediations"`)))
			Expect(approve(ctx, suite.AsManager(), rem)).To(
				MatchError(ContainSubstring("that needs the verb approve on clusterregopolicies/" + policy)))

			By("refusing the author, whatever name the record gives")
			userWith(ctx, "ann", "evenkeel-approver")
			forged := client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
				`{"spec":{"approval":{"decision":"Approve"}},"metadata":{"annotations":{%q:%q}}}`,
				v1alpha1.AnnotationRequests, `{"user":"bob","action":"Approve","time":"2026-01-01T00:00:00Z"}`))
			Expect(ann.Patch(ctx, rem.DeepCopy(), forged)).To(
				MatchError(ContainSubstring("ann has written policy " + policy)))

			By("refusing answers to what isn't this plan, or to other changes")
			older := rem.DeepCopy()
			older.UID = "older"
			Expect(approve(ctx, bob, older)).To(MatchError(ContainSubstring("metadata.uid")))
			Eventually(ctx, func(g Gomega) {
				g.Expect(suite.Get(ctx, rem)).To(Succeed())
				g.Expect(rem.Status.ProposalDigest).To(HavePrefix("sha256:"))
			}).Should(Succeed())
			Expect(approve(ctx, bob, rem, func(a *v1alpha1.PlanApproval) {
				a.ProposalDigest = "sha256:" + strings.Repeat("0", 64)
			})).To(MatchError(ContainSubstring("isn't the digest of the plan's changes, which is " +
				rem.Status.ProposalDigest)))
			_, err = answer(ctx, bob, rem, "Maybe")
			Expect(err).To(MatchError(ContainSubstring(`supported values: "Approve", "Reject"`)))
			waitsOn(ctx, rem)
			Expect(v1alpha1.Requests(rem)).To(BeEmpty())

			By("going on once another person has approved, by the patch that the plan itself gives")
			_, patch, _ := strings.Cut(rem.Status.Message, "--type=merge -p '")
			_, _, err = suite.Kubectl(ctx, "", "patch", "remediation", rem.Name, "--as", "bob", "--type=merge", "-p",
				strings.TrimSuffix(patch, "'"))
			Expect(err).NotTo(HaveOccurred())
			rem = suite.AwaitPhase(ctx, policy, v1alpha1.PhaseSucceeded)
			Expect(rem.Status.Counts.Done).To(BeEquivalentTo(3))
			Expect(rem.Spec.Approval.ProposalDigest).To(Equal(rem.Status.ProposalDigest))
			Expect(rem.Annotations[v1alpha1.AnnotationRequests]).To(
				MatchRegexp(`^{"user":"bob","action":"Approve","requestTime":"[^"]+"}$`))
			Expect(*rem.Status.Approval).To(Equal(v1alpha1.ApprovalRecord{Decision: v1alpha1.DecisionApprove,
				Approver: "bob", DecisionTime: metav1.NewMicroTime(rem.AnsweredBy().RequestTime.Time)}))
			suite.AwaitEvent(ctx, "Approved", rem.Name, Equal("approved by bob"))

			By("never taking another answer")
			_, err = answer(ctx, bob, rem, v1alpha1.DecisionReject)
			Expect(err).To(MatchError(ContainSubstring("an answer can't be changed or taken back")))
			_, said, code := evenkeel(ctx, "rollout", "reject", rem.Name, "--as", "bob")
			Expect(code).To(Equal(3))
			Expect(said).To(ContainSubstring("it was answered already: Approve by bob"))
		})

	It("waits after a step for a person, in mode Automatic too", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
		suite.CreatePolicy(ctx, fixture.Policy(policy, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic, func(s *fixture.Rollout) {
				s.Steps[0].Approval = v1alpha1.ApprovalRequired
			})))
		rem := suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAwaitingApproval)
		Consistently(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, rem)).To(Succeed())
			g.Expect(rem.Status.Phase).To(Equal(v1alpha1.PhaseAwaitingApproval))
			g.Expect(rem.Status.Counts.Done).To(BeEquivalentTo(1), "the canary alone is fixed")
			g.Expect(patchedObjects(namespace)).To(HaveLen(1))
		}, "2s").Should(Succeed())
		Expect(rem.Status.Message).To(ContainSubstring("1 wave of 2 fixed and soaked, 1 target fixed; 2 targets of"))
		Expect(meta.IsStatusConditionFalse(rem.Status.Conditions, v1alpha1.ConditionApproved)).To(BeTrue())
		out, _, _ := evenkeel(ctx, "rollout", "get", rem.Name)
		Expect(out).To(ContainSubstring("nobody has answered after 1 wave; answer: evenkeel rollout approve|reject"))

		By("refusing the answer to another wave")
		Expect(approve(ctx, bob, rem)).To(MatchError(ContainSubstring("the plan awaits the answer to wave 1")))

		By("going on once a person approves it")
		said, errs, code := evenkeel(ctx, "rollout", "approve", rem.Name, "--yes", "--as", "bob")
		Expect(code).To(BeZero(), errs)
		Expect(said).To(ContainSubstring("remediation " + rem.Name + " approved by bob"))
		rem = suite.AwaitPhase(ctx, policy, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Counts.Done).To(BeEquivalentTo(3))
		Expect(rem.Status.Approval.Wave).To(BeEquivalentTo(1))
		Expect(rem.Status.Approval.Approver).To(Equal("bob"))
		_, err := answer(ctx, bob, rem, v1alpha1.DecisionReject)
		Expect(err).To(MatchError(ContainSubstring("only one to a later wave may follow")))
	})

	It("waits after a step in mode Manual for an answer of its own; a no leaves what is fixed",
		func(ctx context.Context) {
			rem := planned(ctx, func(s *fixture.Rollout) { s.Steps[0].Approval = v1alpha1.ApprovalRequired })
			Expect(approve(ctx, bob, rem)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(suite.Get(ctx, rem)).To(Succeed())
				g.Expect(rem.Status.Wave).To(BeEquivalentTo(1))
				g.Expect(rem.Status.Phase).To(Equal(v1alpha1.PhaseAwaitingApproval))
			}).Should(Succeed())
			_, errs, code := evenkeel(ctx, "rollout", "reject", rem.Name, "--comment", "too risky", "--as", "bob")
			Expect(code).To(BeZero(), errs)
			rem = suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAborted)
			Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonRejected))
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1, Skipped: 2}))
			Expect(patchedObjects(namespace)).To(HaveLen(1))
		})

	It("ends when it is rejected, and isn't made again", func(ctx context.Context) {
		rem := planned(ctx)
		_, err := answer(ctx, bob, rem, v1alpha1.DecisionReject)
		Expect(err).NotTo(HaveOccurred())
		rem = suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAborted)
		Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonRejected))
		Expect(rem.Status.Message).To(ContainSubstring("rejected by bob: change 4711"))
		suite.AwaitEvent(ctx, "Rejected", rem.Name, Equal("rejected by bob: change 4711"))
		suite.AwaitEvent(ctx, "RemediationNotPlanned", policy, ContainSubstring("evenkeel rollout retry "+rem.Name))
		Consistently(ctx, func() int { return len(suite.Plans(ctx, policy)) }, "2s").Should(Equal(1))
		Expect(patchedObjects(namespace)).To(BeEmpty())
	})

	It("doesn't take a yes to a plan that was deleted for one that is made again under its name",
		func(ctx context.Context) {
			first := planned(ctx)
			Expect(suite.API.Delete(ctx, first)).To(Succeed())
			again := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: first.Name}}
			Eventually(ctx, func(g Gomega) {
				g.Expect(suite.Get(ctx, again)).To(Succeed())
				g.Expect(again.UID).NotTo(Equal(first.UID))
				g.Expect(again.Status.Phase).To(Equal(v1alpha1.PhaseAwaitingApproval))
			}).Should(Succeed())
			Expect(again.Spec.Plan.Hash).To(Equal(first.Spec.Plan.Hash), "it is the same plan, of the same targets")
			Expect(approve(ctx, bob, first)).To(MatchError(ContainSubstring("metadata.uid")))
			waitsOn(ctx, again)
			said, errs, code := evenkeel(ctx, "rollout", "approve", again.Name, "--yes", "--comment", "change 4711",
				"--as", "bob")
			Expect(code).To(BeZero(), errs)
			Expect(said).To(ContainSubstring("remediation " + again.Name + " approved by bob"))
			rem := suite.AwaitPhase(ctx, policy, v1alpha1.PhaseSucceeded)
			Expect(rem.Spec.Approval.ProposalDigest).To(Equal(rem.Status.ProposalDigest))
			Expect(rem.Status.Approval.Comment).To(Equal("change 4711"))
			history, _, _ := evenkeel(ctx, "rollout", "history", policy)
			Expect(history).To(MatchRegexp(rem.Name + ` +\S+ \S+ +Approve +bob +change 4711`))
		})

	It("tells people when nobody answers in time, and takes a late answer", func(ctx context.Context) {
		rem := planned(ctx, func(s *fixture.Rollout) {
			s.Approval.Timeout = metav1.Duration{Duration: 3 * time.Second}
		})
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, rem)).To(Succeed())
			g.Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonApprovalOverdue))
		}).Should(Succeed())
		Expect(rem.Status.Phase).To(Equal(v1alpha1.PhaseAwaitingApproval))
		suite.AwaitEvent(ctx, "ApprovalOverdue", rem.Name, HavePrefix("nobody has answered within 3s"))
		Expect(patchedObjects(namespace)).To(BeEmpty())
		Expect(approve(ctx, bob, rem)).To(Succeed())
		suite.AwaitPhase(ctx, policy, v1alpha1.PhaseSucceeded)
	})

	It("waits on over a restart, and doesn't take what slipped past admission meanwhile", func(ctx context.Context) {
		rem := planned(ctx, distinct)
		Expect(manager.Stop()).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			if !manager.Running() {
				Expect(manager.Start(ctx)).To(Succeed())
				suite.AwaitAdmission(ctx)
			}
		})

		By("taking no answer while nobody can check it")
		Expect(approve(ctx, bob, rem)).To(MatchError(ContainSubstring("failed calling webhook")))

		By("taking none in another's name while an administrator had taken the webhooks away")
		named := metav1.ObjectMeta{Name: "evenkeel"}
		Expect(suite.API.Delete(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: named})).To(
			Succeed())
		Expect(suite.API.Delete(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: named})).To(
			Succeed())
		userWith(ctx, "ann", "evenkeel-approver")
		recorded := func(spec, user string) client.Patch {
			line := fmt.Sprintf(`{"user":%q,"action":"Approve","time":%q}`, user, time.Now().UTC().Format(time.RFC3339))
			return client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
				`{"spec":%s,"metadata":{"annotations":{%q:%q}}}`, spec, v1alpha1.AnnotationRequests, line))
		}
		const yes = `{"approval":{"decision":"Approve"}}`
		// The API server takes a moment to learn that nobody is to be asked.
		Eventually(ctx, func() error { return ann.Patch(ctx, rem.DeepCopy(), recorded(yes, "bob")) }).Should(
			MatchError(ContainSubstring("user ann may not change who asked for what")))
		Expect(ann.Patch(ctx, rem.DeepCopy(), recorded(`{}`, "ann"))).To(
			MatchError(ContainSubstring("user ann may not change who asked for what")),
			"nor without asking for anything")
		Expect(approve(ctx, suite.AsManager(), rem)).To(MatchError(ContainSubstring("that needs the verb approve")))

		By("judging again what was given meanwhile")
		Expect(ann.Patch(ctx, rem.DeepCopy(), recorded(yes, "ann"))).To(Succeed(), "in her own name, with the verb")
		Expect(manager.Start(ctx)).To(Succeed())
		suite.AwaitAdmission(ctx)
		refused := awaitReason(ctx, policy, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonApproverRefused)
		Expect(refused.Status.Message).To(
			ContainSubstring("the answer doesn't count: ann has written policy " + policy))
		approved := meta.FindStatusCondition(refused.Status.Conditions, v1alpha1.ConditionApproved)
		Expect(approved).To(HaveValue(And(HaveField("Status", metav1.ConditionFalse),
			HaveField("Reason", v1alpha1.ReasonApproverRefused))))
		waitsOn(ctx, rem)

		By("planning again once it is aborted, for another person to approve")
		oncall := userWith(ctx, "dana", "evenkeel-operator")
		mergePatch(ctx, oncall, refused, `{"spec":{"desiredState":"Aborted","reason":"not ann's"}}`)
		suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAborted)
		mergePatch(ctx, oncall, refused, `{"spec":{"retryToken":"1"}}`)
		again := &v1alpha1.Remediation{}
		Eventually(ctx, func(g Gomega) {
			plans := suite.Plans(ctx, policy)
			g.Expect(plans).To(HaveLen(2))
			again = &plans[slices.IndexFunc(plans, func(p v1alpha1.Remediation) bool { return p.Name != rem.Name })]
			g.Expect(again.Status.Phase).To(Equal(v1alpha1.PhaseAwaitingApproval))
		}).Should(Succeed())
		Expect(approve(ctx, bob, again)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, again)).To(Succeed())
			g.Expect(again.Status.Phase).To(Equal(v1alpha1.PhaseSucceeded))
		}).Should(Succeed())
		Expect(again.Status.Approval.Approver).To(Equal("bob"))
	})
})
