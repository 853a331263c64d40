// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("The mark on an object that was changed", func() {
	const key = v1alpha1.AnnotationLastRemediation
	var (
		namespace string
		names     []string
	)
	annotations := func(ctx context.Context) map[string]map[string]string {
		GinkgoHelper()
		list := &corev1.ConfigMapList{}
		Expect(suite.API.List(ctx, list, client.InNamespace(namespace),
			client.MatchingLabels(fixture.TargetLabels()))).To(Succeed())
		out := map[string]map[string]string{}
		for _, c := range list.Items {
			out[c.Name] = c.Annotations
		}
		return out
	}
	annotate := func(ctx context.Context, name, value string) {
		GinkgoHelper()
		object := &corev1.ConfigMap{}
		object.Namespace, object.Name = namespace, name
		Expect(suite.API.Patch(ctx, object, client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)))).To(Succeed())
	}
	fixed := func(ctx context.Context) *v1alpha1.Remediation {
		GinkgoHelper()
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Enforced(v1alpha1.AdmissionDeny), fixture.OnFailure(v1alpha1.FailurePolicyFail),
			fixture.Remediated(v1alpha1.RemediationAutomatic)))
		return suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
	}
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "mark")
		objects := fixture.ConfigMaps(namespace, 3)
		names = nil
		for _, o := range objects {
			names = append(names, o.GetName())
		}
		suite.Create(ctx, objects...)
	})

	It("names the plan, in the write of the fix and in no diff; the undo restores what was there, and keeps what "+
		"somebody has made of it", func(ctx context.Context) {
		annotate(ctx, names[1], "an-earlier-plan")
		rem := fixed(ctx)
		for _, name := range names {
			Expect(annotations(ctx)[name]).To(Equal(map[string]string{key: rem.Name}))
			record := suite.RecordOf(ctx, rem, name)
			for _, f := range record.Write.Fields {
				Expect(f.Path).To(HavePrefix("/data/"))
			}
			Expect(record.Write.Beyond).To(BeEmpty())
		}
		Expect(patchedObjects(namespace)).To(HaveLen(len(names)), "one write each")
		out, errs, _ := evenkeel(ctx, "explain", "configmap/"+names[0], "-n", namespace)
		Expect(out).To(And(ContainSubstring(key+" names plan "+rem.Name), ContainSubstring("written at")), errs)
		out, errs, _ = evenkeel(ctx, "rollout", "get", rem.Name)
		Expect(out).NotTo(ContainSubstring(key), errs)

		annotate(ctx, names[2], "somebody")
		_, errs, code := evenkeel(ctx, "rollout", "undo", namespace)
		Expect(code).To(BeZero(), errs)
		rem = suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseRolledBack)
		Expect(rem.Status.Counts.Reverted).To(BeEquivalentTo(len(names)), rem.Status.Message)
		Expect(annotations(ctx)).To(Equal(map[string]map[string]string{
			names[0]: nil, names[1]: {key: "an-earlier-plan"}, names[2]: {key: "somebody"}}))
	})

	It("isn't set when it is turned off", func(ctx context.Context) {
		restartWith(ctx, "--remediation-annotate-objects=false")
		rem := fixed(ctx)
		for _, name := range names {
			Expect(annotations(ctx)[name]).To(BeEmpty())
			Expect(suite.RecordOf(ctx, rem, name).State).To(Equal(v1alpha1.TargetDone))
		}
	})
})
