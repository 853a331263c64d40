// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// changeTemplate changes a template, again if somebody else wrote it meanwhile.
func changeTemplate(ctx context.Context, as client.Client, name string, change func(*v1alpha1.RegoTemplate)) {
	GinkgoHelper()
	t := &v1alpha1.RegoTemplate{}
	t.Name = name
	rig.Update(ctx, as, t, func() { change(t) })
}

// awaitReady waits until the condition Ready of a policy has a reason and says something.
func awaitReady(ctx context.Context, policy, reason, says string) *v1alpha1.ClusterRegoPolicy {
	GinkgoHelper()
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: policy}}
	Eventually(ctx, func(g Gomega) {
		g.Expect(suite.Get(ctx, p)).To(Succeed())
		ready := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
		g.Expect(ready).NotTo(BeNil())
		g.Expect(ready.Reason).To(Equal(reason), ready.Message)
		g.Expect(ready.Message).To(ContainSubstring(says))
		g.Expect(ready.ObservedGeneration).To(Equal(p.Generation))
	}).Should(Succeed())
	return p
}

var _ = Describe("Policies of one template", func() {
	var namespace, template, first, second string
	denied := fixture.Enforced(v1alpha1.AdmissionDeny)
	of := func(name, parameters string) *v1alpha1.ClusterRegoPolicy {
		return fixture.Policy(name, namespace, "", fixture.FromTemplate(template, parameters), denied)
	}
	state := func(name, value string) client.Object {
		object := fixture.ConfigMap(namespace, name)
		object.Data["state"] = value
		return object
	}

	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "template")
		template, first, second = namespace, namespace+"-a", namespace+"-b"
	})

	both := func(ctx context.Context) {
		GinkgoHelper()
		suite.CreateTemplate(ctx, fixture.Template(template, fixture.RefuseState, fixture.RefusedSchema))
		suite.CreatePolicy(ctx, of(first, `{"refused": "red"}`))
		suite.CreatePolicy(ctx, of(second, `{"refused": "blue"}`))
		awaitRefusal(ctx, state("one", "red"), And(ContainSubstring("state must not be red"), ContainSubstring(first)))
		awaitRefusal(ctx, state("one", "blue"),
			And(ContainSubstring("state must not be blue"), ContainSubstring(second)))
		Expect(suite.API.Create(ctx, state("one", "green"), client.DryRunAll)).To(Succeed())
	}

	It("judge by its rule, each with its own parameters, and the template counts them", func(ctx context.Context) {
		both(ctx)
		Eventually(ctx, func(g Gomega) {
			t := suite.Template(ctx, template)
			g.Expect(t.Status.Policies).To(BeEquivalentTo(2))
			g.Expect(t.Status.ObservedGeneration).To(Equal(t.Generation))
			g.Expect(apimeta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue())
			g.Expect(t.Finalizers).To(Equal([]string{v1alpha1.FinalizerInUse}))
		}).Should(Succeed())
		Expect(string(suite.Policy(ctx, first).Spec.Parameters.Raw)).To(
			Equal(`{"refused":"red"}`), "defaults of the schema are never stored")
	})

	It("get a new revision by its change, and what lives in the cluster is judged anew", func(ctx context.Context) {
		suite.Create(ctx, state("old", "red"), state("older", "blue"))
		both(ctx)
		violating := func(n int32) func(Gomega, *v1alpha1.ScanStatus) {
			return func(g Gomega, s *v1alpha1.ScanStatus) {
				g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
				g.Expect(s.Violating).To(Equal(n))
			}
		}
		suite.AwaitScan(ctx, first, violating(1))
		suite.AwaitScan(ctx, second, violating(1))
		was := awaitRevision(ctx, first)

		changeTemplate(ctx, suite.API, template, func(t *v1alpha1.RegoTemplate) {
			t.Spec.Rego.Main = strings.ReplaceAll(
				t.Spec.Rego.Main, "input.object.data.state == input.parameters.refused",
				`input.object.data.state in {input.parameters.refused, "red", "blue"}`)
		})
		suite.AwaitScan(ctx, first, violating(2))
		suite.AwaitScan(ctx, second, violating(2))
		Eventually(ctx, func(g Gomega) {
			is := suite.Policy(ctx, first)
			g.Expect(is.Generation).To(Equal(was.Generation))
			g.Expect(is.Status.Revision).NotTo(Equal(was.Status.Revision))
		}).Should(Succeed())
		awaitRefusal(ctx, state("one", "blue"), ContainSubstring(first))
	})

	It("are refused with the field when their parameters don't fit", func(ctx context.Context) {
		suite.CreateTemplate(ctx, fixture.Template(template, fixture.RefuseState, fixture.RefusedSchema))
		suite.CleanUp(first)
		for parameters, says := range map[string]string{
			`{}`:                                `spec.parameters.refused: Required value`,
			`{"refused": 3}`:                    `spec.parameters.refused: Invalid value: "integer"`,
			`{"refused": "r"}`:                  `spec.parameters.refused: Invalid value: "r"`,
			`{"refused": "red", "refsed": "x"}`: `spec.parameters.refsed: Forbidden: the schema has no such field`,
		} {
			// The catalog takes a moment to have the template.
			Eventually(ctx, func() error {
				return suite.API.Create(ctx, of(first, parameters), client.DryRunAll)
			}).Should(MatchError(ContainSubstring(says)))
		}
	})

	It("keep it from a change that some couldn't be in force by, which names them", func(ctx context.Context) {
		both(ctx)
		changed := func(change func(*v1alpha1.RegoTemplate)) func() error {
			return func() error {
				t := suite.Template(ctx, template)
				change(t)
				return suite.API.Update(ctx, t) // the manager writes the status meanwhile
			}
		}
		Eventually(ctx, changed(func(t *v1alpha1.RegoTemplate) {
			t.Spec = fixture.Template(template, fixture.RefuseState,
				`{"type": "object", "properties": {"refused": {"type": "string", "enum": ["red"]}}}`).Spec
		})).Should(MatchError(
			And(ContainSubstring("policy "+second+`: spec.parameters.refused: Unsupported value: "blue"`),
				Not(ContainSubstring("policy "+first+":")))))
		Eventually(ctx, changed(func(t *v1alpha1.RegoTemplate) {
			t.Spec.Rego.Main = "package a\n\ndeny contains \"x\" if {"
		})).Should(MatchError(And(ContainSubstring(template+".rego:3:"), ContainSubstring(first+", "+second))))
	})

	It("keep it when it is deleted, until none of them is left", func(ctx context.Context) {
		both(ctx)
		Eventually(ctx, func() []string { return suite.Template(ctx, template).Finalizers }).ShouldNot(BeEmpty())
		Expect(suite.API.Delete(ctx, suite.Template(ctx, template))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			ready := apimeta.FindStatusCondition(suite.Template(ctx, template).Status.Conditions,
				v1alpha1.ConditionReady)
			g.Expect(ready).NotTo(BeNil())
			g.Expect(ready.Reason).To(Equal(v1alpha1.ReasonDeleting))
			g.Expect(ready.Message).To(HaveSuffix(first + ", " + second))
		}).Should(Succeed())
		awaitRefusal(ctx, state("one", "red"), ContainSubstring("state must not be red"))
		suite.RemovePolicy(ctx, first)
		awaitRefusal(ctx, state("one", "blue"), ContainSubstring("state must not be blue"))
		suite.RemovePolicy(ctx, second)
		Eventually(ctx, func() error {
			return suite.Get(ctx, fixture.Template(template, "", ""))
		}).Should(Satisfy(apierrors.IsNotFound))
	})

	It("may be there before it, and come into force with it", func(ctx context.Context) {
		c, warned := warningClient()
		suite.CleanUp(first)
		Expect(c.Create(ctx, of(first, `{"refused": "red"}`))).To(Succeed())
		Expect(warned()).To(ContainElement(ContainSubstring(`there is no RegoTemplate "` + template + `"`)))
		p := awaitReady(ctx, first, v1alpha1.ReasonTemplateNotFound, template)
		Expect(p.Status.Revision).To(BeEmpty())
		suite.CreateTemplate(ctx, fixture.Template(template, fixture.RefuseState, fixture.RefusedSchema))
		awaitRefusal(ctx, state("one", "red"), ContainSubstring("state must not be red"))
		awaitReady(ctx, first, v1alpha1.ReasonCompiled, "is in force")
	})

	It("keep their last good revision when the webhooks were away and their parameters don't fit any more",
		func(ctx context.Context) {
			both(ctx)
			good := awaitReady(ctx, second, v1alpha1.ReasonCompiled, "is in force").Status.Revision
			named := metav1.ObjectMeta{Name: "evenkeel"}
			slip := func() error {
				_ = suite.API.Delete(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: named})
				_ = suite.API.Delete(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: named})
				t := suite.Template(ctx, template)
				t.Spec = fixture.Template(template, fixture.RefuseState,
					`{"type": "object", "properties": {"refused": {"type": "string", "enum": ["red"]}}}`).Spec
				return suite.API.Update(ctx, t)
			}
			Eventually(ctx, slip).Should(Succeed())
			p := awaitReady(ctx, second, v1alpha1.ReasonParametersInvalid,
				`spec.parameters.refused: Unsupported value: "blue"`)
			Expect(p.Status.Revision).To(Equal(good))
			suite.AwaitAdmission(ctx)
			awaitRefusal(ctx, state("one", "blue"), ContainSubstring("state must not be blue"))
			awaitReady(ctx, first, v1alpha1.ReasonCompiled, "is in force")
		})
})

