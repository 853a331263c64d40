// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/test/fixture"
)

// apiServersCertificate is what the API server shows to webhooks.
func apiServersCertificate() tls.Certificate {
	GinkgoHelper()
	dir := filepath.Dir(suite.WebhookClientCA)
	certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, "apiserver.crt"), filepath.Join(dir, "apiserver.key"))
	Expect(err).NotTo(HaveOccurred())
	return certificate
}

// expired is a certificate that the API server's authority has signed, for a time
// that is over.
func expired() tls.Certificate {
	GinkgoHelper()
	authority, err := tls.LoadX509KeyPair(
		suite.WebhookClientCA, strings.TrimSuffix(suite.WebhookClientCA, ".crt")+".key")
	Expect(err).NotTo(HaveOccurred())
	signer, err := x509.ParseCertificate(authority.Certificate[0])
	Expect(err).NotTo(HaveOccurred())
	return signedBy(signer, authority.PrivateKey, time.Now().Add(-time.Minute))
}

// signedBy is a client's certificate until such a time; without a signer it vouches
// for itself.
func signedBy(signer *x509.Certificate, by any, until time.Time) tls.Certificate {
	GinkgoHelper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(77), Subject: pkix.Name{CommonName: "kube-apiserver"},
		NotBefore: until.Add(-time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if signer == nil {
		signer, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, key.Public(), by)
	Expect(err).NotTo(HaveOccurred())
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

var _ = Describe("Whoever reaches the webhook's port without the API server's certificate", func() {
	It("is refused in the handshake, while the API server is answered", func(ctx context.Context) {
		attempt(
			"post a review to the port with no certificate, with one of another authority, an expired one, and an " +
				"administrator's")
		namespace := suite.Namespace(ctx, "mutual")
		suite.CreatePolicy(ctx, failingOpen(namespace, fixture.DenyState("bad"), fixture.Kinds("", "ConfigMap")))
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "asked"), ContainSubstring("refused by policy "+namespace))
		url := webhookURL(ctx)

		post := func(certificates ...tls.Certificate) error {
			posting := stranger(certificates...)
			defer posting.CloseIdleConnections()
			response, err := posting.Post(url, "application/json", strings.NewReader(string(costly(namespace, 1000))))
			if err == nil {
				_ = response.Body.Close()
			}
			return err
		}
		admin := suite.Config()
		administrator, err := tls.X509KeyPair(admin.CertData, admin.KeyData)
		Expect(err).NotTo(HaveOccurred())
		for who, shown := range map[string][]tls.Certificate{
			"nobody": nil, "another authority": {signedBy(nil, nil, time.Now().Add(time.Hour))},
			"an expired certificate":          {expired()},
			"an administrator of the cluster": {administrator},
		} {
			Expect(post(shown...)).To(
				MatchError(Or(ContainSubstring("remote error: tls"), ContainSubstring("connection reset"),
					ContainSubstring("broken pipe"))), who)
		}
		Expect(post(apiServersCertificate())).To(Succeed(), "the API server's own")
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "asked"), ContainSubstring("refused by policy "+namespace))
	})

	It("is refused by an authority that takes the place of another without a restart, and so is the API server until "+
		"it has a certificate of it", func(ctx context.Context) {
		attempt("go on with a certificate after its authority was replaced")
		file := filepath.Join(GinkgoT().TempDir(), "ca.crt")
		genuine, err := os.ReadFile(suite.WebhookClientCA)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(file, genuine, 0o600)).To(Succeed())
		other := signedBy(nil, nil, time.Now().Add(time.Hour))

		Expect(manager.Stop()).To(Succeed())
		DeferCleanup(func(ctx context.Context) { // once the other has ended, and what led to it is gone
			Expect(manager.Start(ctx)).To(Succeed())
			suite.AwaitAdmission(ctx)
			Eventually(ctx, func() error {
				return suite.API.Create(ctx, fixture.Policy("stamped", "nowhere", fixture.DenyState("bad")),
					client.DryRunAll)
			}).Should(Succeed(), "both configurations are there again")
		})
		suite.StartManager(ctx, "--webhook-client-ca-file", file)
		namespace := suite.Namespace(ctx, "rotated")
		suite.CreatePolicy(ctx, failingOpen(namespace, fixture.DenyState("bad"), fixture.Kinds("", "ConfigMap")))
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "asked"), ContainSubstring("refused by policy "+namespace))
		url := webhookURL(ctx)
		answers := func(certificate tls.Certificate) error {
			posting := stranger(certificate)
			defer posting.CloseIdleConnections()
			response, err := posting.Post(url, "application/json", strings.NewReader(string(costly(namespace, 10))))
			if err == nil {
				_ = response.Body.Close()
			}
			return err
		}
		Expect(answers(apiServersCertificate())).To(Succeed())
		Expect(answers(other)).NotTo(Succeed())
		replaced := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate[0]})
		Expect(os.WriteFile(file, replaced, 0o600)).To(Succeed())
		Expect(answers(other)).To(Succeed())
		Expect(answers(apiServersCertificate())).NotTo(Succeed())
		Expect(os.WriteFile(file, genuine, 0o600)).To(Succeed())
		Expect(answers(apiServersCertificate())).To(Succeed())
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "asked"), ContainSubstring("refused by policy "+namespace))
	})
})
