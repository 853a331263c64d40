// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("The history of plans", func() {
	var (
		namespace string
		policy    *v1alpha1.ClusterRegoPolicy
	)
	names := func(ctx context.Context) []string {
		var out []string
		for _, rem := range suite.Plans(ctx, policy.Name) {
			out = append(out, rem.Name)
		}
		return out
	}
	// fixAgain lets an object drift, and waits until a further plan has fixed it.
	fixAgain := func(ctx context.Context) {
		GinkgoHelper()
		before := names(ctx)
		suite.Create(ctx, fixture.ConfigMap(namespace, "drift-after-"+before[len(before)-1]))
		Eventually(ctx, func(g Gomega) {
			plans := suite.Plans(ctx, policy.Name)
			g.Expect(before).NotTo(ContainElement(plans[len(plans)-1].Name))
			g.Expect(plans[len(plans)-1].Status.Phase).To(Equal(v1alpha1.PhaseSucceeded))
		}).Should(Succeed())
	}
	// ended says that a plan ended some time ago.
	ended := func(ctx context.Context, name string, ago time.Duration) {
		GinkgoHelper()
		rem := &v1alpha1.Remediation{}
		rem.Name = name
		at := metav1.NewMicroTime(time.Now().Add(-ago))
		rig.UpdateStatus(ctx, suite.AsManager(), rem, func() { rem.Status.CompletionTime = &at })
	}

	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "history")
		policy = fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic,
				func(s *fixture.Rollout) {
					s.History.Limit, s.History.MaxAge.Duration = 2, 24*time.Hour
				}))
		suite.Create(ctx, fixture.ConfigMap(namespace, "target"))
		suite.CreatePolicy(ctx, policy)
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		fixAgain(ctx)
		fixAgain(ctx)
	})

	It("is kept by count and by age, and never loses its latest plan nor what the memory of fights needs",
		func(ctx context.Context) {
			plans := names(ctx)
			Expect(plans).To(HaveLen(3), "all were made just now, and their fixes are remembered")

			By("count: the oldest has cooled down")
			ended(ctx, plans[0], 5*time.Hour)
			Eventually(ctx, func() []string { return names(ctx) }).Should(Equal(plans[1:]))
			By("age: one more ended two days ago")
			ended(ctx, plans[1], 48*time.Hour)
			Eventually(ctx, func() []string { return names(ctx) }).Should(Equal(plans[2:]))
			By("age of the latest")
			ended(ctx, plans[2], 48*time.Hour)
			fixAgain(ctx)
			Eventually(ctx, func() []string { return names(ctx) }).Should(
				And(HaveLen(1), Not(ContainElement(plans[2]))))
			slices := &v1alpha1.RemediationSliceList{}
			Eventually(ctx, func(g Gomega) {
				g.Expect(suite.API.List(ctx, slices, client.MatchingLabels{v1alpha1.LabelPolicy: policy.Name})).To(
					Succeed())
				g.Expect(slices.Items).To(HaveLen(1), "slices go with their plan")
			}).Should(Succeed())
		})

	It("is read from the API by the command that docs/operate.md names", func(ctx context.Context) {
		if _, err := exec.LookPath("jq"); err != nil {
			Skip("jq isn't installed")
		}
		page, err := os.ReadFile("../../docs/operate.md")
		Expect(err).NotTo(HaveOccurred())
		found := regexp.MustCompile("(?s)<!-- history -->\n```[^\n]*\n(.*?)\n```").FindSubmatch(page)
		Expect(found).NotTo(BeNil())
		command := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(string(found[1]), "POLICY", policy.Name))
		command.Env = append(os.Environ(), "KUBECONFIG="+suite.Kubeconfig,
			"PATH="+filepath.Dir(suite.KubectlPath)+":"+os.Getenv("PATH"))
		out, err := command.Output()
		Expect(err).NotTo(HaveOccurred())
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		Expect(lines).To(HaveLen(3))
		plan := suite.Plans(ctx, policy.Name)[0]
		Expect(lines).To(ContainElement(And(
			ContainSubstring(`"object":"ConfigMap `+namespace+`/target","state":"Done"`),
			ContainSubstring(`"plan":"`+plan.Name+`","revision":"`+plan.Spec.Plan.Policy.Revision+`"`),
			ContainSubstring(`{"after":"good","before":"bad","path":"/data/state"}`))))
	})
})
