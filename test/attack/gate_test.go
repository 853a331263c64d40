// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

const denyPrivileged = `package fixture.privileged

import rego.v1

deny contains {"msg": sprintf("container %s is privileged", [c.name]), "path": sprintf("/spec/containers/%d/securityContext/privileged", [i])} if {
	some i, c in input.pod.spec.containers
	c.securityContext.privileged
}
`

// privileged makes the first container of a Deployment privileged.
func privileged(o client.Object) {
	yes := true
	o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &yes}
}

const denyHostPath = `package fixture.hostpath

import rego.v1

deny contains {"msg": sprintf("volume %s is of the host", [v.name]), "path": sprintf("/spec/volumes/%d", [i])} if {
	some i, v in input.pod.spec.volumes
	v.hostPath
}
`

// mountsHost gives a Deployment a volume of the host.
func mountsHost(o client.Object) {
	o.(*appsv1.Deployment).Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "host",
		VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
}

// podsOf lists the Pods of a Deployment.
func podsOf(ctx context.Context, d *appsv1.Deployment) []corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(suite.API.List(ctx, list, client.InNamespace(d.Namespace),
		client.MatchingLabels(d.Spec.Selector.MatchLabels))).To(Succeed())
	return list.Items
}

var _ = Describe("What is judged at its workload", func() {
	It("is judged whenever the template changes, though the policy names creations alone", func(ctx context.Context) {
		attempt("create a clean Deployment under a policy on CREATE, then patch a hostPath into it")
		namespace := suite.Namespace(ctx, "template")
		old := fixture.Deployment(namespace, "old", mountsHost)
		suite.Create(ctx, old)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, denyHostPath, fixture.Kinds("", "Pod"),
			fixture.Enforced(v1alpha1.AdmissionDeny), fixture.On(v1alpha1.OperationCreate), fixture.Unselected))
		awaitRefusal(ctx, fixture.Deployment(namespace, "new", mountsHost),
			ContainSubstring("volume host is of the host"))

		clean := fixture.Deployment(namespace, "clean")
		suite.Create(ctx, clean)
		patched := clean.DeepCopy()
		mountsHost(patched)
		Eventually(ctx, func() error {
			return suite.API.Patch(ctx, patched.DeepCopy(), client.StrategicMergeFrom(clean))
		}).Should(MatchError(ContainSubstring("volume host is of the host")))

		By("letting the old violator be scaled, and its Pods come up")
		Expect(suite.API.Patch(ctx, old,
			client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":3}}`)))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, old)).To(Succeed())
			g.Expect(old.Status.ReadyReplicas).To(BeEquivalentTo(3))
		}).Should(Succeed())
	})

	It("is judged at the Pod too where the workload may never have been judged", func(ctx context.Context) {
		attempt("create a Deployment with a hostPath where a policy doesn't reach, then label its namespace so that " +
			"it does")
		namespace := suite.Namespace(ctx, "relabelled")
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, denyHostPath, fixture.Kinds("", "Pod"),
			fixture.Unselected,
			fixture.Enforced(v1alpha1.AdmissionDeny), func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Match.NamespaceSelector = fixture.Selecting(map[string]string{"env": "prod"})
			}))
		sneaked := fixture.Deployment(namespace, "sneaked", mountsHost, func(o client.Object) {
			none := int32(0)
			o.(*appsv1.Deployment).Spec.Replicas = &none
		})
		suite.Create(ctx, sneaked)
		Eventually(ctx, func(g Gomega) { // once its ReplicaSet is there, which nobody has judged
			g.Expect(suite.Get(ctx, sneaked)).To(Succeed())
			g.Expect(sneaked.Annotations).To(HaveKey("deployment.kubernetes.io/revision"))
		}).Should(Succeed())
		home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		Expect(suite.API.Patch(ctx, home,
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"env":"prod"}}}`)))).
			To(Succeed())
		awaitRefusal(ctx, fixture.Deployment(namespace, "new", mountsHost),
			ContainSubstring("volume host is of the host"))

		Expect(suite.API.Patch(ctx, sneaked,
			client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":1}}`)))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, sneaked)).To(Succeed())
			g.Expect(sneaked.Status.Conditions).To(ContainElement(And(
				HaveField("Type", appsv1.DeploymentReplicaFailure),
				HaveField("Message", ContainSubstring("volume host is of the host")))))
		}).Should(Succeed())
		Expect(podsOf(ctx, sneaked)).To(BeEmpty())
	})
})

var _ = Describe("An existing violation", func() {
	It("lets a hotfix of an old violator through, but no other program under its privilege", func(ctx context.Context) {
		attempt("patch image and command of an old privileged container")
		namespace := suite.Namespace(ctx, "existing")
		old := fixture.Deployment(namespace, "old", privileged, func(o client.Object) {
			spec := &o.(*appsv1.Deployment).Spec.Template.Spec
			spec.Containers = append(spec.Containers, corev1.Container{Name: "side", Image: "example.com/side:1"})
		})
		suite.Create(ctx, old)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, denyPrivileged,
			fixture.Kinds("", "Pod"), fixture.Enforced(v1alpha1.AdmissionDeny), fixture.Unselected))
		awaitRefusal(ctx, fixture.Deployment(namespace, "new", privileged),
			ContainSubstring("container web is privileged"))

		patch := func(text string) error {
			return suite.API.Patch(ctx, old.DeepCopy(),
				client.RawPatch("application/strategic-merge-patch+json", []byte(text)), client.DryRunAll)
		}
		inContainers := func(text string) string {
			return `{"spec":{"template":{"spec":{"containers":[` + text + `]}}}}`
		}
		refused := MatchError(
			And(ContainSubstring("container web is privileged"), ContainSubstring("what violates has been changed")))
		Expect(patch(inContainers(`{"name":"web","image":"example.com/evil:1"}`))).To(refused)
		Expect(patch(inContainers(`{"name":"web","command":["sh","-c","mount /dev/sda1 /mnt"]}`))).To(refused)
		Expect(patch(inContainers(`{"name":"web","envFrom":[{"configMapRef":{"name":"evil"}}]}`))).To(refused)

		Expect(patch(inContainers(`{"name":"side","image":"example.com/side:2"}`))).To(Succeed())
		Expect(patch(inContainers(`{"name":"web","resources":{"limits":{"memory":"1Gi"}}}`))).To(Succeed())
		Expect(patch(`{"metadata":{"labels":{"tier":"legacy"}},"spec":{"replicas":2}}`)).To(Succeed())
	})
})
