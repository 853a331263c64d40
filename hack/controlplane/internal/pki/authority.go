// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	validity = 365 * 24 * time.Hour
	// skew lets a certificate be valid although a clock was set back a little.
	skew = time.Hour
)

// Authority signs certificates and writes them, PEM-encoded, below one folder.
type Authority struct {
	dir    string
	now    time.Time
	serial int64
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
}

// NewAuthority makes an authority and writes ca.crt and ca.key into dir.
func NewAuthority(dir string, now time.Time) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the certificate folder: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the authority's key: %w", err)
	}
	a := &Authority{dir: dir, now: now, key: key}
	template := a.template(pkix.Name{CommonName: "evenkeel-controlplane"})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage |= x509.KeyUsageCertSign
	a.cert = template
	der, err := a.sign(template, key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("read back the authority's certificate: %w", err)
	}
	return a, a.write("ca", der, key)
}

// Server writes name.crt and name.key for a server at the given names and addresses.
func (a *Authority) Server(name string, dnsNames []string, ips []net.IP) error {
	template := a.template(pkix.Name{CommonName: name})
	template.DNSNames, template.IPAddresses = dnsNames, ips
	// etcd dials itself with its own server certificate.
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	return a.issue(name, template)
}

// Client writes name.crt and name.key for a Kubernetes user in the given groups.
func (a *Authority) Client(name, user string, groups ...string) error {
	template := a.template(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(name, template)
}

// SigningKey writes name.key and name.pub, the pair for service account tokens.
func (a *Authority) SigningKey(name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate %s: %w", name, err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := a.writePEM(name+".pub", "PUBLIC KEY", public); err != nil {
		return err
	}
	return a.writeKey(name, key)
}

func (a *Authority) issue(name string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate the key of %s: %w", name, err)
	}
	der, err := a.sign(template, key)
	if err != nil {
		return fmt.Errorf("sign %s: %w", name, err)
	}
	return a.write(name, der, key)
}

func (a *Authority) template(subject pkix.Name) *x509.Certificate {
	a.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.serial),
		Subject:      subject,
		NotBefore:    a.now.Add(-skew),
		NotAfter:     a.now.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
}

func (a *Authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate for %s: %w", template.Subject.CommonName, err)
	}
	return der, nil
}

func (a *Authority) write(name string, der []byte, key *ecdsa.PrivateKey) error {
	if err := a.writePEM(name+".crt", "CERTIFICATE", der); err != nil {
		return err
	}
	return a.writeKey(name, key)
}

func (a *Authority) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the key of %s: %w", name, err)
	}
	return a.writePEM(name+".key", "EC PRIVATE KEY", der)
}

func (a *Authority) writePEM(file, kind string, der []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(filepath.Join(a.dir, file), text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
