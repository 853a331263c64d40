// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// finding is a line of evenkeel doctor.
type finding struct{ Check, Status, Message, Do string }

// doctor asks it for its findings.
func doctor(ctx context.Context, args ...string) (findings []finding, code int) {
	GinkgoHelper()
	out, _, code := evenkeel(ctx, append([]string{"doctor", "-o", "json"}, args...)...)
	Expect(json.Unmarshal([]byte(out), &findings)).To(Succeed(), out)
	return findings, code
}

// finds matches a finding.
func finds(check, status, message string) gomegatypes.GomegaMatcher {
	return And(HaveField("Check", check), HaveField("Status", status), HaveField("Message", ContainSubstring(message)))
}

// awaitDoctor waits until doctor says something, and returns with which code.
func awaitDoctor(ctx context.Context, what any) (code int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		var found []finding
		found, code = doctor(ctx)
		g.Expect(found).To(ContainElement(what))
	}).Should(Succeed())
	return code
}

var _ = Describe("The doctor", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "doctor") })
	// led is a lease of a leader, held a moment ago or long before.
	led := func(ctx context.Context, in string, at time.Time) {
		GinkgoHelper()
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: "evenkeel-leader"},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("evenkeel-7d4b"), LeaseDurationSeconds: ptr.To(int32(15)),
				RenewTime: ptr.To(metav1.NewMicroTime(at))}}
		suite.Create(ctx, lease)
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, lease)).To(Succeed()) })
	}

	It("finds a sound installation without a failure, and changes nothing", func(ctx context.Context) {
		suite.AwaitAdmission(ctx)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.DenyState("bad"),
			fixture.Enforced(v1alpha1.AdmissionDeny)))
		suite.AwaitScan(ctx, namespace, func(g Gomega, s *v1alpha1.ScanStatus) {
			g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
		})
		suite.RemoveStrayPlans(ctx)
		Eventually(ctx, func(g Gomega) {
			found, code := doctor(ctx)
			g.Expect(found).NotTo(ContainElement(HaveField("Status", "fail")))
			g.Expect(code).To(Equal(0))
			for _, check := range []string{"api-server", "kinds", "leader", "webhooks", "requests", "cold-start",
				"certificate", "admission", "policies", "sources", "scan", "read-permissions", "opt-outs"} {
				g.Expect(found).To(ContainElement(finds(check, "ok", "")), check)
			}
			g.Expect(found).To(ContainElement(finds("manager", "ok", "runs outside the cluster, at https://")))
			g.Expect(found).To(ContainElement(finds("leader", "ok", "runs without leader election")))
			g.Expect(found).To(ContainElement(finds("scan", "ok", "kept up to date; the oldest full one was")))
		}).Should(Succeed())
		list := &v1alpha1.ClusterRegoPolicyList{}
		Expect(suite.API.List(ctx, list)).To(Succeed())
		Expect(list.Items).NotTo(ContainElement(HaveField("Name", "evenkeel-doctor-probe")))
	})

	It("says which permissions the manager lacks, and which rule to add", func(ctx context.Context) {
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Kinds("policy", "PodDisruptionBudget"),
			fixture.Remediated(v1alpha1.RemediationManual)))
		found, code := doctor(ctx)
		Expect(code).To(Equal(1))
		Expect(found).To(ContainElement(And(finds("read-permissions", "fail", "get, list, watch poddisruptionbudgets"),
			HaveField("Do", ContainSubstring(
				`aggregate-to-reader: "true": {apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: ["get", "list", "watch"]}`)))))
		Expect(found).To(ContainElement(
			And(finds("write-permissions", "warn", "patch poddisruptionbudgets"),
				HaveField("Do", ContainSubstring("aggregate-to-writer")))))
		Expect(awaitDoctor(ctx, finds("scan", "fail", "PodDisruptionBudget can't be listed"))).To(Equal(1))
	})

	It("tells of a breaker held open, a plan that waits and a source that isn't read", func(ctx context.Context) {
		policy := fixture.Policy(namespace, namespace, fixture.FixState, fixture.Remediated(v1alpha1.RemediationManual))
		suite.Create(ctx, fixture.ConfigMap(namespace, "one"))
		suite.CreatePolicy(ctx, policy)
		suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseAwaitingApproval)
		_, _, code := evenkeel(ctx, "breaker", "open", "global")
		Expect(code).To(Equal(0))
		DeferCleanup(func(ctx context.Context) { evenkeel(ctx, "breaker", "close", "global") })
		src := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nowhere"}}
		src.Spec.URL, src.Spec.Interval.Duration, src.Spec.Timeout.Duration = "https://127.0.0.1:1/nowhere.git",
			time.Hour, time.Minute
		suite.Create(ctx, src)
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(suite.API.Delete(ctx, src))).To(Succeed())
		})
		found, _ := doctor(ctx)
		Expect(found).To(ContainElement(finds("rollouts", "warn", "waits for a person to answer")))
		Expect(found).To(ContainElement(
			And(finds("breakers", "warn", "a person holds breaker global open"),
				HaveField("Do", "evenkeel breaker close global"))))
		Expect(found).To(ContainElement(
			And(HaveField("Check", "sources"), HaveField("Message", ContainSubstring(namespace+"/nowhere")))))
	})

	It("names opt-outs that have no effect, and what would", func(ctx context.Context) {
		suite.Create(ctx,
			fixture.ConfigMap(namespace, "mistyped", fixture.Annotated(v1alpha1.AnnotationRemediation, "off")),
			fixture.ConfigMap(namespace, "labelled", fixture.Labelled(v1alpha1.AnnotationRemediation, "paused")),
			fixture.ConfigMap(namespace, "out", fixture.Annotated(v1alpha1.AnnotationRemediation, "paused")))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationDryRun)))
		found, _ := doctor(ctx)
		Expect(found).To(ContainElements(
			And(finds("opt-outs", "warn", "ConfigMap "+namespace+"/mistyped doesn't opt out"),
				HaveField("Do", ContainSubstring(
					"kubectl annotate configmap mistyped evenkeel.dev/remediation=paused -n "+namespace+
						" --overwrite"))),
			finds("opt-outs", "warn", "ConfigMap "+namespace+"/labelled doesn't opt out")))
		Expect(found).NotTo(ContainElement(finds("opt-outs", "warn", namespace+"/out")))
	})

	It("sees that a kind is gone or of another version, and that its own permissions don't suffice",
		func(ctx context.Context) {
			kind := &apiextensionsv1.CustomResourceDefinition{}
			Expect(suite.API.Get(ctx, client.ObjectKey{Name: "waivers.evenkeel.dev"}, kind)).To(Succeed())
			sound := kind.Spec.Versions[0].Schema.DeepCopy()
			DeferCleanup(func(ctx context.Context) {
				raw, err := json.Marshal(
					[]map[string]any{{"op": "replace", "path": "/spec/versions/0/schema", "value": sound}})
				Expect(err).NotTo(HaveOccurred())
				Expect(suite.API.Patch(ctx, kind, client.RawPatch(types.JSONPatchType, raw))).To(Succeed())
			})
			raw := []byte(
				`[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/description","value":"of long ago"}]`)
			Expect(suite.API.Patch(ctx, kind, client.RawPatch(types.JSONPatchType, raw))).To(Succeed())
			found, _ := doctor(ctx)
			Expect(found).To(ContainElement(finds("kinds", "warn", "waivers.evenkeel.dev is of another version")))

			found, code := doctor(ctx, "--as", "nobody")
			Expect(code).To(Equal(3))
			Expect(found).To(ContainElement(
				And(finds("objects", "unknown", "couldn't be checked"),
					HaveField("Do", Equal("ask for the permission: ClusterRole evenkeel-viewer grants it")))))
			Expect(found).To(ContainElement(finds("policies", "unknown", "couldn't be checked")))
		})

	It("looks for the manager where it is told to", func(ctx context.Context) {
		found, code := doctor(ctx, "--controller-namespace", namespace)
		Expect(code).To(Equal(1))
		Expect(found).To(ContainElement(finds("manager", "fail", "there is no Deployment "+namespace+"/evenkeel")))
		Expect(found).To(ContainElement(finds("leader", "fail", "no manager has ever led")))

		By("one that once led")
		led(ctx, namespace, time.Now().Add(-time.Hour))
		found, _ = doctor(ctx, "--controller-namespace", namespace)
		Expect(found).To(ContainElement(finds("leader", "fail", "evenkeel-7d4b hasn't renewed the Lease")))

		By("a Deployment without a ready replica")
		unready := fixture.Deployment(namespace, "evenkeel")
		unready.Spec.Template.Labels["kwok.evenkeel.dev/ready"] = "never"
		suite.Create(ctx, unready)
		found, _ = doctor(ctx, "--controller-namespace", namespace)
		Expect(found).To(ContainElement(
			finds("manager", "fail", "none of 1 replica of Deployment "+namespace+"/evenkeel is ready")))
	})
})

