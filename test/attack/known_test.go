// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/policies"
	"evenkeel.dev/evenkeel/test/fixture"
)

// hostPathWithAWarning denies hostPath, and warns by a number in an annotation: a
// rule that whoever writes the object can have fail.
const hostPathWithAWarning = `package hostpath

deny contains "hostPath volumes are forbidden" if {
	some volume in input.pod.spec.volumes
	volume.hostPath
}

warn contains "the pod says that it is large" if to_number(input.pod.metadata.annotations["example.com/size"]) > 10
`

var _ = Describe("A violation that was found", func() {
	pod := func(namespace, name string, containers int) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/app:1.0"}}}}
		for i := range containers {
			p.Spec.InitContainers = append(
				p.Spec.InitContainers, corev1.Container{Name: fmt.Sprintf("i%d", i), Image: "x"})
		}
		return p
	}
	onPods := func(p *v1alpha1.ClusterRegoPolicy) {
		fixture.Kinds("", "Pod")(p)
		fixture.Unselected(p)
		fixture.Enforced(v1alpha1.AdmissionDeny)(p)
	}

	It("refuses though an annotation makes a warning fail, in the class that fails open", func(ctx context.Context) {
		attempt("have a warning fail by an annotation, so that a hostPath Pod passes unjudged")
		namespace := suite.Namespace(ctx, "known")
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, hostPathWithAWarning, onPods))
		hostPath := pod(namespace, "host", 0)
		hostPath.Spec.Volumes = []corev1.Volume{
			{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		awaitRefusal(ctx, hostPath, ContainSubstring("hostPath volumes are forbidden"))

		hostPath.Annotations = map[string]string{"example.com/size": "huge"}
		Expect(suite.API.Create(ctx, hostPath)).To(MatchError(And(
			ContainSubstring("hostPath volumes are forbidden"),
			ContainSubstring("could not be evaluated to its end: rule warn"))))
	})

	It("refuses however many containers the object has", func(ctx context.Context) {
		attempt("have a library policy run into its time limit by 300 init containers in 10 KB")
		namespace := suite.Namespace(ctx, "cost")
		loaded, err := directory.Load(policies.FS, ".")
		Expect(err).NotTo(HaveOccurred())
		for _, p := range loaded {
			if p.Name == "resource-limits" {
				p.ObjectMeta = metav1.ObjectMeta{Name: namespace}
				p.Spec.Match.Namespaces, p.Spec.Admission.FailurePolicy = []string{namespace},
					v1alpha1.FailurePolicyIgnore
				p.Spec.Admission.Action = v1alpha1.AdmissionDeny
				suite.CreatePolicy(ctx, p)
			}
		}
		awaitRefusal(ctx, pod(namespace, "one", 0), ContainSubstring("has no cpu limit"))
		many := fixture.Deployment(namespace, "many", func(o client.Object) {})
		many.Spec.Template.Spec.InitContainers = pod(namespace, "many", 300).Spec.InitContainers
		Expect(suite.API.Create(ctx, many)).To(MatchError(And(
			ContainSubstring("and 1194 more violations"), Not(ContainSubstring("could not be evaluated")))))
	})
})
