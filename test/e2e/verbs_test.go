// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("A fix of another verb whose manager is killed", func() {
	const (
		patch  = `{"action": "patch", "ops": [{"op": "replace", "path": "/data/state", "value": "good"}]}`
		create = `{"action": "create", "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}, "data": {"a": "b"}}}`
		remove = `{"action": "delete"}`
		evict  = `{"action": "evict"}`
	)
	before := func(m *rig.Manager) faultproxy.Fault {
		return faultproxy.Fault{LoseRequest: true, Before: func(faultproxy.Request) { crash(m) }}
	}
	after := func(m *rig.Manager) faultproxy.Fault {
		return faultproxy.Fault{LoseAnswer: true, After: func(faultproxy.Request, faultproxy.Answer) { crash(m) }}
	}
	// run kills the manager at the first write of a method to a resource, starts
	// it again, and returns the writes that happened in the namespace by method.
	run := func(ctx context.Context, policy *v1alpha1.ClusterRegoPolicy, method string,
		fault func(*rig.Manager) faultproxy.Fault) map[string]int {
		GinkgoHelper()
		manager := suite.StartManager(ctx)
		// The policy itself is read while the proxy asks.
		namespace := policy.Name
		inPlace := func(r faultproxy.Request) bool {
			return r.IsWrite() && r.Namespace == namespace && r.Group == ""
		}
		killed := manager.Proxy.Nth(1, func(r faultproxy.Request) bool {
			return inPlace(r) && r.Method == method
		}, fault(manager))
		suite.CreatePolicy(ctx, policy)
		Eventually(ctx, killed.Hits).Should(Equal(1))
		Eventually(ctx, manager.Running).Should(BeFalse())
		manager.Proxy.Reset()
		Expect(manager.Start(ctx)).To(Succeed())
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(suite.Plans(ctx, policy.Name)).To(HaveLen(1))
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1}))
		counts := map[string]int{}
		for _, w := range manager.Proxy.Writes() {
			if inPlace(w.Request) && w.Succeeded() {
				counts[w.Method]++
			}
		}
		return counts
	}

	DescribeTable("shows exactly one effect on objects",
		func(ctx context.Context, method string, fault func(*rig.Manager) faultproxy.Fault, actions []string,
			want map[string]int, left []string) {
			namespace := suite.Namespace(ctx, "verbcrash")
			grant(ctx, namespace, "", "configmaps", "get", "create", "delete")
			suite.Create(ctx, fixture.ConfigMap(namespace, "target-0"))
			policy := fixture.Policy(namespace, namespace, fixture.Acts(`input.object.data.state == "bad"`, actions...),
				fixture.Remediated(v1alpha1.RemediationAutomatic,
					fixture.Allowing(v1alpha1.ActionPatch, v1alpha1.ActionCreate, v1alpha1.ActionDelete)))
			Expect(run(ctx, policy, method, fault)).To(Equal(want))
			list := &corev1.ConfigMapList{}
			Expect(suite.API.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
			names := []string{}
			for _, c := range list.Items {
				if c.Name != "kube-root-ca.crt" {
					names = append(names, fmt.Sprint(c.Name, " ", c.Data["state"]))
				}
			}
			Expect(names).To(ConsistOf(left))
		},
		Entry("before it creates", http.MethodPost, before, []string{create, patch},
			map[string]int{"POST": 1, "PATCH": 1}, []string{"note ", "target-0 good"}),
		Entry("after it created, before it patches: what was made is taken back, and made again", http.MethodPost,
			after, []string{create, patch},
			map[string]int{"POST": 2, "DELETE": 1, "PATCH": 1}, []string{"note ", "target-0 good"}),
		Entry("between creation and patch", http.MethodPatch, before, []string{create, patch},
			map[string]int{"POST": 2, "DELETE": 1, "PATCH": 1}, []string{"note ", "target-0 good"}),
		Entry("after creation and patch", http.MethodPatch, after, []string{create, patch},
			map[string]int{"POST": 1, "PATCH": 1}, []string{"note ", "target-0 good"}),
		Entry("before it deletes", http.MethodDelete, before, []string{remove}, map[string]int{"DELETE": 1},
			[]string{}),
		Entry("after it deleted", http.MethodDelete, after, []string{remove}, map[string]int{"DELETE": 1}, []string{}),
	)

	DescribeTable("evicts exactly one Pod", func(ctx context.Context, fault func(*rig.Manager) faultproxy.Fault) {
		namespace := suite.Namespace(ctx, "verbcrash")
		grant(ctx, namespace, "", "pods/eviction", "create")
		suite.Create(ctx, fixture.Deployment(namespace, "web"))
		pods := &corev1.PodList{}
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.API.List(ctx, pods, client.InNamespace(namespace))).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(1))
			g.Expect(pods.Items[0].Status.Phase).To(Equal(corev1.PodRunning))
		}).Should(Succeed())
		old := pods.Items[0]
		no := false
		policy := fixture.Policy(namespace, namespace,
			fixture.Acts(fmt.Sprintf("input.object.metadata.name == %q", old.Name), evict),
			fixture.Kinds("", "Pod"), fixture.Unselected, func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Match.PodTemplates = &no
			},
			fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Allowing(v1alpha1.ActionEvict),
				fixture.Deadline(60*time.Second)))
		Expect(run(ctx, policy, http.MethodPost, fault)).To(Equal(map[string]int{"POST": 1}))
		Expect(suite.API.List(ctx, pods, client.InNamespace(namespace))).To(Succeed())
		Expect(pods.Items).To(HaveLen(1))
		Expect(pods.Items[0].UID).NotTo(Equal(old.UID))
	},
		Entry("killed before it evicts", before),
		Entry("killed after it evicted", after),
	)
})

// grant gives the manager a permission for the rest of the spec.
func grant(ctx context.Context, name, group, resource string, verbs ...string) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"rbac.evenkeel.dev/aggregate-to-writer": "true"}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}},
	}
	suite.Create(ctx, role)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, role)).To(Succeed()) })
}
