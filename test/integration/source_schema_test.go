// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("The schema of policy sources", func() {
	source := func(changes ...func(*v1alpha1.PolicySourceSpec)) *v1alpha1.PolicySource {
		src := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Namespace: rig.SystemNamespace, Name: "schema"},
			Spec: v1alpha1.PolicySourceSpec{URL: "https://git.example.com/platform/policies.git"}}
		for _, change := range changes {
			change(&src.Spec)
		}
		return src
	}

	DescribeTable("takes", func(ctx context.Context, change func(*v1alpha1.PolicySourceSpec)) {
		Expect(suite.API.Create(ctx, source(change), client.DryRunAll)).To(Succeed())
	},
		Entry("ssh", func(s *v1alpha1.PolicySourceSpec) { s.URL = "ssh://git@git.example.com:2222/policies.git" }),
		Entry("a directory in a directory", func(s *v1alpha1.PolicySourceSpec) {
			s.Path = "clusters/prod.eu/policies"
		}),
		Entry("a commit", func(s *v1alpha1.PolicySourceSpec) {
			s.Ref = &v1alpha1.SourceReference{Commit: strings.Repeat("0a", 20)}
		}),
	)

	DescribeTable("refuses", func(ctx context.Context, says string, change func(*v1alpha1.PolicySourceSpec)) {
		Expect(suite.API.Create(ctx, source(change), client.DryRunAll)).To(MatchError(ContainSubstring(says)))
	},
		Entry("a protocol that proves nothing", "url must be https", func(s *v1alpha1.PolicySourceSpec) {
			s.URL = "http://git.example.com/policies.git"
		}),
		Entry("a file of another host", "url must be https", func(s *v1alpha1.PolicySourceSpec) {
			s.URL = "file://elsewhere/policies.git"
		}),
		Entry("the short form of ssh", "ssh://git@HOST/PATH", func(s *v1alpha1.PolicySourceSpec) {
			s.URL = "git@git.example.com:policies.git"
		}),
		Entry("a password in the URL", "must not hold a password", func(s *v1alpha1.PolicySourceSpec) {
			s.URL = "https://me:secret@git.example.com/policies.git"
		}),
		Entry("two things to follow", "give one of branch, tag, semver and commit", func(s *v1alpha1.PolicySourceSpec) {
			s.Ref = &v1alpha1.SourceReference{Branch: "main", Tag: "v1"}
		}),
		Entry("a path that leaves the repository", "path must lie within", func(s *v1alpha1.PolicySourceSpec) {
			s.Path = "a/../../b"
		}),
		Entry("a short interval", "from 10s to 24h", func(s *v1alpha1.PolicySourceSpec) {
			s.Interval.Duration = time.Second
		}),
		Entry("a share of removals that isn't one", "maxRemoved must be", func(s *v1alpha1.PolicySourceSpec) {
			s.MaxRemoved = ptr.To(intstr.FromString("101%"))
		}),
		Entry("a number of removals below none", "maxRemoved must be", func(s *v1alpha1.PolicySourceSpec) {
			s.MaxRemoved = ptr.To(intstr.FromInt32(-1))
		}),
		Entry("a history that isn't known", "history", func(s *v1alpha1.PolicySourceSpec) { s.History = "Linear" }),
		Entry("an override that changes nothing", "changes nothing", func(s *v1alpha1.PolicySourceSpec) {
			s.Overrides = []v1alpha1.SourceOverride{{Policies: []string{"a"}}}
		}),
		Entry("an override of a mode that isn't known", "remediationMode", func(s *v1alpha1.PolicySourceSpec) {
			s.Overrides = []v1alpha1.SourceOverride{{RemediationMode: "Sometimes"}}
		}),
	)
})
