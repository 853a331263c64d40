// SPDX-License-Identifier: Apache-2.0

package attack_test

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
)

// userWhoMay is a client of a user who has all permissions to the resources of
// Evenkeel's group, and none to anything else.
func userWhoMay(ctx context.Context, name string, resources ...string) client.Client {
	GinkgoHelper()
	return userOf(ctx, name, rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: resources,
		Verbs: []string{"*"}})
}

// userOf is a client of a user who has the permissions of the rules, and no other.
func userOf(ctx context.Context, name string, rules ...rbacv1.PolicyRule) client.Client {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-" + name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}}}
	suite.Create(ctx, role, binding)
	DeferCleanup(func(ctx context.Context) {
		Expect(suite.API.Delete(ctx, binding)).To(Succeed())
		Expect(suite.API.Delete(ctx, role)).To(Succeed())
	})
	config := suite.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	scheme, err := cluster.Scheme()
	Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	for _, rule := range rules {
		suite.AwaitPermission(ctx, name, rule)
	}
	return c
}
