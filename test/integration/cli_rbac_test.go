// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// rolesIn reads the ClusterRoles that the command line prints.
func rolesIn(text string) []*rbacv1.ClusterRole {
	GinkgoHelper()
	var roles []*rbacv1.ClusterRole
	for _, part := range strings.Split(text, "---\n")[1:] {
		role := &rbacv1.ClusterRole{}
		Expect(yaml.UnmarshalStrict([]byte(part), role)).To(Succeed())
		roles = append(roles, role)
	}
	return roles
}

// fileOf writes a policy to a file of the spec's own.
func fileOf(p *v1alpha1.ClusterRegoPolicy) string {
	GinkgoHelper()
	written := &v1alpha1.ClusterRegoPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterRegoPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Spec: p.Spec}
	text, err := yaml.Marshal(written)
	Expect(err).NotTo(HaveOccurred())
	if strategy := fixture.StrategyOf(p.DeepCopy()); strategy != nil {
		strategy.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("RemediationStrategy"))
		more, err := yaml.Marshal(strategy)
		Expect(err).NotTo(HaveOccurred())
		text = append(append(text, "---\n"...), more...)
	}
	file := filepath.Join(GinkgoT().TempDir(), p.Name+".yaml")
	Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
	return file
}

var _ = Describe("The least roles of a policy", func() {
	It("are what the manager lacks, let it scan and fix with nothing missing, and let anybody scan",
		func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "cli-rbac")
			limits := &corev1.LimitRange{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: fixture.TargetLabels()}}
			suite.Create(ctx, limits)
			policy := fixture.Policy(namespace, namespace, ownService, fixture.Kinds("", "LimitRange"),
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)
			suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
				g.Expect(s.State).To(Equal(v1alpha1.ScanIncomplete))
			})

			out, errs, code := evenkeel(ctx, "rbac", "--in-force", "--only", policy.Name, "--existing", "--name",
				namespace)
			Expect(code).To(Equal(1), errs)
			roles := rolesIn(out)
			Expect(roles).To(HaveLen(2))
			Expect(roles[0].Rules).To(
				Equal([]rbacv1.PolicyRule{
					{APIGroups: []string{""}, Resources: []string{"limitranges"},
						Verbs: []string{"get", "list", "watch"}}}))
			Expect(roles[1].Rules).To(
				Equal([]rbacv1.PolicyRule{
					{APIGroups: []string{""}, Resources: []string{"limitranges"}, Verbs: []string{"get", "patch"}}}))

			By("granting exactly these")
			for _, role := range roles {
				suite.Create(ctx, role)
				DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, role)).To(Succeed()) })
			}
			suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(suite.Get(ctx, limits)).To(Succeed())
			Expect(limits.Labels).To(HaveKeyWithValue("owner", "shop"))
			Eventually(ctx, func() string {
				_, errs, _ := evenkeel(ctx, "rbac", "--in-force", "--only", policy.Name, "--existing")
				return errs
			}).Should(ContainSubstring("nothing is missing"))

			By("adding to what was granted, for a policy on another kind")
			quota := fixture.Policy(namespace+"-quota", namespace, ownService, fixture.Kinds("", "ResourceQuota"))
			out, errs, code = evenkeel(ctx, "rbac", "-p", fileOf(quota), "--existing", "--name", namespace)
			Expect(code).To(Equal(1), errs)
			Expect(rolesIn(out)).To(HaveLen(1))
			Expect(rolesIn(out)[0].Name).To(Equal(roles[0].Name))
			Expect(rolesIn(out)[0].Labels).To(Equal(roles[0].Labels))
			Expect(rolesIn(out)[0].Rules).To(Equal(append(roles[0].Rules, rbacv1.PolicyRule{
				APIGroups: []string{""}, Resources: []string{"resourcequotas"},
				Verbs: []string{"get", "list", "watch"}})))

			By("scanning as somebody who has the reader's role alone")
			out, errs, code = evenkeel(ctx, "rbac", "-p", fileOf(policy), "--name", namespace+"-all")
			Expect(code).To(Equal(0), errs)
			reader := rolesIn(out)[0]
			reader.Labels = nil
			suite.Create(ctx, reader,
				&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}})
			binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: reader.Name},
				RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader.Name},
				Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "reader"}}}
			suite.Create(ctx, binding)
			DeferCleanup(func(ctx context.Context) {
				Expect(suite.API.Delete(ctx, binding)).To(Succeed())
				Expect(suite.API.Delete(ctx, reader)).To(Succeed())
			})
			Eventually(ctx, func() int {
				_, errs, code = evenkeel(ctx, "scan", "-p", fileOf(policy),
					"--as=system:serviceaccount:"+namespace+":reader")
				return code
			}).Should(Equal(0), errs)
		})
})
