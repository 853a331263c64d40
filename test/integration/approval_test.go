package integration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/cluster"
	"evenkeel.dev/evenkeel/test/fixture"
)

// userWith is a client of a user who has the given ClusterRole, and no other
// rights, for the rest of the spec.
func userWith(ctx context.Context, name, role string) client.Client {
	GinkgoHelper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "test-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
	}
	suite.Create(ctx, binding)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, binding)).To(Succeed()) })
	return user(name)
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
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"policies"}, Verbs: []string{"get", "create", "update"}}}}
	suite.Create(ctx, role)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, role)).To(Succeed()) })
	return role.Name
}

var _ = Describe("The author of a policy", func() {
	It("is who changed its spec last, whatever requests say", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "author")
		ann := userWith(ctx, "ann", authors(ctx))
		policy := fixture.Policy(namespace, namespace, fixture.MendState)
		policy.Annotations = map[string]string{v1alpha1.AnnotationAuthor: "bob", "theirs": "kept"}
		suite.CleanUp(policy.Name)
		Expect(ann.Create(ctx, policy)).To(Succeed())
		Expect(policy.Annotations).To(Equal(map[string]string{v1alpha1.AnnotationAuthor: "ann", "theirs": "kept"}))

		By("keeping it when anything else is changed")
		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.Policy) { p.Annotations = map[string]string{v1alpha1.AnnotationAuthor: "bob"} })
		Expect(suite.Policy(ctx, policy.Name).Annotations).To(Equal(map[string]string{v1alpha1.AnnotationAuthor: "ann"}))
		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.Policy) { p.Annotations = nil })
		Expect(suite.Policy(ctx, policy.Name).Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationAuthor, "ann"))

		By("replacing it when the spec is changed")
		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.Policy) { p.Spec.Title = "Another title" })
		Expect(suite.Policy(ctx, policy.Name).Annotations[v1alpha1.AnnotationAuthor]).To(And(Not(Equal("ann")), Not(BeEmpty())))
	})
})
