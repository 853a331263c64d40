// SPDX-License-Identifier: Apache-2.0

package webhooktest

import (
	"context"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Authority is a certificate with its authority, made as the manager's own is.
type Authority struct {
	// Data is as in the Secret.
	Data map[string][]byte
	// ca signs further certificates.
	ca *rotator.KeyPairArtifacts
}

// NewAuthority makes an authority of that name, and a certificate for localhost.
func NewAuthority(t *testing.T, name string, begin time.Time) Authority {
	t.Helper()
	ca, err := authorityRotator(name).CreateCACert(begin, begin.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return Authority{ca: ca}.Renewed(t, begin)
}

// Renewed is the authority with another certificate.
func (a Authority) Renewed(t *testing.T, begin time.Time) Authority {
	t.Helper()
	cert, key, err := authorityRotator("evenkeel-ca").CreateCertPEM(a.ca, begin, begin.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return Authority{ca: a.ca,
		Data: map[string][]byte{"ca.crt": a.ca.CertPEM, "ca.key": a.ca.KeyPEM, "tls.crt": cert, "tls.key": key}}
}

// Store puts the authority and its certificate into a Secret that is there.
func (a Authority) Store(t *testing.T, c client.Client, key client.ObjectKey) {
	t.Helper()
	var secret corev1.Secret
	if err := c.Get(context.Background(), key, &secret); err != nil {
		t.Fatal(err)
	}
	secret.Data = a.Data
	if err := c.Update(context.Background(), &secret); err != nil {
		t.Fatal(err)
	}
}

// IsServedFrom says whether a folder holds the authority's certificate to be served.
func (a Authority) IsServedFrom(t *testing.T, dir string) bool {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content) == string(a.Data["tls.crt"])
}

// Reconcile lets a controller of one object look once.
func Reconcile(t *testing.T, r reconcile.Reconciler) reconcile.Result {
	t.Helper()
	result, err := r.Reconcile(context.Background(), reconcile.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Cert is the authority's own certificate, in PEM.
func (a Authority) Cert() []byte { return a.Data["ca.crt"] }

func authorityRotator(name string) *rotator.CertRotator {
	return &rotator.CertRotator{CAName: name, CAOrganization: "evenkeel.dev", DNSName: "localhost",
		ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
}
