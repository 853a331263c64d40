// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

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
	It("is refused with the file, the line and the reason, and the revision in force stays", func(ctx context.Context) {
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
		broken.Spec.Rego.Main = "package fixture.broken\n\nimport rego.v1\n\ndeny contains \"x\" if nobody.knows\n"
		stderr, err := apply(ctx, broken)
		Expect(err).To(HaveOccurred())
		Expect(stderr).To(And(ContainSubstring(policy.Name+".rego:5:"), ContainSubstring("rego_unsafe_var_error")))
		after := suite.Policy(ctx, policy.Name)
		Expect(after.Generation).To(Equal(inForce.Generation))
		Expect(after.Status.Revision).To(Equal(inForce.Status.Revision))
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "two"), ContainSubstring("state must not be bad"))
	})

	// internal/webhook/validation and internal/canary hold the other reasons to refuse one.
	It("is refused at creation with the field and what to do", func(ctx context.Context) {
		policy := fixture.Policy("refused", "nowhere", fixture.FixState, fixture.Kinds("apps", "deployments"))
		suite.CleanUp(policy.Name)
		stderr, err := apply(ctx, policy)
		Expect(err).To(HaveOccurred())
		Expect(stderr).To(And(ContainSubstring("spec.match.kinds[0].kinds[0]"),
			ContainSubstring(`did you mean "Deployment" of group "apps"`)))
	})
})
