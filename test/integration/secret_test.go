// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// planted is a value that nothing but its Secret may tell.
const planted = "planted-7c1f-value"

// tellTale tells the value of every Secret without the label team, in message and
// details, and adds the label; to one that is marked it also sets the value anew.
const tellTale = `package fixture.tell_tale

import rego.v1

missing if not input.object.metadata.labels.team

deny contains {
	"msg": sprintf("no team, and the password is %s (%s)",
		[base64.decode(input.object.data.password), input.object.data.password]),
	"details": {"password": input.object.data.password},
} if missing

remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/metadata/labels/team", "value": "shop"}]} if missing

remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/data/password", "value": base64.encode("planted-7c1f-value-2")}]} if {
	missing
	input.object.metadata.labels.rotate
}

remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/metadata/labels/copy", "value": base64.decode(input.object.data.password)}]} if {
	missing
	input.object.metadata.labels.leak
}
`

var _ = Describe("A Secret", func() {
	It("may be fixed around its values, which are told nowhere", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "secret")
		for to, verbs := range map[string][]string{"reader": {"get", "list", "watch"}, "writer": {"get", "patch"}} {
			grant(ctx, to, namespace+"-"+to,
				rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: verbs})
		}
		suite.Create(ctx, secretOf(namespace, "plain"), secretOf(namespace, "second"),
			secretOf(namespace, "rotated", fixture.Labelled("rotate", "yes")),
			secretOf(namespace, "leaked", fixture.Labelled("leak", "yes")),
			secretOf(namespace, "managed", fixture.Labelled("rotate", "yes"),
				fixture.Labelled("argocd.argoproj.io/instance", "shop")))
		policy := fixture.Policy(namespace, namespace, tellTale, fixture.Kinds("", "Secret"),
			fixture.Enforced(v1alpha1.AdmissionDeny),
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)

		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		for name, want := range map[string]v1alpha1.TargetRecord{
			"plain": {State: v1alpha1.TargetDone}, "second": {State: v1alpha1.TargetDone},
			"rotated": {State: v1alpha1.TargetFailed, Reason: v1alpha1.ReasonSensitive},
			"leaked":  {State: v1alpha1.TargetFailed, Reason: v1alpha1.ReasonSensitive},
			"managed": {State: v1alpha1.TargetSkipped, Reason: v1alpha1.ReasonManaged},
		} {
			record := suite.RecordOf(ctx, rem, name)
			Expect([]string{string(record.State), record.Reason}).To(Equal([]string{string(want.State), want.Reason}),
				"%s: %s", name, record.Message)
		}
		Expect(suite.RecordOf(ctx, rem, "managed").Proposal).To(
			And(ContainSubstring("+    team: shop\n"), ContainSubstring("[censored, as the fix sets it]")))
		fixed := secretOf(namespace, "plain")
		Expect(suite.Get(ctx, fixed)).To(Succeed())
		Expect(fixed.Labels).To(HaveKeyWithValue("team", "shop"))
		Expect(fixed.Data).To(HaveKeyWithValue("password", []byte(planted)))

		By("a request that admission refuses")
		var refusal error
		Eventually(ctx, func() error {
			refusal = suite.API.Create(ctx, secretOf(namespace, "late"), client.DryRunAll)
			return refusal
		}).Should(MatchError(ContainSubstring("the password is [censored] ([censored])")))
		suite.AwaitEvent(ctx, "ManagedByOther", "managed", ContainSubstring("Argo CD (application shop)"))

		for place, text := range told(ctx) {
			Expect(text).NotTo(ContainSubstring(planted), place)
			Expect(text).NotTo(ContainSubstring(base64.StdEncoding.EncodeToString([]byte(planted))), place)
		}
		Expect(refusal.Error()).NotTo(ContainSubstring(planted))
	})
})

// told is all that the manager has written where people read it.
func told(ctx context.Context) map[string]string {
	GinkgoHelper()
	out := map[string]string{}
	for place, list := range map[string]client.ObjectList{
		"remediations": &v1alpha1.RemediationList{}, "slices": &v1alpha1.RemediationSliceList{},
		"breakers": &v1alpha1.RemediationBreakerList{}, "events": &eventsv1.EventList{}} {
		Expect(suite.API.List(ctx, list)).To(Succeed())
		text, err := json.Marshal(list)
		Expect(err).NotTo(HaveOccurred())
		out[place] = string(text)
	}
	policies := &v1alpha1.ClusterRegoPolicyList{}
	Expect(suite.API.List(ctx, policies)).To(Succeed())
	for _, p := range policies.Items {
		text, err := json.Marshal(p.Status)
		Expect(err).NotTo(HaveOccurred())
		Expect(p.Status.Scan).NotTo(BeNil())
		out["status of "+p.Name] = string(text)
	}
	log, err := os.ReadFile(manager.Log())
	Expect(err).NotTo(HaveOccurred())
	Expect(log).NotTo(BeEmpty())
	out["log"] = string(log)
	return out
}

// secretOf makes a Secret that holds the planted value, as kubectl apply would.
func secretOf(namespace, name string, modifiers ...func(client.Object)) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: fixture.TargetLabels(),
		Annotations: map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": `{"stringData":{"password":"` + planted + `"}}`}},
		Data: map[string][]byte{"password": []byte(planted)}}
	for _, modify := range modifiers {
		modify(s)
	}
	return s
}
