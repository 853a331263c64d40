// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/cluster"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/process"
)

// The names of config/certmanager: each Certificate, and the Secret that it writes.
const (
	servingCertificate, servingSecret     = "evenkeel-webhook", "evenkeel-webhook-tls"
	authorityCertificate, authoritySecret = "evenkeel-webhook-ca", "evenkeel-webhook-ca"
)

var _ = Describe("The install default, with cert-manager", Ordered, func() {
	var (
		base    = overlay{base: "default"}
		clients *traffic
	)

	BeforeAll(func(ctx context.Context) {
		DeferCleanup(func(ctx context.Context) { base.uninstall(ctx) })
		_, warned := base.apply(ctx)
		Expect(warned).To(BeEmpty(), "the API server warns")
		// The manager runs beside the cluster here, not behind the Service.
		kubectl(ctx, "patch", "certificate", servingCertificate, "--namespace="+systemNamespace, "--type=json",
			`--patch=[{"op":"add","path":"/spec/dnsNames/-","value":"localhost"}]`)
		startCertManager(ctx)
		kubectl(ctx, "create", "namespace", "certified")
		DeferCleanup(func(ctx context.Context) { kubectl(ctx, "delete", "namespace", "certified", "--wait=false") })
		startManager(ctx)
		policy := fixture.Policy("certified", "certified", fixture.RequireTemplateLabel("team", "core"),
			fixture.Kinds("", "Pod"),
			fixture.Unselected, fixture.Enforced(v1alpha1.AdmissionDeny), fixture.OnFailure(v1alpha1.FailurePolicyFail))
		createPolicy(ctx, policy)
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(api.Delete(ctx, policy))).To(Succeed()) })
		Eventually(ctx, func() error {
			return api.Create(ctx, fixture.Deployment("certified", "bad"), client.DryRunAll)
		}).Should(MatchError(ContainSubstring("label team is missing")))
		clients = startTraffic(ctx)
	})

	It("enforces a policy with the certificate that cert-manager has issued", func(ctx context.Context) {
		clients.awaitServed(ctx)
		Expect(trusted(ctx)).To(Equal(secret(ctx, servingSecret).Data["ca.crt"]))
	})

	It("loses no request while the certificate is renewed", func(ctx context.Context) {
		before := secret(ctx, servingSecret)
		renew(ctx, servingCertificate, servingSecret)
		clients.awaitServed(ctx)
		Expect(secret(ctx, servingSecret).Data["ca.crt"]).To(Equal(before.Data["ca.crt"]))
	})

	It("loses none while the authority is renewed, and both are trusted meanwhile", func(ctx context.Context) {
		before := secret(ctx, servingSecret)
		renew(ctx, authorityCertificate, authoritySecret)
		Expect(secret(ctx, servingSecret).Data).To(
			Equal(before.Data), "what the authority before has signed stays in use")
		renew(ctx, servingCertificate, servingSecret)
		clients.awaitServed(ctx)
		after := secret(ctx, servingSecret)
		Expect(after.Data["ca.crt"]).NotTo(Equal(before.Data["ca.crt"]))
		Expect(string(trusted(ctx))).To(
			And(ContainSubstring(string(before.Data["ca.crt"])), ContainSubstring(string(after.Data["ca.crt"]))))
	})

	It("loses none while the Secrets are deleted and made anew", func(ctx context.Context) {
		for _, name := range []string{authoritySecret, servingSecret} {
			gone := secret(ctx, name)
			Expect(api.Delete(ctx, gone)).To(Succeed())
			awaitIssued(ctx, name, gone)
		}
		clients.awaitServed(ctx)
	})

	It("has answered every request rightly", func() {
		clients.stop()
		Expect(clients.denied.Load()).To(BeNumerically(">", 50))
		Expect(clients.allowed.Load()).To(BeNumerically(">", 50))
		Expect(clients.connections.Load()).To(BeNumerically(">", 50))
		Expect(clients.lost()).To(BeEmpty())
		AddReportEntry("requests", clients.String())
	})
})

// startCertManager runs cert-manager's controllers until the container ends.
func startCertManager(ctx context.Context) {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	program, err := process.BuildProgram(ctx,
		process.Program{Root: root, Module: "hack/components/certmanager", Package: "."}, work)
	Expect(err).NotTo(HaveOccurred())
	daemon := process.NewDaemon(process.DaemonConfig{
		Name: "cert-manager", Path: program, Log: program + ".log",
		Args: []string{"--kubeconfig=" + plane.Kubeconfig, "--namespace=" + systemNamespace},
	})
	Expect(daemon.Launch()).To(Succeed())
	DeferCleanup(daemon.Stop)
}

// renew asks cert-manager for a renewal, as cmctl does, and awaits it.
func renew(ctx context.Context, certificate, secretName string) {
	GinkgoHelper()
	before := secret(ctx, secretName)
	kubectl(ctx, "patch", "certificate", certificate, "--namespace="+systemNamespace, "--subresource=status",
		"--type=json",
		`--patch=[{"op":"add","path":"/status/conditions/-","value":{"type":"Issuing","status":"True","reason":"ManuallyTriggered"}}]`)
	awaitIssued(ctx, secretName, before)
}

// awaitIssued waits until a Secret holds another certificate than before.
func awaitIssued(ctx context.Context, name string, before *corev1.Secret) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		var now corev1.Secret
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(before), &now)).To(Succeed())
		g.Expect(now.Data["tls.crt"]).NotTo(Or(BeEmpty(), Equal(before.Data["tls.crt"])))
	}).Should(Succeed(), "secret %s", name)
}

func secret(ctx context.Context, name string) *corev1.Secret {
	GinkgoHelper()
	var s corev1.Secret
	Expect(api.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: name}, &s)).To(Succeed())
	return &s
}

// trusted is the bundle by which the API server trusts the webhook.
func trusted(ctx context.Context) []byte {
	GinkgoHelper()
	var config admissionregistrationv1.ValidatingWebhookConfiguration
	Expect(api.Get(ctx, client.ObjectKey{Name: "evenkeel"}, &config)).To(Succeed())
	return config.Webhooks[0].ClientConfig.CABundle
}
