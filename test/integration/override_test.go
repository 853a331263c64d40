// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// soften overrides a policy by the command, to Warn.
func soften(ctx context.Context, policy, lasts string, more ...string) (stdout, stderr string, code int) {
	GinkgoHelper()
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(suite.API.Delete(ctx, overrideOf(policy)))).To(Succeed())
	})
	return evenkeel(ctx, append([]string{"policy", "override", policy, "--enforcement", "Warn", "--for", lasts,
		"--reason", "INC-42"}, more...)...)
}

func overrideOf(policy string) *v1alpha1.PolicyOverride {
	return &v1alpha1.PolicyOverride{ObjectMeta: metav1.ObjectMeta{Name: policy}}
}

// overriddenAs is what a policy's status says of its override: the action in force, empty of a policy that is new, and
// the message of the condition, which is empty without one.
func overriddenAs(ctx context.Context, policy string) (action v1alpha1.AdmissionAction, message string) {
	GinkgoHelper()
	p := suite.Policy(ctx, policy)
	if p.Status.InForce != nil {
		action = p.Status.InForce.AdmissionAction
	}
	if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionOverridden); c != nil {
		message = c.Message
	}
	return action, message
}

// awaitRevision waits until the manager has written of a policy that it is in force.
func awaitRevision(ctx context.Context, name string) (policy *v1alpha1.ClusterRegoPolicy) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		policy = suite.Policy(ctx, name)
		g.Expect(policy.Status.ObservedGeneration).To(Equal(policy.Generation))
		g.Expect(policy.Status.Revision).NotTo(BeEmpty())
	}).Should(Succeed())
	return policy
}

// awaitAsDeclared waits until the policy's status says that it isn't overridden.
func awaitAsDeclared(ctx context.Context, policy string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		action, message := overriddenAs(ctx, policy)
		g.Expect(action).To(Equal(v1alpha1.AdmissionDeny))
		g.Expect(message).To(BeEmpty())
	}).Should(Succeed())
}

// tryBad creates what the policies of these specs refuse, as a dry run.
func tryBad(ctx context.Context, c client.Client, namespace string) error {
	return c.Create(ctx, fixture.ConfigMap(namespace, "bad"), client.DryRunAll)
}

// mayOverride lets a user write overrides, with further verbs on policies.
func mayOverride(ctx context.Context, user string, verbs ...string) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-" + user}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"policyoverrides"},
			Verbs: []string{"get", "create", "update", "patch", "delete"}},
		{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"clusterregopolicies"},
			Verbs: append([]string{"get", "list"}, verbs...)}}}
	bind(ctx, user, role.Name)
	suite.Create(ctx, role)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, role)).To(Succeed()) })
	suite.AwaitPermission(ctx, user, role.Rules[0])
}

// bind gives a user a ClusterRole.
func bind(ctx context.Context, user, role string) {
	GinkgoHelper()
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "test-" + user},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}}
	suite.Create(ctx, binding)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, binding)).To(Succeed()) })
}

