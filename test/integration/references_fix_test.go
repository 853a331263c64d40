// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// ownState has each ConfigMap that shares its state take its own name for it.
const ownState = uniqueState + `
remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/data/state", "value": input.object.metadata.name}]} if {
	count(deny) > 0
}
`

// isolated wants a NetworkPolicy in the namespace of an object, by a name in Rego, and makes it.
func isolated(namespace string) string {
	return fmt.Sprintf(`package evenkeel.isolated

namespace := %s

deny contains "the namespace has no NetworkPolicy default-deny" if {
	not data.inventory.namespace[namespace]["networking.k8s.io/v1"].NetworkPolicy["default-deny"]
}

remediation contains {"action": "create", "object": {
	"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
	"metadata": {"name": "default-deny", "namespace": namespace},
	"spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
}} if {
	count(deny) > 0
}
`, namespace)
}

var _ = Describe("A fix of a policy that refers to other objects", func() {
	var namespace string
	networkPolicies := v1alpha1.ReferencedKind{APIGroup: "networking.k8s.io", Kind: "NetworkPolicy"}

	defaultDeny := func() *networkingv1.NetworkPolicy {
		return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default-deny"}}
	}

	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "referringfix") })

	It("isn't made of what another one's fix has healed: of four that share a state, one keeps it",
		func(ctx context.Context) {
			shared := namespace // which nobody has in another namespace
			for i := range 4 {
				object := fixture.ConfigMap(namespace, fmt.Sprintf("target-%d", i))
				object.Data["state"] = shared
				suite.Create(ctx, object)
			}
			suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, ownState,
				referring(v1alpha1.ReferencedKind{Kind: "ConfigMap"})))
			suite.AwaitScan(ctx, namespace, func(g Gomega, s *v1alpha1.ScanStatus) {
				g.Expect(s.Violating).To(BeEquivalentTo(4), "a plan made earlier has fewer targets")
			})
			suite.UpdatePolicy(ctx, suite.Policy(ctx, namespace),
				fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Concurrent(10)))
			rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 3, Skipped: 1}))
			states := map[string]int{}
			list := &corev1.ConfigMapList{}
			Expect(suite.API.List(ctx, list, client.InNamespace(namespace),
				client.MatchingLabels(fixture.TargetLabels()))).To(Succeed())
			for _, object := range list.Items {
				states[object.Data["state"]]++
				if object.Data["state"] == shared {
					Expect(suite.RecordOf(ctx, rem, object.Name).Reason).To(Equal(v1alpha1.ReasonAlreadyClean))
				}
			}
			Expect(states).To(And(HaveLen(4), HaveKeyWithValue(shared, 1)))
		})

	It("may create what the rule looks up, is proven by it, and heals the others of its namespace",
		func(ctx context.Context) {
			grantVerbs(ctx, namespace, "networking.k8s.io", "networkpolicies", "get", "create", "delete")
			suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
			suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, isolated("input.object.metadata.namespace"),
				referring(networkPolicies), fixture.Remediated(v1alpha1.RemediationAutomatic,
					fixture.Allowing(v1alpha1.ActionCreate), fixture.Concurrent(10))))
			rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1, Skipped: 2}))
			made := defaultDeny()
			Expect(suite.Get(ctx, made)).To(Succeed())
			Expect(made.Labels).To(HaveKeyWithValue(v1alpha1.LabelRemediation, rem.Name))
			Expect(succeeded(namespace, "POST", "networkpolicies", "")).To(Equal(1))
		})

	It("may create in a Namespace what the Namespace lacks", func(ctx context.Context) {
		grantVerbs(ctx, namespace, "networking.k8s.io", "networkpolicies", "get", "create", "delete")
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, isolated("input.object.metadata.name"),
			fixture.Kinds("", "Namespace"), fixture.Unselected, referring(networkPolicies),
			fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Allowing(v1alpha1.ActionCreate))))
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1}))
		made := defaultDeny()
		Expect(suite.Get(ctx, made)).To(Succeed())
		By("undoing it when somebody asks")
		say(ctx, rem, `{"desiredState":"Undone"}`)
		Eventually(ctx, func() error { return suite.Get(ctx, made) }).Should(MatchError(ContainSubstring("not found")))
	})

	It("is undone when it brings a violation to an object that was clean", func(ctx context.Context) {
		bystander := fixture.ConfigMap(namespace, "bystander")
		shared := namespace // which nobody has in another namespace: the bystander would violate already
		bystander.Data["state"], bystander.Labels = shared, map[string]string{"role": "bystander"}
		suite.Create(ctx, bystander)
		suite.CreatePolicy(ctx, fixture.Policy(namespace+"-unique", namespace, uniqueState,
			referring(v1alpha1.ReferencedKind{Kind: "ConfigMap"}), fixture.Enforced(v1alpha1.AdmissionWarn),
			func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Match.ObjectSelector = fixture.Selecting(bystander.Labels)
			}))
		suite.AwaitScan(ctx, namespace+"-unique", func(g Gomega, s *v1alpha1.ScanStatus) {
			g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
			g.Expect(s.Violating+s.Errors).To(BeZero(), "the bystander must be known to comply, not to be unjudged yet")
		})
		Eventually(ctx, func() bool {
			return time.Since(bystander.CreationTimestamp.Time) > 2*time.Second // it was there before, to the second
		}).Should(BeTrue())
		suite.Create(ctx, fixture.ConfigMaps(namespace, 1)...)
		copies := fixture.Acts(badState,
			fmt.Sprintf(`{"action": "patch", "ops": [{"op": "replace", "path": "/data/state", "value": %q}]}`, shared))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, copies,
			// Nothing soaks: verification itself waits for the scan to look.
			fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Deadline(90*time.Second),
				fixture.Soak(0))))
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseRolledBack)
		record := suite.RecordOf(ctx, rem, "target-0")
		Expect(record.Message).To(ContainSubstring("makes ConfigMap " + namespace + "/bystander violate policy " +
			namespace + "-unique"))
	})

	It("is undone when what it made is taken away again", func(ctx context.Context) {
		grantVerbs(ctx, namespace, "networking.k8s.io", "networkpolicies", "get", "create", "delete")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 1)...)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, isolated("input.object.metadata.namespace"),
			referring(networkPolicies), fixture.Remediated(v1alpha1.RemediationAutomatic,
				fixture.Allowing(v1alpha1.ActionCreate), fixture.Deadline(30*time.Second),
				fixture.Soak(20*time.Second))))
		made := defaultDeny()
		Eventually(ctx, func() error { return suite.API.Delete(ctx, made) }).Should(Succeed())
		suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseRolledBack)
	})
})
