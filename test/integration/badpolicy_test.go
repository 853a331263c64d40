// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// apply applies a policy as a user would, and returns what kubectl says.
func apply(ctx context.Context, p *v1alpha1.ClusterRegoPolicy) (string, error) {
	GinkgoHelper()
	p = p.DeepCopy()
	p.APIVersion, p.Kind, p.ResourceVersion = v1alpha1.GroupVersion.String(), "ClusterRegoPolicy", ""
	p.ManagedFields, p.Status = nil, v1alpha1.RegoPolicyStatus{}
	text, err := json.Marshal(p)
	Expect(err).NotTo(HaveOccurred())
	_, stderr, err := suite.Kubectl(ctx, string(text), "apply", "-f", "-")
	return stderr, err
}

var _ = Describe("A policy that couldn't work", func() {
	DescribeTable("is refused with the file, the line and the reason, and the revision in force stays",
		func(ctx context.Context, rego string, says ...string) {
			namespace := suite.Namespace(ctx, "badrego")
			policy := fixture.Policy(namespace, namespace, fixture.DenyState("bad"),
				fixture.Enforced(v1alpha1.AdmissionDeny))
			suite.CleanUp(policy.Name)
			_, err := apply(ctx, policy)
			Expect(err).NotTo(HaveOccurred())
			awaitRefusal(ctx, fixture.ConfigMap(namespace, "one"), ContainSubstring("state must not be bad"))
			suite.AwaitScan(ctx, policy.Name, func(Gomega, *v1alpha1.ScanStatus) {})
			inForce := awaitRevision(ctx, policy.Name)

			broken := policy.DeepCopy()
			broken.Spec.Rego.Main = rego
			stderr, err := apply(ctx, broken)
			Expect(err).To(HaveOccurred())
			for _, text := range says {
				Expect(stderr).To(ContainSubstring(strings.ReplaceAll(text, "FILE", policy.Name+".rego")))
			}
			after := suite.Policy(ctx, policy.Name)
			Expect(after.Generation).To(Equal(inForce.Generation))
			Expect(after.Status.Revision).To(Equal(inForce.Status.Revision))
			awaitRefusal(ctx, fixture.ConfigMap(namespace, "two"), ContainSubstring("state must not be bad"))
		},
		Entry("when its Rego doesn't parse",
			"package fixture.broken\n\nimport rego.v1\n\ndeny contains \"x\" if {\n\tx := := 1\n}\n",
			"FILE:6:", "rego_parse_error"),
		Entry("when its Rego doesn't compile",
			"package fixture.broken\n\nimport rego.v1\n\ndeny contains \"x\" if nobody.knows\n",
			"FILE:5:", "rego_unsafe_var_error"),
		Entry("when it uses http.send", "package fixture.broken\n\nimport rego.v1\n\ndeny contains \"x\" if "+
			"http.send({\"url\": \"http://example.com\"}).status_code == 200\n",
			"FILE:5:", "http.send"),
		Entry("when it holds no rule", "package fixture.broken\n\nimport rego.v1\n\nother := 1\n",
			"deny"),
	)

	DescribeTable("is refused at creation with the field and what to do",
		func(ctx context.Context, change func(*v1alpha1.ClusterRegoPolicy), says ...string) {
			policy := fixture.Policy("refused", "nowhere", fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic), change)
			suite.CleanUp(policy.Name)
			stderr, err := apply(ctx, policy)
			Expect(err).To(HaveOccurred())
			for _, text := range says {
				Expect(stderr).To(ContainSubstring(text))
			}
		},
		Entry("for a kind that isn't served", fixture.Kinds("apps", "Deploymint"),
			"spec.match.resources[0].kinds[0]", `serves no kind "Deploymint" in group "apps"`),
		Entry("for a kind that is spelt in another way", fixture.Kinds("apps", "deployments"),
			"spec.match.resources[0].kinds[0]", `did you mean "Deployment" of group "apps"`),
		Entry("for a kind in the wrong group", fixture.Kinds("", "Deployment"),
			"spec.match.resources[0].kinds[0]", `set apiGroups to "apps"`),
		Entry("for one of Evenkeel's own kinds", fixture.Kinds("evenkeel.dev", "ClusterRegoPolicy"),
			"spec.match.resources[0].kinds[0]", "never judged"),
		Entry("for waves that fall", remediated(fixture.Waves("50%", "25%", "100%")),
			"spec.remediation.waves[1]", "never fall"),
		Entry("for a wave that is no share", remediated(fixture.Waves("5 percent", "100%")),
			"spec.remediation.waves[0]", "should match '^([1-9][0-9]?|100)%$'"),
		Entry("for a canary that is no share", remediated(func(s *v1alpha1.RolloutStrategy) {
			size := intstr.FromString("0%")
			s.Canary.Size = &size
		}), "spec.remediation.canary.size"),
		Entry("for a breaker that could never open", remediated(func(s *v1alpha1.RolloutStrategy) {
			s.Breaker.Window.Duration = 1
		}), "spec.remediation.breaker.window"),
		Entry("for a window in a zone nobody knows", remediated(func(s *v1alpha1.RolloutStrategy) {
			s.Windows = []v1alpha1.MaintenanceWindow{
				{Schedule: "0 22 * * 1-5", Duration: metav1.Duration{Duration: time.Hour}, TimeZone: "Europe/Brelin"}}
		}), "spec.remediation.windows[0].timeZone", `"Europe/Brelin" isn't the IANA name of a time zone`),
		Entry("for a window at a time that never comes", remediated(func(s *v1alpha1.RolloutStrategy) {
			s.Windows = []v1alpha1.MaintenanceWindow{
				{Schedule: "0 3 31 2 *", Duration: metav1.Duration{Duration: time.Hour}}}
		}), "spec.remediation.windows[0].schedule", "names a time that never comes"),
		Entry("for a budget of nothing", remediated(func(s *v1alpha1.RolloutStrategy) {
			none := intstr.FromString("0%")
			s.Budget = &v1alpha1.BudgetStrategy{MaxUnavailable: &none}
		}), "spec.remediation.budget.maxUnavailable", "a percentage from"),
		Entry("for a stage that chooses everything", remediated(func(s *v1alpha1.RolloutStrategy) {
			s.Stages = []v1alpha1.RolloutStage{{Name: "all"}}
		}), "spec.remediation.stages[0].selector", "chooses every target"),
		Entry("for a stage by labels that can't be", remediated(staged("staging", "not a value!")),
			"spec.remediation.stages[1].selector.namespaceSelector", `"not a value!"`),
		Entry("for a metric that can't be asked or judged", remediated(func(s *v1alpha1.RolloutStrategy) {
			s.Analysis = &v1alpha1.AnalysisStrategy{Metrics: []v1alpha1.AnalysisMetric{
				{Name: "errors", Query: "sum(rate(errors_total[5m])", SuccessCondition: "sampel < 1.0"}}}
		}), "spec.remediation.analysis.metrics[0].query: isn't PromQL",
			"spec.remediation.analysis.metrics[0].successCondition"),
	)
})

func remediated(change func(*v1alpha1.RolloutStrategy)) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) { change(&p.Spec.Remediation.RolloutStrategy) }
}