// The manager is killed here, so it is one of its own.
var _ = Describe("The doctor and admission", Ordered, func() {
	It("tells that the webhook is gone from a webhook that is changed, and both from a certificate that can't be read",
		func(ctx context.Context) {
			suite.AwaitAdmission(ctx)
			configuration := &unstructured.Unstructured{}
			configuration.SetAPIVersion("admissionregistration.k8s.io/v1")
			configuration.SetKind("ValidatingWebhookConfiguration")
			configuration.SetName("evenkeel")
			Expect(manager.Kill()).To(Succeed())
			DeferCleanup(func(ctx context.Context) {
				Expect(manager.Start(ctx)).To(Succeed())
				suite.AwaitAdmission(ctx)
			})
			found, code := doctor(ctx)
			Expect(code).To(Equal(1))
			Expect(found).To(ContainElement(
				And(finds("admission", "fail", "can't reach the webhook"),
					HaveField("Do", ContainSubstring("docs/troubleshoot.md")))))
			Expect(found).To(ContainElement(finds("certificate", "fail", "doesn't answer from here")))
			Expect(found).To(ContainElement(finds("webhooks", "ok", "")))

			By("an entry is taken out, and the failure policy of another is changed")
			rig.Update(ctx, suite.API, configuration, func() {
				hooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
				Expect(err).NotTo(HaveOccurred())
				kept := hooks[:0]
				for _, h := range hooks {
					switch hook := h.(map[string]any); hook["name"] {
					case "waivers.evenkeel.dev":
					case "clusterregopolicies.evenkeel.dev":
						hook["failurePolicy"] = "Ignore"
						kept = append(kept, hook)
					default:
						kept = append(kept, h)
					}
				}
				Expect(unstructured.SetNestedSlice(configuration.Object, kept, "webhooks")).To(Succeed())
			})
			found, _ = doctor(ctx)
			Expect(found).To(ContainElement(finds("webhooks", "fail", "lacks the entry waivers.evenkeel.dev")))
			Expect(found).To(ContainElement(
				finds("webhooks", "fail", "clusterregopolicies.evenkeel.dev has failurePolicy Ignore, not Fail")))

			By("its authority is taken out")
			raw := []byte(`[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`)
			Expect(suite.API.Patch(ctx, configuration, client.RawPatch(types.JSONPatchType, raw))).To(Succeed())
			found, _ = doctor(ctx)
			Expect(found).To(ContainElement(finds("certificate", "fail", "holds no certificate")))

			By("it is gone whole")
			Expect(suite.API.Delete(ctx, configuration)).To(Succeed())
			mutating := configuration.DeepCopy()
			mutating.SetKind("MutatingWebhookConfiguration")
			Expect(suite.API.Delete(ctx, mutating)).To(Succeed())
			awaitDoctor(ctx, finds("admission", "fail", "doesn't get its author"))
			found, _ = doctor(ctx)
			Expect(found).To(ContainElement(finds("webhooks", "fail", "nothing is judged at admission")))
		})
})
