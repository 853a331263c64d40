// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// breakerOf reads a breaker; nil when there is none.
func breakerOf(ctx context.Context, name string) *v1alpha1.RemediationBreaker {
	GinkgoHelper()
	cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err := suite.Get(ctx, cb)
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	if err != nil {
		return nil
	}
	return cb
}

// awaitBreaker waits until a breaker's status is as accept wants it.
func awaitBreaker(ctx context.Context, name string,
	accept func(Gomega, v1alpha1.RemediationBreakerStatus)) *v1alpha1.RemediationBreaker {
	GinkgoHelper()
	var cb *v1alpha1.RemediationBreaker
	Eventually(ctx, func(g Gomega) {
		cb = breakerOf(ctx, name)
		g.Expect(cb).NotTo(BeNil(), "there is no breaker %s", name)
		accept(g, cb.Status)
	}).Should(Succeed())
	return cb
}

func mergePatch(ctx context.Context, as client.Client, o client.Object, patch string) {
	GinkgoHelper()
	Expect(as.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// storms sets how many new violations are a storm, and a cooldown that a spec can
// wait for.
func storms(newViolations int32) func(*fixture.Rollout) {
	return func(s *fixture.Rollout) {
		s.Breaker.Storm.NewViolations = newViolations
		s.Breaker.Cooldown = metav1.Duration{Duration: time.Second}
	}
}

var _ = Describe("A circuit breaker", func() {
	It("of a namespace is made with its first failure, counts there alone, and goes with its namespace",
		func(ctx context.Context) {
			failing, well := suite.Namespace(ctx, "failing"), suite.Namespace(ctx, "well")
			deployments(ctx, failing, 1)
			deployments(ctx, well, 1)
			succeeds := overPods(well, fixture.RequireTemplateLabel("team", "shop"))
			suite.CreatePolicy(ctx, succeeds)
			suite.AwaitPhase(ctx, succeeds.Name, v1alpha1.PhaseSucceeded)
			policy := fixture.Policy(failing, failing, fixture.RequireTemplateLabel("kwok.evenkeel.dev/ready", "never"),
				fixture.Kinds("", "Pod"),
				fixture.Unselected, fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Deadline(4*time.Second)))
			suite.CreatePolicy(ctx, policy)
			suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
			breaker := awaitBreaker(ctx, v1alpha1.NamespaceBreakerPrefix+failing,
				func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
					g.Expect(st.Failures).To(BeEquivalentTo(1))
					g.Expect(st.State).To(Equal(v1alpha1.BreakerClosed),
						"one policy's failed canary doesn't close a namespace to the others")
				})
			Expect(breaker.Status.LastOutcomeTime).NotTo(BeNil())
			Expect(breakerOf(ctx, v1alpha1.NamespaceBreakerPrefix+well)).To(BeNil())

			Expect(suite.API.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: failing}})).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				err := suite.Get(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: failing}})
				g.Expect(client.IgnoreNotFound(err)).To(Succeed())
				g.Expect(err).To(HaveOccurred())
			}).Should(Succeed())
			Eventually(ctx, func() *v1alpha1.RemediationBreaker { return breakerOf(ctx, breaker.Name) }).Should(BeNil())
		})

	It("opens on a storm of new violations before any of them is fixed, and a reset in the user's name lets the plan "+
		"go on", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "storm")
		name := v1alpha1.PolicyBreakerPrefix + namespace
		suite.Create(ctx, fixture.ConfigMaps(namespace, 6)...)
		// The namespace opts out for a while, so that nothing is fixed meanwhile.
		optOut := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		mergePatch(ctx, suite.API, optOut,
			fmt.Sprintf(`{"metadata":{"annotations":{%q:"paused"}}}`, v1alpha1.AnnotationRemediation))
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic, storms(3),
				func(s *fixture.Rollout) { s.Breaker.Cooldown = metav1.Duration{Duration: time.Hour} }))
		suite.CreatePolicy(ctx, policy)
		awaitBreaker(ctx, name, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
			g.Expect(st.Storm).NotTo(BeNil())
			g.Expect(st.Storm.Violating).To(BeEquivalentTo(6))
			g.Expect(st.State).To(Equal(v1alpha1.BreakerClosed), "what the first scan finds is no storm")
		})
		for i := range 3 {
			suite.Create(ctx, fixture.ConfigMap(namespace, fmt.Sprintf("late-%d", i)))
		}
		awaitBreaker(ctx, name, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
			g.Expect(st.State).To(Equal(v1alpha1.BreakerOpen))
			g.Expect(st.Reason).To(Equal("Storm"))
		})
		suite.AwaitEvent(ctx, "BreakerOpened", name, ContainSubstring("3 objects began to violate"))
		mergePatch(ctx, suite.API, optOut,
			fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationRemediation))
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseHeld)
		Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonBreakerOpen))
		Expect(patchedObjects(namespace)).To(BeEmpty())

		alice := userWith(ctx, "alice", operators(ctx))
		cb := breakerOf(ctx, name)
		mergePatch(ctx, alice, cb,
			fmt.Sprintf(`{"spec":{"resetToken":"1","reason":"the import was meant"},"metadata":{"annotations":{%q:%q}}}`,
				v1alpha1.AnnotationRequests,
				`{"user":"bob","action":"Reset","time":"2026-01-01T00:00:00Z","token":"1"}`))
		cb = awaitBreaker(ctx, name, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
			g.Expect(st.LastHandledResetToken).To(Equal("1"))
		})
		Expect(cb.Status.State).To(Equal(v1alpha1.BreakerClosed))
		Expect(cb.Status.LastReset.By).To(Equal("alice"), "nobody resets in another's name")
		Expect(cb.Status.LastReset.Reason).To(Equal("the import was meant"))
		suite.AwaitEvent(ctx, "BreakerReset", name, ContainSubstring("alice: the import was meant"))
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(patchedObjects(namespace)).To(HaveLen(9))
	})

	It("that opens three times demotes its policy to dry runs, until the policy's rule changes",
		func(ctx context.Context) {
			// one alone demotes nobody
			namespace, other := suite.Namespace(ctx, "demoted"), suite.Namespace(ctx, "demoted")
			name := v1alpha1.PolicyBreakerPrefix + namespace
			optOut := func(value string) {
				for _, in := range []string{namespace, other} {
					mergePatch(ctx, suite.API, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: in}},
						fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, v1alpha1.AnnotationRemediation, value))
				}
			}
			optOut(`"paused"`)
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic, storms(2)),
				func(p *v1alpha1.ClusterRegoPolicy) {
					p.Spec.Match.Namespaces = append(p.Spec.Match.Namespaces, other)
				})
			suite.CreatePolicy(ctx, policy)
			awaitBreaker(ctx, name, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
				g.Expect(st.Storm).NotTo(BeNil())
			})
			for opening := range int32(3) {
				for _, in := range []string{namespace, other} {
					suite.Create(ctx, fixture.ConfigMap(in, fmt.Sprintf("storm-%d", opening)))
				}
				awaitBreaker(ctx, name, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
					g.Expect(st.Openings).To(Equal(opening + 1))
				})
				if opening < 2 {
					// It cools down by itself, while no plan asks it.
					awaitBreaker(ctx, name, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
						g.Expect(st.State).To(Equal(v1alpha1.BreakerHalfOpen))
					})
				}
			}
			cb := awaitBreaker(ctx, name, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
				g.Expect(st.Demoted).NotTo(BeNil())
			})
			Expect(cb.Status.Demoted.Revision).To(Equal(suite.Policy(ctx, policy.Name).Status.Revision))
			suite.AwaitEvent(ctx, "PolicyDemoted", policy.Name, ContainSubstring("3 times"))
			optOut("null")
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhasePreviewed)
			Expect(rem.Spec.Plan.Rollout.Mode).To(Equal(v1alpha1.RemediationDryRun))
			Expect(patchedObjects(namespace)).To(BeEmpty())
			Expect(suite.Policy(ctx, policy.Name).Spec.Remediation.Mode).To(Equal(v1alpha1.RemediationAutomatic),
				"the policy itself isn't touched")
			Eventually(ctx, func() bool {
				pointer := suite.Policy(ctx, policy.Name).Status.Remediation
				return pointer != nil && pointer.Demoted
			}).Should(BeTrue())

			suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Rego.Main += "\n# A new revision.\n"
			})
			awaitBreaker(ctx, name, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
				g.Expect(st.Demoted).To(BeNil())
			})
			suite.AwaitEvent(ctx, "DemotionEnded", policy.Name, ContainSubstring("in force again"))
			suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(append(patchedObjects(namespace), patchedObjects(other)...)).To(HaveLen(6))
		})

	It("that is deleted is made anew, so that the kill switch is always there", func(ctx context.Context) {
		global := awaitBreaker(ctx, v1alpha1.GlobalBreakerName, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
			g.Expect(st.State).To(Equal(v1alpha1.BreakerClosed))
		})
		Expect(suite.API.Delete(ctx, global.DeepCopy())).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			anew := breakerOf(ctx, v1alpha1.GlobalBreakerName)
			g.Expect(anew).NotTo(BeNil())
			g.Expect(anew.UID).NotTo(Equal(global.UID))
		}).Should(Succeed())
	})
})

// operators makes a role that may reset breakers, and returns its name.
func operators(ctx context.Context) string {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-operator"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"remediationbreakers"},
				Verbs: []string{"get", "patch", "reset"}}}}
	suite.Create(ctx, role)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, role)).To(Succeed()) })
	return role.Name
}
