// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/policies"
)

// fromLibrary is a policy of the library as it is shipped.
func fromLibrary(name string) *v1alpha1.ClusterRegoPolicy {
	GinkgoHelper()
	library, err := directory.Load(policies.FS, ".")
	Expect(err).NotTo(HaveOccurred())
	at := slices.IndexFunc(library, func(p *v1alpha1.ClusterRegoPolicy) bool { return p.Name == name })
	Expect(at).To(BeNumerically(">=", 0), "the library has no policy %s", name)
	return library[at]
}

// reachIn asks the API server for a stream into a Pod. No kubelet answers here: what
// isn't refused fails later, for another reason.
func reachIn(ctx context.Context, api kubernetes.Interface, namespace, pod, way string, options runtime.Object) error {
	request := api.CoreV1().RESTClient().Post()
	if way == "proxy" {
		request = api.CoreV1().RESTClient().Get()
	}
	return request.Resource("pods").Namespace(namespace).Name(pod).SubResource(way).
		VersionedParams(options, scheme.ParameterCodec).Do(ctx).Error()
}

var _ = Describe("Streams into Pods", func() {
	It("are refused by the library's policy where the namespace says so, and nowhere else", func(ctx context.Context) {
		attempt("open a shell, a port and the proxy into a Pod of a protected namespace")
		policy := fromLibrary("no-exec")
		protected, open := suite.Namespace(ctx, "protected"), suite.Namespace(ctx, "open")
		home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: protected}}
		Expect(suite.API.Patch(ctx, home, client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"labels":{"evenkeel.dev/interactive-access":"denied"}}}`)))).To(Succeed())
		for _, namespace := range []string{protected, open} {
			pod := &corev1.Pod{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1"}}}}
			pod.Namespace, pod.Name = namespace, "web"
			// The namespace's ServiceAccount comes a moment after it.
			Eventually(ctx, func() error { return suite.API.Create(ctx, pod.DeepCopy()) }).Should(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(suite.Get(ctx, pod)).To(Succeed())
				g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
			}).Should(Succeed())
		}
		api, err := kubernetes.NewForConfig(suite.Config())
		Expect(err).NotTo(HaveOccurred())
		ways := map[string]runtime.Object{
			"exec":        &corev1.PodExecOptions{Container: "app", Command: []string{"sh"}, Stdout: true},
			"attach":      &corev1.PodAttachOptions{Container: "app", Stdout: true},
			"portforward": &corev1.PodPortForwardOptions{Ports: []int32{80}},
			"proxy":       &corev1.PodProxyOptions{Path: "/"},
		}
		refused := ContainSubstring("refused by policy no-exec")
		Expect(reachIn(ctx, api, protected, "web", "exec", ways["exec"])).To(
			MatchError(Not(refused)), "before the policy")
		suite.CreatePolicy(ctx, policy)
		for way, options := range ways {
			Eventually(ctx, func() error { return reachIn(ctx, api, protected, "web", way, options) }).
				Should(MatchError(And(ContainSubstring(way+" of Pod "+protected+"/web is refused by policy no-exec"),
					ContainSubstring(way+" into Pods of namespace "+protected+" is refused"))))
			Expect(reachIn(ctx, api, open, "web", way, options)).To(MatchError(Not(refused)), way)
		}
	})
})
