// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

var _ = Describe("Every kustomization", func() {
	It("builds objects with names, in the manager's namespace or in none", func(ctx context.Context) {
		folders := kustomizations()
		Expect(folders).To(ContainElements("crd", "rbac", "manager", "webhook", "self-signed", "default", "prometheus",
			"networkpolicy", "samples", "components/write-workloads", "components/write-networking",
			"components/write-cert-manager", "components/evict-pods", "components/mutual-tls"))
		for _, folder := range folders {
			for _, object := range build(ctx, filepath.Join(configFolder(), folder)) {
				Expect(object.GetName()).NotTo(BeEmpty(), "%s: %v", folder, object.Object)
				Expect(object.GetKind()).NotTo(BeEmpty(), "%s: %v", folder, object.Object)
				Expect(object.GetNamespace()).To(BeElementOf("", systemNamespace), "%s: %s %s", folder,
					object.GetKind(), object.GetName())
			}
		}
	})

	It("grants no rule with a wildcard, no way to more permissions, and secrets of the own namespace alone",
		func(ctx context.Context) {
			looked := 0
			for _, folder := range kustomizations() {
				for _, object := range build(ctx, filepath.Join(configFolder(), folder)) {
					if kind := object.GetKind(); kind != "ClusterRole" && kind != "Role" {
						continue
					}
					looked++
					var role rbacv1.ClusterRole
					Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role)).To(Succeed())
					for _, rule := range role.Rules {
						expectHarmless(object.GetKind(), role.Name, rule)
					}
				}
			}
			Expect(looked).To(BeNumerically(">", 10))
		})

	It("grants by a component what patches need, and of the rest only evictions", func(ctx context.Context) {
		for _, component := range components() {
			for _, object := range build(ctx, filepath.Join(configFolder(), "components", component)) {
				if object.GetKind() != "ClusterRole" {
					continue
				}
				var role rbacv1.ClusterRole
				Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role)).To(Succeed())
				joins := aggregates(&role)
				Expect(joins).NotTo(BeEmpty(), "%s joins neither what the manager reads nor what it writes", role.Name)
				allowed := map[string][]string{"reader": {"get", "list", "watch"}, "writer": {"get", "patch"}}[joins]
				for _, rule := range role.Rules {
					if slices.Equal(rule.Resources, []string{"pods/eviction"}) {
						allowed = []string{"create"}
					}
					for _, verb := range rule.Verbs {
						Expect(verb).To(BeElementOf(allowed), "%s: %v", role.Name, rule)
					}
				}
			}
		}
	})

	It("leaves the manager room below its memory limit", func(ctx context.Context) {
		for _, object := range (overlay{base: "self-signed"}).objects(ctx) {
			if object.GetKind() != "Deployment" {
				continue
			}
			var deployment appsv1.Deployment
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment)).To(Succeed())
			container := deployment.Spec.Template.Spec.Containers[0]
			at := slices.IndexFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
			Expect(at).To(BeNumerically(">=", 0))
			soft := resource.MustParse(container.Env[at].Value[:len(container.Env[at].Value)-1]) // Go says MiB for Mi
			hard := container.Resources.Limits.Memory()
			Expect(soft.Value()).To(BeNumerically("<", hard.Value()*95/100),
				"GOMEMLIMIT must leave room for what Go doesn't count")
			return
		}
		Fail("no Deployment was built")
	})
})

// kustomizations are the folders of config/ that can be built, relative to it.
func kustomizations() []string {
	GinkgoHelper()
	var folders []string
	err := filepath.WalkDir(configFolder(), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "kustomization.yaml" {
			folder, relErr := filepath.Rel(configFolder(), filepath.Dir(path))
			folders = append(folders, filepath.ToSlash(folder))
			return relErr
		}
		return err
	})
	Expect(err).NotTo(HaveOccurred())
	return folders
}

// expectHarmless fails on a rule that no role of an install may have.
func expectHarmless(kind, name string, rule rbacv1.PolicyRule) {
	GinkgoHelper()
	Expect(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs)).NotTo(ContainElement("*"), "%s %s: %v", kind,
		name, rule)
	for _, verb := range []string{"escalate", "bind", "impersonate", "deletecollection"} {
		Expect(rule.Verbs).NotTo(ContainElement(verb), "%s %s: %v", kind, name, rule)
	}
	if kind == "ClusterRole" {
		Expect(rule.Resources).NotTo(ContainElement("secrets"), "%s %s reaches every secret of the cluster: %v", kind,
			name, rule)
	}
	for _, resource := range []string{"serviceaccounts/token", "pods/exec", "nodes/proxy",
		"certificatesigningrequests/approval"} {
		Expect(rule.Resources).NotTo(ContainElement(resource), "%s %s: %v", kind, name, rule)
	}
}
