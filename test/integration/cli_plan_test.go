// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/test/fixture"
)

// previewed is the plan that the command line shows of a policy.
func previewed(ctx context.Context, args ...string) (preview.Plan, int) {
	GinkgoHelper()
	out, errs, code := evenkeel(ctx, append([]string{"plan", "-o", "json"}, args...)...)
	var plan preview.Plan
	Expect(json.Unmarshal([]byte(out), &plan)).To(Succeed(), errs)
	return plan, code
}

// waved are the names of the targets, each with its wave, sorted.
func waved(plan preview.Plan) []string {
	var names []string
	for i, w := range plan.Waves {
		for _, t := range w.Targets {
			names = append(names, fmt.Sprintf("%d %s", i, t.Object.Name))
		}
	}
	slices.Sort(names)
	return names
}

func reasonsOf(plan preview.Plan) map[string]string {
	reasons := map[string]string{}
	for _, t := range plan.Skipped {
		reasons[t.Object.Name] = t.Reason
	}
	return reasons
}

var _ = Describe("The command line's plan", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "cli-plan") })

	It("is the one that the manager then makes: the same name, targets and waves", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMaps(namespace, 24)...)
		suite.Create(ctx, fixture.ConfigMap(
			namespace, "paused", fixture.Annotated(v1alpha1.AnnotationRemediation, v1alpha1.RemediationPaused)),
			fixture.ConfigMap(namespace, "helm", fixture.Labelled("app.kubernetes.io/managed-by", "Helm"),
				fixture.Annotated("meta.helm.sh/release-name", "shop"),
				fixture.Annotated("meta.helm.sh/release-namespace", namespace)),
			fixture.ConfigMap(namespace, "critical", fixture.Labelled(v1alpha1.LabelTier, "critical")))
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationDisabled, fixture.Waves("20%", "60%", "100%")))
		suite.CreatePolicy(ctx, policy)

		plan, code := previewed(ctx, policy.Name, "--diff")
		Expect(code).To(Equal(1))
		Expect(plan.Holds).To(HaveLen(1))
		Expect(plan.Holds[0].Reason).To(Equal("ModeDisabled"))
		Expect(plan.MissingPermissions).To(BeEmpty())
		Expect(plan.Targets()).To(Equal(25))
		Expect(reasonsOf(plan)).To(Equal(map[string]string{"paused": "OptOut", "helm": "Managed"}))
		for _, w := range plan.Waves {
			for _, t := range w.Targets {
				Expect(t.Reason).To(BeEmpty(), t.Message)
				Expect(t.Diff).To(ContainSubstring("state: good"), t.Object.Name)
			}
		}
		Expect(suite.Plans(ctx, policy.Name)).To(BeEmpty(), "looking changes nothing")

		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
		})
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		var made []string
		for _, r := range suite.Records(ctx, rem) {
			if r.State == v1alpha1.TargetDone {
				made = append(made, fmt.Sprintf("%d %s", r.PlannedWave, r.Object.Name))
			}
		}
		slices.Sort(made)
		Expect(waved(plan)).To(Equal(made))
		Expect(plan.Remediation).To(Equal(rem.Name))

		plan, code = previewed(ctx, policy.Name)
		Expect(code).To(Equal(0))
		Expect(plan.Targets()).To(BeZero())
	})

	It("tells of missing permissions, a closed window and approval, for a policy that isn't applied",
		func(ctx context.Context) {
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: fixture.TargetLabels()},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
			suite.Create(ctx, service)
			policy := fixture.Policy(namespace, namespace, ownService, fixture.Kinds("", "Service"),
				fixture.Remediated(v1alpha1.RemediationManual, func(s *fixture.Rollout) {
					s.Windows = []v1alpha1.MaintenanceWindow{
						{Schedule: "0 0 29 2 *", Duration: metav1.Duration{Duration: time.Minute}}}
				}))
			plan, code := previewed(ctx, policy.Name, "-p", fileOf(policy))
			Expect(code).To(Equal(1))
			Expect(waved(plan)).To(Equal([]string{"0 web"}))
			var reasons []string
			for _, h := range plan.Holds {
				reasons = append(reasons, h.Reason)
			}
			Expect(reasons).To(Equal([]string{"AwaitingApproval", "OutsideWindow", "MissingPermissions"}))
			Expect(plan.MissingPermissions).To(
				ConsistOf(`{apiGroups: [""], resources: ["services"], verbs: ["patch"]} for namespaces ` + namespace))
			Expect(plan.Remediation).To(BeEmpty(), "no policy, no name")

			By("asking as somebody who may read, and may not ask what others may do")
			suite.Create(ctx, &corev1.ServiceAccount{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"}})
			binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace},
				RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "evenkeel-reader"},
				Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "viewer"}}}
			approver := binding.DeepCopy()
			approver.Name, approver.RoleRef.Name = namespace+"-view", "evenkeel-manager"
			suite.Create(ctx, binding, approver)
			DeferCleanup(func(ctx context.Context) {
				Expect(suite.API.Delete(ctx, binding)).To(Succeed())
				Expect(suite.API.Delete(ctx, approver)).To(Succeed())
			})
			Eventually(ctx, func(g Gomega) {
				out, errs, code := evenkeel(ctx, "plan", policy.Name, "-p", fileOf(policy),
					"--as=system:serviceaccount:"+namespace+":viewer")
				g.Expect(code).To(Equal(1), errs)
				g.Expect(out).To(ContainSubstring("you may not create subjectaccessreviews.authorization.k8s.io"))
			}).Should(Succeed())
		})
})
