// SPDX-License-Identifier: Apache-2.0

package webhooktest

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
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

// Cert is the authority's own certificate, in PEM.
func (a Authority) Cert() []byte { return a.Data["ca.crt"] }

func authorityRotator(name string) *rotator.CertRotator {
	return &rotator.CertRotator{CAName: name, CAOrganization: "evenkeel.dev", DNSName: "localhost",
		ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
}
