// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/cluster"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

const denyEvilImage = `package fixture.images

import rego.v1

deny contains {"msg": "image evil is refused"} if {
	some kind in ["containers", "ephemeralContainers"]
	some c in object.get(input.pod.spec, kind, [])
	c.image == "evil"
}
`

// warnings collect the warning headers of a client.
type warnings struct {
	mu   sync.Mutex
	text []string
}

var _ rest.WarningHandler = &warnings{}

// HandleWarningHeader takes one warning.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

// warningClient returns a client, and what it was warned of so far.
func warningClient() (client.Client, func() []string) {
	GinkgoHelper()
	w := &warnings{}
	config := suite.Config()
	config.WarningHandler = w
	scheme, err := cluster.Scheme()
	Expect(err).NotTo(HaveOccurred())
	api, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return api, func() []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return append([]string{}, w.text...)
	}
}

var _ = Describe("Admission", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "admission") })

	It("refuses under Deny, and names policy, path, reason, fix and runbook, but not an exempt group", func(
		ctx context.Context) {
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Enforced(v1alpha1.AdmissionDeny),
			func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Admission.Exempt.Groups = []string{"break-glass"} }))
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "web"), And(
			ContainSubstring("ConfigMap "+namespace+"/web is refused by policy "+namespace),
			ContainSubstring("/data/state: state must be good"),
			ContainSubstring(`Fix: set /data/state to "good"`),
			ContainSubstring("Runbook: https://example.com/runbooks/"+namespace)))
		suite.Create(ctx, good(namespace))
		config := suite.Config()
		config.Impersonate = rest.ImpersonationConfig{UserName: "dana",
			Groups: []string{"system:masters", "break-glass"}}
		exempt, err := client.New(config, client.Options{})
		Expect(err).NotTo(HaveOccurred())
		Expect(exempt.Create(ctx, fixture.ConfigMap(namespace, "web"))).To(Succeed())
	})

	It("lets through with a warning under Warn, and without one under DryRun", func(ctx context.Context) {
		suite.CreatePolicy(ctx, fixture.Policy(namespace+"-dryrun", namespace, fixture.DenyState("bad")))
		suite.CreatePolicy(ctx, fixture.Policy(namespace+"-warn", namespace, fixture.FixState,
			fixture.Enforced(v1alpha1.AdmissionWarn)))
		api, warned := warningClient()
		Eventually(ctx, func(g Gomega) {
			g.Expect(api.Create(ctx, fixture.ConfigMap(namespace, "web"), client.DryRunAll)).To(Succeed())
			g.Expect(warned()).To(ContainElement("policy " + namespace + "-warn: /data/state: state must be good"))
		}).Should(Succeed())
		Expect(warned()).NotTo(ContainElement(ContainSubstring(namespace + "-dryrun")))
	})

	It("lets an update of an old violator through with a warning, and refuses a new violation",
		func(ctx context.Context) {
			old := fixture.ConfigMap(namespace, "old")
			fine := good(namespace)
			suite.Create(ctx, old, fine)
			suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Enforced(v1alpha1.AdmissionDeny)))
			awaitRefusal(ctx, fixture.ConfigMap(namespace, "new"), ContainSubstring("state must be good"))

			api, warned := warningClient()
			rig.Update(ctx, api, old, func() { old.Data["hotfix"] = "yes" })
			Expect(warned()).To(ContainElement(ContainSubstring("already violated before this change; not blocked")))
			fine.Data["state"] = "worse"
			Expect(api.Update(ctx, fine)).To(MatchError(ContainSubstring("state must be good")))
		})

	It("judges a deletion by the old object", func(ctx context.Context) {
		kept := fixture.ConfigMap(namespace, "kept")
		suite.Create(ctx, kept, good(namespace))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.DenyState("bad"),
			fixture.Enforced(v1alpha1.AdmissionDeny), fixture.On(v1alpha1.OperationDelete)))
		Eventually(ctx, func() error {
			return suite.API.Delete(ctx, kept, client.DryRunAll)
		}).Should(MatchError(ContainSubstring("state must not be bad")))
		Expect(suite.API.Delete(ctx, good(namespace))).To(Succeed())
		suite.Create(ctx, fixture.ConfigMap(namespace, "created"))
	})

	It("lets an old violator be scaled, and its pods come up", func(ctx context.Context) {
		old := fixture.Deployment(namespace, "old")
		suite.Create(ctx, old)
		policy := fixture.Policy(namespace, namespace, fixture.RequireTemplateLabel("team", "shop"),
			fixture.Kinds("", "Pod"), fixture.Enforced(v1alpha1.AdmissionDeny), fixture.Unselected)
		suite.CreatePolicy(ctx, policy)
		awaitRefusal(ctx, fixture.Deployment(namespace, "new"), And(
			ContainSubstring("Deployment "+namespace+"/new"), ContainSubstring("/spec/template/metadata/labels")))

		_, _, err := suite.Kubectl(ctx, "", "scale", "deployment", "old", "-n", namespace, "--replicas=3")
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, old)).To(Succeed())
			g.Expect(old.Status.ReadyReplicas).To(BeEquivalentTo(3))
		}).Should(Succeed())
		suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
			g.Expect(s.Violating).To(BeEquivalentTo(1), "its ReplicaSet and Pods are judged at the Deployment")
		})

		By("refusing a bare Pod that claims to be a Deployment's")
		pod := &corev1.Pod{Spec: old.Spec.Template.Spec}
		pod.Namespace, pod.Name = namespace, "forged"
		replicaSets := &appsv1.ReplicaSetList{}
		Expect(suite.API.List(ctx, replicaSets, client.InNamespace(namespace))).To(Succeed())
		owner := replicaSets.Items[0]
		fixture.ControlledBy(fixture.Controller("apps/v1", "ReplicaSet", &owner))(pod)
		awaitRefusal(ctx, pod, ContainSubstring("Pod "+namespace+"/forged"))
	})

	It("judges a container that is added to a running Pod", func(ctx context.Context) {
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, denyEvilImage,
			fixture.Kinds("", "Pod"), fixture.Enforced(v1alpha1.AdmissionDeny), fixture.Unselected))
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "good"}}}}
		pod.Namespace, pod.Name = namespace, "web"
		// The namespace's service account comes a moment later.
		Eventually(ctx, func() error { return suite.API.Create(ctx, pod) }).Should(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, pod)).To(Succeed())
			debugWith(pod, "evil")
			g.Expect(suite.API.SubResource("ephemeralcontainers").Update(ctx, pod, client.DryRunAll)).To(
				MatchError(ContainSubstring("image evil is refused")))
		}).Should(Succeed())
		Eventually(ctx, func(g Gomega) { // its node writes its status meanwhile
			g.Expect(suite.Get(ctx, pod)).To(Succeed())
			debugWith(pod, "good")
			g.Expect(suite.API.SubResource("ephemeralcontainers").Update(ctx, pod)).To(Succeed())
		}).Should(Succeed())
	})

	It("answers 100 requests at once while policies are swapped, each by one whole revision",
		func(ctx context.Context) {
			revision := func(n int) string {
				return fmt.Sprintf("package fixture.swap\n\nimport rego.v1\n\ndeny contains {\"msg\": \"refused by "+
					"revision %[1]d, part one\"} if input.object.data.state == \"bad\"\n\n"+
					"deny contains {\"msg\": \"refused by revision %[1]d, part two\"} if input.object.data.state == "+
					"\"bad\"\n", n)
			}
			policy := fixture.Policy(namespace, namespace, revision(0), fixture.Enforced(v1alpha1.AdmissionDeny),
				fixture.OnFailure(v1alpha1.FailurePolicyFail))
			suite.CreatePolicy(ctx, policy)
			awaitRefusal(ctx, fixture.ConfigMap(namespace, "web"), ContainSubstring("revision 0"))

			const requests, swaps, rounds = 100, 20, 5
			var swapping, asking sync.WaitGroup
			swapping.Go(func() {
				defer GinkgoRecover()
				for n := 1; n <= swaps; n++ {
					suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.ClusterRegoPolicy) {
						p.Spec.Rego.Main = revision(n)
					})
				}
			})
			for i := range requests {
				asking.Go(func() {
					defer GinkgoRecover()
					for range rounds {
						name := fmt.Sprintf("web-%d", i)
						if i%2 == 0 {
							fine := good(namespace)
							fine.Name = name
							Expect(answered(ctx, fine)).To(Succeed())
							continue
						}
						expectOneRevision(answered(ctx, fixture.ConfigMap(namespace, name)))
					}
				})
			}
			asking.Wait()
			swapping.Wait()
			awaitRefusal(ctx, fixture.ConfigMap(namespace, "web"), ContainSubstring(fmt.Sprintf("revision %d,", swaps)))
		})
})

// answered is what admission answers to a dry run, which is asked again where a busy machine gave none in time.
func answered(ctx context.Context, o client.Object) (err error) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		if err = suite.API.Create(ctx, o, client.DryRunAll); err != nil &&
			strings.Contains(err.Error(), "failed calling webhook") {
			return err
		}
		return nil
	}).Should(Succeed())
	return err
}

// expectOneRevision expects a refusal that both parts of one revision speak in.
func expectOneRevision(err error) {
	GinkgoHelper()
	Expect(err).To(HaveOccurred())
	said := regexp.MustCompile(`refused by revision (\d+), part (one|two)`).FindAllStringSubmatch(err.Error(), -1)
	Expect(said).To(HaveLen(2), err.Error())
	Expect(said[0][1]).To(Equal(said[1][1]), err.Error())
}

// debugWith adds a container to a Pod, as kubectl debug does.
func debugWith(pod *corev1.Pod, image string) {
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: image}}}
}
