// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// answerTo is an answer to a plan.
func answerTo(rem *v1alpha1.Remediation, decision v1alpha1.ApprovalDecision) *v1alpha1.RemediationApproval {
	return &v1alpha1.RemediationApproval{ObjectMeta: metav1.ObjectMeta{GenerateName: rem.Name + "-"},
		Spec: v1alpha1.RemediationApprovalSpec{RemediationRef: v1alpha1.RefTo(rem), Policy: rem.Spec.Plan.Policy.Name,
			Decision: decision, Comment: "change 4711"}}
}

// awaitAnswer waits until an answer is Ready, or not, for a reason.
func awaitAnswer(ctx context.Context, a *v1alpha1.RemediationApproval, status metav1.ConditionStatus, reason string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(suite.Get(ctx, a)).To(Succeed())
		ready := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady)
		g.Expect(ready).NotTo(BeNil())
		g.Expect(string(ready.Status) + " " + ready.Reason).To(Equal(string(status) + " " + reason))
	}).Should(Succeed())
}

var _ = Describe("A plan in mode Manual", func() {
	var (
		namespace, policy string
		ann, bob          client.Client
	)
	distinct := func(s *v1alpha1.RolloutStrategy) { s.Approval.RequireDistinctApprover = true }
	// planned makes ann the author of a policy with three violating objects, and
	// waits for its plan.
	planned := func(ctx context.Context, modifiers ...func(*v1alpha1.RolloutStrategy)) *v1alpha1.Remediation {
		GinkgoHelper()
		suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
		suite.CleanUp(policy)
		Expect(ann.Create(ctx, fixture.Policy(policy, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationManual, modifiers...)))).To(Succeed())
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
			Expect(rem.Status.Message).To(
				And(ContainSubstring("evenkeel rollout approve "+rem.Name), ContainSubstring("kubectl create -f -")))
			suite.AwaitEvent(ctx, "ApprovalRequested", rem.Name,
				HavePrefix("3 targets of policy "+policy+" (owner platform) wait"))
			waitsOn(ctx, rem)

			By("refusing whoever may not answer")
			err := user("zoe").Create(ctx, answerTo(rem, v1alpha1.DecisionApprove))
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			Expect(err).To(MatchError(ContainSubstring(`cannot create resource "remediationapprovals"`)))

			By("refusing the author, whatever name the answer gives")
			userWith(ctx, "ann", "evenkeel-approver")
			forged := answerTo(rem, v1alpha1.DecisionApprove)
			forged.Spec.Approver = "bob"
			Expect(ann.Create(ctx, forged)).To(
				MatchError(ContainSubstring("spec.approver: ann has written policy " + policy)))

			By("refusing answers to what isn't this plan")
			older := answerTo(rem, v1alpha1.DecisionApprove)
			older.Spec.RemediationRef.UID = "older"
			Expect(bob.Create(ctx, older)).To(MatchError(ContainSubstring("isn't the UID of Remediation " + rem.Name)))
			none := answerTo(rem, v1alpha1.DecisionApprove)
			none.Spec.RemediationRef.Name = "none"
			Expect(bob.Create(ctx, none)).To(MatchError(ContainSubstring(`there is no Remediation "none"`)))
			waitsOn(ctx, rem)

			By("going on once another person has approved")
			yes := answerTo(rem, v1alpha1.DecisionApprove)
			yes.Spec.Approver = "cid"
			Expect(bob.Create(ctx, yes)).To(Succeed())
			Expect(yes.Spec.Approver).To(Equal("bob"))
			rem = suite.AwaitPhase(ctx, policy, v1alpha1.PhaseSucceeded)
			Expect(rem.Status.Counts.Done).To(BeEquivalentTo(3))
			Expect(*rem.Status.Approval).To(
				Equal(v1alpha1.ApprovalRecord{ApprovalRef: v1alpha1.RefTo(yes), Decision: v1alpha1.DecisionApprove,
					Approver: "bob", Comment: "change 4711",
					DecisionTime: metav1.NewMicroTime(yes.CreationTimestamp.Time)}))
			awaitAnswer(ctx, yes, metav1.ConditionTrue, v1alpha1.ReasonInEffect)
			Expect(yes.OwnerReferences).To(HaveLen(1))
			Expect(yes.OwnerReferences[0].UID).To(Equal(rem.UID))
			suite.AwaitEvent(ctx, "Approved", rem.Name, Equal("approved by bob: change 4711"))

			By("keeping the record when the answer is gone")
			Expect(bob.Create(ctx, answerTo(rem, v1alpha1.DecisionReject))).To(
				MatchError(ContainSubstring("was answered already: Approve by bob")))
			Expect(suite.API.Delete(ctx, yes)).To(Succeed())
			Consistently(ctx, func(g Gomega) {
				g.Expect(suite.Get(ctx, rem)).To(Succeed())
				g.Expect(rem.Status.Approval).To(HaveValue(HaveField("Approver", "bob")))
			}, "2s").Should(Succeed())
		})

	It("ends when it is rejected, and isn't made again", func(ctx context.Context) {
		rem := planned(ctx)
		Expect(bob.Create(ctx, answerTo(rem, v1alpha1.DecisionReject))).To(Succeed())
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
			Expect(bob.Create(ctx, answerTo(first, v1alpha1.DecisionApprove))).To(
				MatchError(ContainSubstring("isn't the UID of Remediation " + first.Name)))
			unbound := answerTo(first, v1alpha1.DecisionApprove)
			unbound.Spec.RemediationRef.UID = ""
			Expect(bob.Create(ctx, unbound)).To(MatchError(ContainSubstring("spec.remediationRef.uid")))
			waitsOn(ctx, again)
			Expect(bob.Create(ctx, answerTo(again, v1alpha1.DecisionApprove))).To(Succeed())
			suite.AwaitPhase(ctx, policy, v1alpha1.PhaseSucceeded)
		})

	It("tells people when nobody answers in time, and takes a late answer", func(ctx context.Context) {
		rem := planned(ctx, func(s *v1alpha1.RolloutStrategy) {
			s.Approval.Timeout = metav1.Duration{Duration: 3 * time.Second}
		})
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, rem)).To(Succeed())
			g.Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonApprovalOverdue))
		}).Should(Succeed())
		Expect(rem.Status.Phase).To(Equal(v1alpha1.PhaseAwaitingApproval))
		suite.AwaitEvent(ctx, "ApprovalOverdue", rem.Name, HavePrefix("nobody has answered within 3s"))
		Expect(patchedObjects(namespace)).To(BeEmpty())
		Expect(bob.Create(ctx, answerTo(rem, v1alpha1.DecisionApprove))).To(Succeed())
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
		Expect(bob.Create(ctx, answerTo(rem, v1alpha1.DecisionApprove))).To(
			MatchError(ContainSubstring("failed calling webhook")))

		By("judging again what was given while an administrator had taken the webhooks away")
		named := metav1.ObjectMeta{Name: "evenkeel"}
		Expect(suite.API.Delete(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: named})).To(
			Succeed())
		Expect(suite.API.Delete(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: named})).To(
			Succeed())
		authors, nameless := answerTo(rem, v1alpha1.DecisionApprove), answerTo(rem, v1alpha1.DecisionApprove)
		authors.Spec.Approver = "ann"
		for _, a := range []*v1alpha1.RemediationApproval{authors, nameless} {
			// The API server takes a moment to learn that nobody is to be asked.
			Eventually(ctx, func() error { return suite.API.Create(ctx, a) }).Should(Succeed())
		}
		Expect(manager.Start(ctx)).To(Succeed())
		suite.AwaitAdmission(ctx)
		awaitAnswer(ctx, authors, metav1.ConditionFalse, v1alpha1.ReasonSelfApproval)
		awaitAnswer(ctx, nameless, metav1.ConditionFalse, v1alpha1.ReasonApproverUnknown)
		waitsOn(ctx, rem)

		Expect(bob.Create(ctx, answerTo(rem, v1alpha1.DecisionApprove))).To(Succeed())
		rem = suite.AwaitPhase(ctx, policy, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Approval.Approver).To(Equal("bob"))
		Expect(suite.Plans(ctx, policy)).To(HaveLen(1))
	})
})