var _ = Describe("Whoever has changed the template of a policy", func() {
	It("may not approve a plan of the policy", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "template-author")
		template, policy := namespace, namespace
		role := editors(ctx)
		ann, bob, cid := userWith(ctx, "ann", role), userWith(ctx, "bob", role),
			userWith(ctx, "cid", "evenkeel-approver")
		userWith(ctx, "ann", "evenkeel-approver")
		userWith(ctx, "bob", "evenkeel-approver")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 1)...)
		suite.CleanUpTemplate(template)
		suite.CleanUp(policy)
		distinct := fixture.Remediated(v1alpha1.RemediationManual, func(s *fixture.Rollout) {
			s.Approval.RequireDistinctApprover = true
		})
		Expect(ann.Create(ctx, fixture.Template(template, fixture.FixState, ""))).To(Succeed())
		p := fixture.Policy(policy, namespace, "", fixture.FromTemplate(template, `{}`), distinct)
		suite.Create(ctx, fixture.StrategyOf(p))
		Expect(bob.Create(ctx, p)).To(Succeed())
		before := suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAwaitingApproval)
		Expect(before.Spec.Plan.Policy.Authors).To(Equal([]string{"bob", "ann"}))

		forged := map[string]string{v1alpha1.AnnotationAuthor: "zoe",
			v1alpha1.AnnotationAuthors: `{"users":["zoe"],"generation":2}`}
		changeTemplate(ctx, ann, template, func(t *v1alpha1.RegoTemplate) {
			t.Spec.Rego.Main += "\n# a comment\n"
			t.Annotations = forged
		})
		var rem *v1alpha1.Remediation
		Eventually(ctx, func(g Gomega) {
			rem = suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAwaitingApproval)
			g.Expect(rem.Spec.Plan.Policy.Revision).NotTo(Equal(before.Spec.Plan.Policy.Revision))
		}).Should(Succeed())
		for name, as := range map[string]client.Client{"ann": ann, "bob": bob} {
			Expect(approve(ctx, as, rem)).To(
				MatchError(ContainSubstring(
					name + " has written policy " + policy + " or its RegoTemplate " + template)))
		}
		Expect(approve(ctx, cid, rem)).To(Succeed())
		suite.AwaitPhase(ctx, policy, v1alpha1.PhaseSucceeded)
	})
})
