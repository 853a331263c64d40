package attack_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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

var _ = Describe("The ratchet", func() {
	It("lets a hotfix of an old violator through, but no other program under its privilege", func(ctx context.Context) {
		attempt("patch image and command of an old privileged container")
		namespace := suite.Namespace(ctx, "ratchet")
		old := fixture.Deployment(namespace, "old", privileged, func(o client.Object) {
			spec := &o.(*appsv1.Deployment).Spec.Template.Spec
			spec.Containers = append(spec.Containers, corev1.Container{Name: "side", Image: "example.com/side:1"})
		})
		suite.Create(ctx, old)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, denyPrivileged,
			fixture.Kinds("", "Pod"), fixture.Enforced(v1alpha1.EnforcementDeny), fixture.Unselected))
		awaitRefusal(ctx, fixture.Deployment(namespace, "new", privileged), ContainSubstring("container web is privileged"))

		patch := func(text string) error {
			return suite.API.Patch(ctx, old.DeepCopy(), client.RawPatch("application/strategic-merge-patch+json", []byte(text)), client.DryRunAll)
		}
		inContainers := func(text string) string {
			return `{"spec":{"template":{"spec":{"containers":[` + text + `]}}}}`
		}
		refused := MatchError(And(ContainSubstring("container web is privileged"), ContainSubstring("what violates has been changed")))
		Expect(patch(inContainers(`{"name":"web","image":"example.com/evil:1"}`))).To(refused)
		Expect(patch(inContainers(`{"name":"web","command":["sh","-c","mount /dev/sda1 /mnt"]}`))).To(refused)
		Expect(patch(inContainers(`{"name":"web","envFrom":[{"configMapRef":{"name":"evil"}}]}`))).To(refused)

		Expect(patch(inContainers(`{"name":"side","image":"example.com/side:2"}`))).To(Succeed())
		Expect(patch(inContainers(`{"name":"web","resources":{"limits":{"memory":"1Gi"}}}`))).To(Succeed())
		Expect(patch(`{"metadata":{"labels":{"tier":"legacy"}},"spec":{"replicas":2}}`)).To(Succeed())
	})
})
