// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// evenkeel runs the command line against the suite's cluster as an administrator.
func evenkeel(ctx context.Context, args ...string) (stdout, stderr string, code int) {
	GinkgoHelper()
	return suite.CommandLine(ctx, args...)
}

// scanned is what the command line says of a policy, in the terms of its status.
func scanned(ctx context.Context, policy string) v1alpha1.ScanStatus {
	GinkgoHelper()
	out, errs, _ := evenkeel(ctx, "scan", "--in-force", "--only", policy, "-o", "json")
	var report struct {
		Incomplete []string
		Results    []struct {
			Violations []any
			Waived     any
			Error      string
		}
	}
	Expect(json.Unmarshal([]byte(out), &report)).To(Succeed(), errs)
	Expect(report.Incomplete).To(BeEmpty())
	var s v1alpha1.ScanStatus
	for _, r := range report.Results {
		if r.Error != "" {
			s.Errors++ // what was found beside it counts too
		}
		switch {
		case r.Waived != nil:
			s.Waived++
		case len(r.Violations) > 0:
			s.Violating++
			s.Violations += int32(len(r.Violations))
		}
	}
	return s
}

// failsOnBad can't judge objects whose data.state is "bad", and denies those whose
// state isn't "good".
const failsOnBad = `package fixture.fails_on_bad

import rego.v1

deny contains "state must be good" if input.object.data.state != "good"

deny contains "patched is odd" if {
	input.object.data.state == "bad"
	to_number("x") > 0
}
`

var _ = Describe("The command line's scan", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "cli-scan") })

	It("counts what the controller's scan counts, of violating, waived and failing objects, and of Pods at their "+
		"owners", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMaps(namespace, 4)...)
		other := fixture.ConfigMap(namespace, "other")
		other.Data["state"] = "worse"
		fine := fixture.ConfigMap(namespace, "fine")
		fine.Data["state"] = "good"
		suite.Create(ctx, other, fine, fixture.Deployment(namespace, "web"), fixture.Deployment(namespace, "api"))
		suite.Create(ctx, &v1alpha1.Waiver{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "legacy"},
			Spec: v1alpha1.WaiverSpec{Match: v1alpha1.WaiverMatch{Names: []string{"target-0"}},
				WaiverTerms: v1alpha1.WaiverTerms{
					Policies: []string{namespace + "-state"}, Reason: "moved next month",
					ExpirationTime: metav1.NewTime(time.Now().Add(time.Hour))}},
		})
		state := fixture.Policy(namespace+"-state", namespace, fixture.FixState)
		broken := fixture.Policy(namespace+"-broken", namespace, failsOnBad)
		template := fixture.Policy(namespace+"-template", namespace, fixture.RequireTemplateLabel("team", "shop"),
			fixture.Kinds("", "Pod"))
		for _, p := range []*v1alpha1.ClusterRegoPolicy{state, broken, template} {
			suite.CreatePolicy(ctx, p)
		}
		want := map[string]v1alpha1.ScanStatus{
			state.Name:    {Violating: 4, Violations: 4, Waived: 1},
			broken.Name:   {Violating: 5, Violations: 5, Errors: 4},
			template.Name: {Violating: 2, Violations: 2},
		}
		for name, counts := range want {
			suite.AwaitScan(ctx, name, func(g Gomega, s *v1alpha1.ScanStatus) {
				g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
				g.Expect([]int32{s.Violating, s.Violations, s.Waived, s.Errors}).To(
					Equal([]int32{counts.Violating, counts.Violations, counts.Waived, counts.Errors}))
			})
			Expect(scanned(ctx, name)).To(Equal(counts), name)
		}
	})

	It("says what it may not list, ends with code 3, and accepts it when told to", func(ctx context.Context) {
		suite.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nobody"}})
		as := "--as=system:serviceaccount:" + namespace + ":nobody"
		out, errs, code := evenkeel(ctx, "scan", as, "--only", "owner-labels")
		Expect(code).To(Equal(3), errs)
		Expect(out).To(ContainSubstring(
			"Deployment of group apps may not be listed: ask for the permission to list deployments.apps"))
		_, errs, code = evenkeel(ctx, "scan", as, "--only", "owner-labels", "--allow-incomplete")
		Expect(code).To(Equal(0), errs)
	})

	It("doesn't call a namespace clean that isn't there", func(ctx context.Context) {
		_, errs, code := evenkeel(ctx, "scan", "-n", namespace+"-misspelt", "--only", "owner-labels")
		Expect(code).To(Equal(3), errs)
		Expect(errs).To(ContainSubstring("there is no namespace %q", namespace+"-misspelt"))
	})
})
