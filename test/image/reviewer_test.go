// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reviewer asks the webhook as the API server does: at the address of the webhook
// configuration, with the API server's certificate, over connections that it keeps, and
// each once.
type reviewer struct {
	url  string
	http *http.Client
}

func newReviewer(ctx context.Context) *reviewer {
	GinkgoHelper()
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	Expect(api.Get(ctx, client.ObjectKey{Name: "evenkeel"}, &configuration)).To(Succeed())
	for _, webhook := range configuration.Webhooks {
		if *webhook.FailurePolicy != admissionregistrationv1.Fail || !concerns(webhook.Rules, "deployments") {
			continue
		}
		roots := x509.NewCertPool()
		Expect(roots.AppendCertsFromPEM(webhook.ClientConfig.CABundle)).To(BeTrue())
		pki := filepath.Dir(plane.WebhookClientCA)
		own, err := tls.LoadX509KeyPair(filepath.Join(pki, "apiserver.crt"), filepath.Join(pki, "apiserver.key"))
		Expect(err).NotTo(HaveOccurred())
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}},
			MaxIdleConnsPerHost: inFlight, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second}
		DeferCleanup(transport.CloseIdleConnections)
		timeout := time.Duration(*webhook.TimeoutSeconds) * time.Second
		return &reviewer{url: *webhook.ClientConfig.URL, http: &http.Client{Transport: transport, Timeout: timeout}}
	}
	Fail("no webhook that fails closed is asked about Deployments")
	return nil
}

func concerns(rules []admissionregistrationv1.RuleWithOperations, resource string) bool {
	for _, rule := range rules {
		for _, r := range rule.Resources {
			if r == resource {
				return true
			}
		}
	}
	return false
}

// ask asks about the creation of an object.
func (r *reviewer) ask(ctx context.Context, object *appsv1.Deployment) (allowed bool, message string, err error) {
	object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	raw, err := json.Marshal(object)
	if err != nil {
		return false, "", err
	}
	kind, resource, dry := metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, true
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{UID: types.UID(object.Name), Kind: kind, Resource: resource,
			RequestKind: &kind, RequestResource: &resource,
			Name: object.Name, Namespace: object.Namespace, Operation: admissionv1.Create, DryRun: &dry,
			Object: runtime.RawExtension{Raw: raw}},
	})
	if err != nil {
		return false, "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return false, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := r.http.Do(request)
	if err != nil {
		return false, "", err
	}
	defer answer.Body.Close()
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(answer.Body).Decode(&review); err != nil || review.Response == nil ||
		review.Response.UID != types.UID(object.Name) {
		return false, "", fmt.Errorf("%s isn't an answer to the review: %w", answer.Status, err)
	}
	if status := review.Response.Result; status != nil {
		message = status.Message
	}
	return review.Response.Allowed, message, nil
}
