// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("The terminal view of a rollout", func() {
	// Most are scaled to zero: what this is about is how many targets there are, and Kubernetes itself takes three
	// quarters of the work for a fleet of Pods that are replaced.
	It("follows a fleet of Deployments from the canary to the end, and ends with it", long, rig.Large,
		SpecTimeout(20*time.Minute), func(ctx context.Context) {
			deployments := rig.Many(80, 500)
			running := deployments / 10
			namespace := suite.Namespace(ctx, "view")
			for i := range deployments {
				d := fixture.Deployment(namespace, fmt.Sprintf("web-%d", i))
				if i%(deployments/running) != 0 {
					d.Spec.Replicas = new(int32)
				}
				suite.Create(ctx, d)
			}
			Eventually(ctx, func(g Gomega) {
				list := &appsv1.DeploymentList{}
				g.Expect(suite.API.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
				seen, available := 0, 0
				for _, d := range list.Items {
					seen += int(d.Status.ObservedGeneration)
					available += int(d.Status.AvailableReplicas)
				}
				g.Expect(seen).To(Equal(deployments))
				g.Expect(available).To(Equal(running))
			}).WithTimeout(5 * time.Minute).Should(Succeed())
			policy := fixture.Policy(namespace, namespace, fixture.RequireTemplateLabel("team", "shop"),
				fixture.Kinds("", "Pod"),
				fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Waves("5%", "25%", "100%"),
					fixture.Concurrent(50), fixture.Deadline(2*time.Minute)))
			suite.CreatePolicy(ctx, policy)
			Eventually(ctx, func() int { return len(suite.Plans(ctx, policy.Name)) }).Should(Equal(1))

			out, err := exec.CommandContext(ctx, suite.Binary(), "rollout", "get", policy.Name, "--watch",
				"--kubeconfig",
				suite.Kubeconfig).CombinedOutput()
			if err != nil {
				shown, _ := exec.CommandContext(ctx, suite.Binary(), "rollout", "get", policy.Name, "--kubeconfig",
					suite.Kubeconfig).CombinedOutput()
				out = append(out, shown...)
			}
			Expect(err).NotTo(HaveOccurred(), "%s", out)
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			GinkgoWriter.Println(string(out))
			Expect(len(lines)).To(BeNumerically(">", 4), "a line for each change")
			Expect(lines[len(lines)-1]).To(
				And(ContainSubstring("Succeeded"), ContainSubstring("%d done, 0 in flight, 0 pending", deployments)))

			out, err = exec.CommandContext(ctx, suite.Binary(), "rollout", "get", policy.Name, "--kubeconfig",
				suite.Kubeconfig).CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), "%s", out)
			GinkgoWriter.Println(string(out))
			last := fmt.Sprintf(`wave 3 +%[1]d of %[1]d `, deployments*3/4)
			for _, part := range []string{`canary +1 of 1 +1 done`, last, `100 %`, `Outcome`} {
				Expect(string(out)).To(MatchRegexp(part))
			}
			Expect(string(out)).NotTo(Or(ContainSubstring("Gates"), ContainSubstring("Before the next plan")),
				"nothing holds a plan that has ended, and its breaker is closed")
		})

	It("of a policy that has changed waits for the next plan, and doesn't show the one that ended",
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "next")
			suite.Create(ctx, fixture.Deployment(namespace, "web"))
			policy := fixture.Policy(namespace, namespace, fixture.RequireTemplateLabel("team", "shop"),
				fixture.Kinds("", "Pod"),
				fixture.Remediated(v1alpha1.RemediationDryRun))
			suite.CreatePolicy(ctx, policy)
			Eventually(ctx, func(g Gomega) {
				plans := suite.Plans(ctx, policy.Name)
				g.Expect(plans).To(HaveLen(1))
				g.Expect(plans[0].Status.Phase).To(Equal(v1alpha1.PhasePreviewed))
			}).Should(Succeed())
			before := policy.DeepCopy()
			policy.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
			Expect(suite.API.Patch(ctx, policy, client.MergeFrom(before))).To(Succeed())

			out, err := exec.CommandContext(ctx, suite.Binary(), "rollout", "get", policy.Name, "--watch",
				"--kubeconfig",
				suite.Kubeconfig).CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), "%s", out)
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			Expect(lines[len(lines)-1]).To(And(ContainSubstring("Succeeded"), ContainSubstring("1 done")), "%s", out)
		})

	It("tells what to do when there is nothing of that name", func(ctx context.Context) {
		out, err := exec.CommandContext(ctx, suite.Binary(), "rollout", "get", "nothing", "--kubeconfig",
			suite.Kubeconfig).CombinedOutput()
		var ended *exec.ExitError
		Expect(errors.As(err, &ended)).To(BeTrue())
		Expect(ended.ExitCode()).To(Equal(3))
		Expect(string(out)).To(
			ContainSubstring(`"nothing" is neither a Remediation nor a policy that has one; see: evenkeel rollout get`))
	})
})
