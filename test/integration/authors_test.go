// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	record "evenkeel.dev/evenkeel/internal/authors"
	"evenkeel.dev/evenkeel/test/fixture"
)

// editors makes a role that may do anything with policies, their statuses and templates, and
// returns its name.
func editors(ctx context.Context) string {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-editor"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.GroupVersion.Group},
				Resources: []string{"clusterregopolicies", "clusterregopolicies/status", "regotemplates",
					"remediationstrategies"}, Verbs: []string{"*"}}}}
	suite.Create(ctx, role)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, role)).To(Succeed()) })
	return role.Name
}

// editAs changes a policy as a user, again if somebody else wrote it meanwhile.
func editAs(ctx context.Context, as client.Client, name string, change func(*v1alpha1.ClusterRegoPolicy)) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		p := &v1alpha1.ClusterRegoPolicy{}
		Expect(as.Get(ctx, client.ObjectKey{Name: name}, p)).To(Succeed())
		change(p)
		err := as.Update(ctx, p)
		if apierrors.IsConflict(err) || apierrors.IsForbidden(err) { // the role takes a moment to count
			return err
		}
		Expect(err).NotTo(HaveOccurred())
		return nil
	}).Should(Succeed())
}

var _ = Describe("Whoever has ever changed a policy", func() {
	var (
		namespace, policy string
		ann, bob, cid     client.Client
	)
	distinct := fixture.Remediated(v1alpha1.RemediationManual, func(s *fixture.Rollout) {
		s.Approval.RequireDistinctApprover = true
	})
	wrote := func(ctx context.Context) record.Record { return record.Of(suite.Policy(ctx, policy)) }

	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "authors")
		policy = namespace
		role := editors(ctx)
		ann, bob, cid = userWith(ctx, "ann", role), userWith(ctx, "bob", role),
			userWith(ctx, "cid", "evenkeel-approver")
		userWith(ctx, "ann", "evenkeel-approver")
		userWith(ctx, "bob", "evenkeel-approver")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 1)...)
		suite.CleanUp(policy)
		p := fixture.Policy(policy, namespace, fixture.FixState, distinct)
		suite.Create(ctx, fixture.StrategyOf(p))
		Expect(ann.Create(ctx, p)).To(Succeed())
	})

	// refused waits for the policy's latest plan and lets users approve it in vain.
	refused := func(ctx context.Context, generation int64, users map[string]client.Client) *v1alpha1.Remediation {
		GinkgoHelper()
		var rem *v1alpha1.Remediation
		Eventually(ctx, func(g Gomega) {
			rem = suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAwaitingApproval)
			g.Expect(rem.Spec.Plan.Policy.Generation).To(Equal(generation))
		}).Should(Succeed())
		for name, as := range users {
			Expect(approve(ctx, as, rem)).To(
				MatchError(ContainSubstring(name + " has written policy " + policy)))
		}
		return rem
	}

	It("may not approve it after somebody else's trivial edit, nor may who made that", func(ctx context.Context) {
		refused(ctx, 1, map[string]client.Client{"ann": ann})
		editAs(ctx, bob, policy, func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Rego.Main += "\n# a comment\n" })
		rem := refused(ctx, 2, map[string]client.Client{"ann": ann, "bob": bob})
		Expect(rem.Spec.Plan.Policy.Author).To(Equal("bob"))
		Expect(rem.Spec.Plan.Policy.Authors).To(Equal([]string{"ann", "bob"}))
		Expect(rem.Status.Message).To(ContainSubstring(
			"who hasn't written the policy, its template or its strategy (as admin, ann, bob have)"))
		Expect(approve(ctx, cid, rem)).To(Succeed())
		suite.AwaitPhase(ctx, policy, v1alpha1.PhaseSucceeded)
	})

	It("may not approve it after editing annotations, labels or the status", func(ctx context.Context) {
		forged := record.Record{Users: []string{"zoe"}, Generation: 1}.String()
		for _, annotations := range []map[string]string{
			nil, {v1alpha1.AnnotationAuthors: forged},
			{v1alpha1.AnnotationAuthor: "zoe", v1alpha1.AnnotationAuthors: forged}} {
			editAs(ctx, ann, policy, func(p *v1alpha1.ClusterRegoPolicy) { p.Annotations = annotations })
			Expect(wrote(ctx)).To(Equal(record.Record{Users: []string{"ann"}, Generation: 1}))
		}
		Eventually(ctx, func() error {
			p := suite.Policy(ctx, policy)
			p.Annotations, p.Spec.Title = map[string]string{v1alpha1.AnnotationAuthors: forged}, "Another title"
			return ann.Status().Update(ctx, p)
		}).Should(Succeed())
		Expect(wrote(ctx)).To(Equal(record.Record{Users: []string{"ann"}, Generation: 1}))
		refused(ctx, 1, map[string]client.Client{"ann": ann})
	})

	It("may not approve it after deleting and making it anew", func(ctx context.Context) {
		refused(ctx, 1, map[string]client.Client{"ann": ann})
		before := suite.Policy(ctx, policy)
		Expect(ann.Delete(ctx, before.DeepCopy())).To(Succeed())
		anew := fixture.Policy(policy, namespace, fixture.FixState, distinct)
		anew.Annotations = map[string]string{
			v1alpha1.AnnotationAuthor:  "zoe",
			v1alpha1.AnnotationAuthors: record.Record{Users: []string{"zoe"}, Generation: 1}.String()}
		Eventually(ctx, func() error { return ann.Create(ctx, anew.DeepCopy()) }).Should(Succeed())
		Expect(wrote(ctx)).To(Equal(record.Record{Users: []string{"ann"}, Generation: 1}))
		Eventually(ctx, func(g Gomega) {
			rem := suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAwaitingApproval)
			g.Expect(rem.Spec.Plan.Policy.UID).NotTo(Equal(string(before.UID)))
		}).Should(Succeed())
		refused(ctx, 1, map[string]client.Client{"ann": ann})
	})

	It("may not be pushed out of the record by others: nobody approves then", func(ctx context.Context) {
		for i := range record.MaxUsers {
			another := userWith(ctx, fmt.Sprint("another", i), "test-editor")
			editAs(ctx, another, policy, func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Title = fmt.Sprint("Title ", i) })
		}
		Expect(wrote(ctx).More).To(BeTrue())
		Expect(wrote(ctx).Users).To(And(HaveLen(record.MaxUsers), ContainElement("ann")))
		var rem *v1alpha1.Remediation
		Eventually(ctx, func(g Gomega) {
			rem = suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAwaitingApproval)
			g.Expect(approve(ctx, ann, rem)).To(
				MatchError(ContainSubstring("ann has written policy")))
			g.Expect(approve(ctx, cid, rem)).To(
				MatchError(ContainSubstring("more people have changed policy " + policy)))
		}).Should(Succeed())
	})
})
