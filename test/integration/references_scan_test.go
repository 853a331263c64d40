// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/process"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("What a policy refers to", func() {
	var namespace, other string
	configMaps := v1alpha1.ReferencedKind{Kind: "ConfigMap"}

	BeforeEach(func(ctx context.Context) {
		namespace, other = suite.Namespace(ctx, "references"), suite.Namespace(ctx, "referred")
	})

	It("is known to each replica, and judged by alike", func(ctx context.Context) {
		second := follower(ctx)
		taken := fixture.ConfigMap(other, "first")
		taken.Data["state"] = "red in " + namespace
		suite.Create(ctx, taken)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, uniqueState, referring(configMaps),
			fixture.Enforced(v1alpha1.AdmissionDeny)))
		judged := fixture.ConfigMap(namespace, "second")
		judged.Data["state"] = "red in " + namespace
		says := other + "/first has the state red in " + namespace + " already"
		awaitRefusal(ctx, judged, ContainSubstring(says))
		Eventually(ctx, func() string { return second(ctx, judged) }).Should(ContainSubstring(says))

		By("a change of it")
		Expect(suite.API.Delete(ctx, taken)).To(Succeed())
		Eventually(ctx, func() error {
			return suite.API.Create(ctx, judged.DeepCopyObject().(client.Object), client.DryRunAll)
		}).Should(Succeed())
		Eventually(ctx, func() string { return second(ctx, judged) }).Should(BeEmpty())
	})
})

// follower starts a second replica while another leads, and gives what asks it for a verdict as the API server would:
// why it refuses that an object is created, or nothing.
func follower(ctx context.Context) func(context.Context, client.Object) string {
	GinkgoHelper()
	DeferCleanup(suite.AwaitAdmission) // the second one takes the webhooks' configurations away when it ends
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: rig.SystemNamespace, Name: "evenkeel-leader"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(3600)),
			AcquireTime: new(metav1.NowMicro()), RenewTime: new(metav1.NowMicro())}}
	suite.Create(ctx, lease)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, lease)).To(Succeed()) })
	ports, err := process.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	at := fmt.Sprintf("localhost:%d", ports[0])
	second := suite.NewManager("--leader-elect=true", fmt.Sprintf("--webhook-port=%d", ports[0]),
		"--webhook-url=https://"+at)
	Expect(second.Start(ctx)).To(Succeed())
	return func(ctx context.Context, o client.Object) string {
		GinkgoHelper()
		var leader admissionregistrationv1.ValidatingWebhookConfiguration
		Expect(suite.API.Get(ctx, client.ObjectKey{Name: "evenkeel"}, &leader)).To(Succeed())
		for _, w := range leader.Webhooks {
			if slices.ContainsFunc(w.Rules, func(r admissionregistrationv1.RuleWithOperations) bool {
				return slices.Contains(r.Resources, "configmaps")
			}) {
				path, err := url.Parse(*w.ClientConfig.URL)
				Expect(err).NotTo(HaveOccurred())
				path.Host = at
				return review(ctx, path.String(), w.ClientConfig.CABundle, o)
			}
		}
		return "no webhook is asked about ConfigMaps"
	}
}

// review asks a webhook whether a ConfigMap may be created.
func review(ctx context.Context, at string, authority []byte, o client.Object) string {
	GinkgoHelper()
	raw, err := json.Marshal(o)
	Expect(err).NotTo(HaveOccurred())
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{UID: types.UID("1"), Operation: admissionv1.Create,
			Namespace: o.GetNamespace(), Name: o.GetName(),
			Kind:     metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
			Resource: metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			Object:   runtime.RawExtension{Raw: raw}}})
	Expect(err).NotTo(HaveOccurred())
	pki := filepath.Dir(suite.WebhookClientCA)
	own, err := tls.LoadX509KeyPair(filepath.Join(pki, "apiserver.crt"), filepath.Join(pki, "apiserver.key"))
	Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(authority)).To(BeTrue())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", runtime.ContentTypeJSON)
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	var reviewed admissionv1.AdmissionReview
	if err := json.NewDecoder(answer.Body).Decode(&reviewed); err != nil || reviewed.Response == nil {
		return fmt.Sprintf("%s: %v", answer.Status, err)
	}
	if reviewed.Response.Allowed {
		return ""
	}
	return reviewed.Response.Result.Message
}