var _ = Describe("An override of a policy", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "override") })
	denying := func(ctx context.Context, changes ...fixture.PolicyModifier) {
		GinkgoHelper()
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			append(changes, fixture.Enforced(v1alpha1.AdmissionDeny))...))
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "bad"), ContainSubstring("state must "))
	}

	It("softens it at once, tells so everywhere, changes nothing of the policy, and is cleared",
		func(ctx context.Context) {
			denying(ctx)
			before := awaitRevision(ctx, namespace)
			out, errs, code := soften(ctx, namespace, "1h")
			Expect(code).To(BeZero(), "%s", errs)
			Expect(out).To(MatchRegexp(
				`policy %s: admission action Deny is overridden to Warn until \S+Z by \S+ \(INC-42\)`,
				namespace))

			api, warned := warningClient()
			Expect(tryBad(ctx, api, namespace)).To(Succeed())
			Expect(warned()).To(ContainElement(And(ContainSubstring("state must be good"),
				ContainSubstring("policy overridden from Deny to Warn until "))))
			Eventually(ctx, func(g Gomega) {
				action, message := overriddenAs(ctx, namespace)
				g.Expect(action).To(Equal(v1alpha1.AdmissionWarn))
				g.Expect(message).To(ContainSubstring("admission action Deny is overridden to Warn until"))
			}).Should(Succeed())
			suite.AwaitEvent(ctx, v1alpha1.EventPolicyOverridden, namespace, ContainSubstring("INC-42"))
			told := finds("overrides", "warn", "policy "+namespace+": admission action Deny is overridden")
			Expect(awaitDoctor(ctx, told)).NotTo(Equal(3))
			suite.Create(ctx, fixture.ConfigMap(namespace, "told"))
			out, errs, _ = evenkeel(ctx, "explain", "configmap/told", "-n", namespace)
			Expect(out).To(And(ContainSubstring("overridden: admission action Deny is overridden to Warn until"),
				ContainSubstring("(Medium, Warn, ")), errs)

			after := suite.Policy(ctx, namespace)
			Expect(after.Generation).To(Equal(before.Generation))
			Expect(after.Status.Revision).To(Equal(before.Status.Revision))
			Expect(after.Annotations).To(Equal(before.Annotations))

			out, errs, code = evenkeel(ctx, "policy", "history", namespace)
			Expect(code).To(BeZero(), errs)
			Expect(out).To(MatchRegexp(namespace + ` .* Override +\S+ +INC-42\n`))
			out, errs, code = evenkeel(ctx, "policy", "override", namespace, "--clear")
			Expect(code).To(BeZero(), "%s", errs)
			Expect(out).To(ContainSubstring("is no longer overridden"))
			Expect(tryBad(ctx, suite.API, namespace)).To(MatchError(ContainSubstring("state must be good")))
			awaitAsDeclared(ctx, namespace)
			suite.AwaitEvent(ctx, v1alpha1.EventOverrideEnded, namespace, ContainSubstring("was deleted"))
			Expect(suite.Get(ctx, overrideOf(namespace))).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
			out, _, code = evenkeel(ctx, "policy", "override", namespace, "--clear")
			Expect(code).To(BeZero())
			Expect(out).To(ContainSubstring("isn't overridden"))
		})

	It("ends by itself, also while the manager isn't there, and a policy made anew has none",
		func(ctx context.Context) {
			denying(ctx)
			_, errs, code := soften(ctx, namespace, "12s")
			Expect(code).To(BeZero(), "%s", errs)
			o := overrideOf(namespace)
			Expect(suite.Get(ctx, o)).To(Succeed())
			Expect(tryBad(ctx, suite.API, namespace)).To(Succeed())
			awaitRefusal(ctx, fixture.ConfigMap(namespace, "bad"), ContainSubstring("state must be good"))
			Expect(time.Now()).To(And(BeTemporally(">=", o.Spec.ExpirationTime.Time),
				BeTemporally("<=", o.Spec.ExpirationTime.Add(15*time.Second))))
			awaitAsDeclared(ctx, namespace)
			suite.AwaitEvent(ctx, v1alpha1.EventOverrideEnded, namespace, ContainSubstring("it ended at "))

			_, errs, code = soften(ctx, namespace, "12s")
			Expect(code).To(BeZero(), "%s", errs)
			Expect(suite.Get(ctx, o)).To(Succeed())
			Expect(manager.Kill()).To(Succeed())
			Eventually(ctx, time.Now).Should(BeTemporally(">", o.Spec.ExpirationTime.Time))
			Expect(manager.Start(ctx)).To(Succeed())
			awaitRefusal(ctx, fixture.ConfigMap(namespace, "bad"), ContainSubstring("state must be good"))
			awaitAsDeclared(ctx, namespace)

			_, errs, code = soften(ctx, namespace, "1h")
			Expect(code).To(BeZero(), "%s", errs)
			Expect(tryBad(ctx, suite.API, namespace)).To(Succeed())
			suite.RemovePolicy(ctx, namespace)
			denying(ctx)
			awaitAsDeclared(ctx, namespace)
		})

	It("of a policy of a template outlives a change of the template, whose rule counts", func(ctx context.Context) {
		template := fixture.Template(namespace, fixture.RefuseState, fixture.RefusedSchema)
		suite.CreateTemplate(ctx, template)
		denying(ctx, fixture.FromTemplate(namespace, `{"refused": "bad"}`))
		_, errs, code := soften(ctx, namespace, "1h")
		Expect(code).To(BeZero(), "%s", errs)
		before := awaitRevision(ctx, namespace).Status.Revision

		rig.Update(ctx, suite.API, template, func() {
			template.Spec.Rego.Main = strings.ReplaceAll(fixture.RefuseState, "must not be", "must never be")
		})
		api, warned := warningClient()
		Eventually(ctx, func(g Gomega) {
			g.Expect(tryBad(ctx, api, namespace)).To(Succeed())
			g.Expect(warned()).To(ContainElement(And(ContainSubstring("must never be bad"),
				ContainSubstring("policy overridden from Deny to Warn until "))))
		}).Should(Succeed())
		Eventually(ctx, func() string { return suite.Policy(ctx, namespace).Status.Revision }).ShouldNot(Equal(before))
		action, _ := overriddenAs(ctx, namespace)
		Expect(action).To(Equal(v1alpha1.AdmissionWarn))
	})

	It("of a policy that a source keeps from Git outlives every sync, and ends by itself", func(ctx context.Context) {
		name := namespace + "-a"
		source := suite.NewSource(ctx, namespace, rig.PolicyFiles(name, namespace, "bad"))
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		bad := fixture.ConfigMap(namespace, "bad")
		bad.Data = map[string]string{"state": "bad"}
		awaitRefusal(ctx, bad, ContainSubstring("state must not be bad"))
		before := suite.Policy(ctx, name)
		_, errs, code := soften(ctx, name, "50s")
		Expect(code).To(BeZero(), "%s", errs)
		o := overrideOf(name)
		Expect(suite.Get(ctx, o)).To(Succeed())
		passes := func(when string) {
			GinkgoHelper()
			Expect(suite.API.Create(ctx, bad.DeepCopy(), client.DryRunAll)).To(Succeed(), when)
		}
		source.Ask(ctx)
		passes("after a sync")
		source.Change(ctx, func(src *v1alpha1.PolicySource) { src.Spec.Suspend = true })
		passes("while the source is suspended")
		source.Change(ctx, func(src *v1alpha1.PolicySource) { src.Spec.Suspend = false })
		source.Ask(ctx)
		passes("after it goes on")
		Expect(suite.Policy(ctx, name).Generation).To(Equal(before.Generation), "the source wrote nothing")
		Expect(suite.Events(ctx, v1alpha1.EventPolicyRestored, name)).To(BeEmpty())
		Eventually(ctx, func() error {
			return suite.API.Create(ctx, bad.DeepCopy(), client.DryRunAll)
		}).WithTimeout(2 * time.Minute).Should(MatchError(ContainSubstring("state must not be bad")))
		Expect(time.Now()).To(BeTemporally(">=", o.Spec.ExpirationTime.Time))
	})

	It("lets no new write of the policy's plans begin, and the plan goes on afterwards", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMaps(namespace, 4)...)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Enforced(v1alpha1.AdmissionDeny),
			fixture.Remediated(v1alpha1.RemediationAutomatic, func(s *fixture.Rollout) {
				fixture.CanarySoak(12 * time.Second)(s)
			})))
		planned := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSoaking)
		_, errs, code := soften(ctx, namespace, "1h")
		Expect(code).To(BeZero(), "%s", errs)
		rem := awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonPolicyOverridden)
		Expect(rem.Name).To(Equal(planned.Name))
		Expect(rem.Status.Message).To(ContainSubstring("is overridden to Warn until"))
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1, Pending: 3}))
		Expect(patchedObjects(namespace)).To(HaveLen(1))
		_, errs, code = evenkeel(ctx, "policy", "override", namespace, "--clear")
		Expect(code).To(BeZero(), "%s", errs)
		Expect(suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded).Name).To(Equal(planned.Name),
			"no plan was superseded")
	})

	It("is made with the verb for it alone, in one's own name, and with a reason and a near end",
		func(ctx context.Context) {
			denying(ctx)
			without, with, editor := "writer-of-"+namespace, "oncall-of-"+namespace, "editor-of-"+namespace
			mayOverride(ctx, without)
			mayOverride(ctx, with, "override")
			bind(ctx, editor, "edit")
			_, errs, code := soften(ctx, namespace, "1h", "--as", without)
			Expect(code).To(Equal(3))
			Expect(errs).To(ContainSubstring("that needs the verb override on clusterregopolicies/" + namespace))
			_, errs, code = soften(ctx, namespace, "1h", "--as", editor)
			Expect(code).To(Equal(3))
			Expect(errs).To(ContainSubstring("cannot get resource"))
			forged := manifestOf(ctx, namespace, "1h", "zoe")
			_, _, err := suite.Kubectl(ctx, forged, "create", "--as", editor, "-f", "-")
			Expect(err).To(MatchError(ContainSubstring(`cannot create resource "policyoverrides"`)))

			_, errs, code = soften(ctx, namespace, "1h", "--as", with)
			Expect(code).To(BeZero(), "%s", errs)
			o := overrideOf(namespace)
			Expect(suite.Get(ctx, o)).To(Succeed())
			Expect(v1alpha1.Requests(o)).To(
				HaveExactElements(And(HaveField("User", with), HaveField("Reason", "INC-42"))))
			_, _, err = suite.Kubectl(ctx, "", "delete", "policyoverride", namespace, "--as", without)
			Expect(err).To(MatchError(ContainSubstring("that needs the verb override")))
			Expect(suite.Get(ctx, o)).To(Succeed(), "it is still there")
			_, _, err = suite.Kubectl(ctx, "", "patch", "policyoverride", namespace, "--as", with, "--type=merge",
				"-p", `{"metadata":{"annotations":{"evenkeel.dev/requests":null}}}`)
			Expect(err).NotTo(HaveOccurred())
			Expect(suite.Get(ctx, o)).To(Succeed())
			Expect(v1alpha1.Requests(o)).To(HaveLen(1), "nobody takes themselves off the record")
			Expect(suite.API.Delete(ctx, o)).To(Succeed())

			_, _, err = suite.Kubectl(ctx, forged, "create", "--as", with, "-f", "-")
			Expect(err).NotTo(HaveOccurred())
			Expect(suite.Get(ctx, o)).To(Succeed())
			Expect(v1alpha1.Requests(o)).To(HaveExactElements(HaveField("User", with)), "a forged name is replaced")

			By("taking the same manifest, applied again, for no request: it holds what Git says, and why")
			for range 2 {
				_, _, err = suite.Kubectl(ctx, forged, "apply", "--server-side", "--force-conflicts", "--as", with,
					"-f", "-")
				Expect(err).NotTo(HaveOccurred())
			}
			_, _, err = suite.Kubectl(ctx, forged, "replace", "--as", with, "-f", "-")
			Expect(err).NotTo(HaveOccurred())
			again := overrideOf(namespace)
			Expect(suite.Get(ctx, again)).To(Succeed())
			Expect(v1alpha1.Requests(again)).To(Equal(v1alpha1.Requests(o)))
			Expect(again.Generation).To(Equal(o.Generation))
			Expect(again.Spec.Reason).To(Equal("because"))
			Expect(suite.API.Delete(ctx, o)).To(Succeed())
			_, _, err = suite.Kubectl(ctx, manifestOf(ctx, namespace, "200h", "zoe"), "create", "--as", with, "-f", "-")
			Expect(err).To(MatchError(ContainSubstring("7 days at most")))
		})
})

// manifestOf is an override as YAML, in another's name.
func manifestOf(ctx context.Context, policy, lasts, user string) string {
	GinkgoHelper()
	d, err := time.ParseDuration(lasts)
	Expect(err).NotTo(HaveOccurred())
	end := time.Now().Add(d).UTC().Format(time.RFC3339)
	return `{apiVersion: evenkeel.dev/v1alpha1, kind: PolicyOverride, metadata: {name: ` + policy + `, annotations: ` +
		`{evenkeel.dev/requests: '{"user":"` + user + `","action":"Override","time":"2026-01-01T00:00:00Z"}'}}, ` +
		`spec: {policyUID: ` + string(suite.Policy(ctx, policy).UID) + `, admissionAction: Warn, expirationTime: "` +
		end + `", reason: because}}`
}
