// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

// caOverlap is how long, from the beginning of a serving certificate's validity,
// the API server goes on trusting the authority before the present one, so that
// replicas which haven't taken up the new certificate yet are still believed. The
// rotator's certificates begin to be valid an hour before they are made, so this
// leaves one hour; cert-manager's begin when they are made, so it leaves two.
const caOverlap = 2 * time.Hour

// ErrNoAuthority means that nobody has made an authority yet.
var ErrNoAuthority = errors.New("the certificate authority isn't made yet")

// Bundle is what the API server is to trust, by the Secret's data and the bundles that it
// trusts now, one after the other; serverName is the name that it expects in the
// certificate. until is when to ask again, though nothing changes; zero is never. While
// the Secret holds no certificate that could be served, the bundle is what is trusted now:
// replicas go on with what they have. It is ErrNoAuthority when there is none at all.
func Bundle(secret map[string][]byte, trusted []byte, serverName string, now time.Time) (
	bundle []byte, until time.Time, err error) {
	if _, err := servable(secret, serverName, now); err != nil {
		if len(trusted) == 0 {
			return nil, time.Time{}, ErrNoAuthority
		}
		return encodeBundle(union(nil, parseBundle(trusted))), time.Time{}, nil
	}
	return caBundle(secret, trusted, now)
}

// caBundle is what the API server is to trust: the present authority and, for a
// while after a certificate was made, those before it, which are found in the
// bundle that the API server trusts now. until is when the latter are to be
// dropped, or zero. Nothing else in the present bundle is kept, so a strange
// authority is corrected.
func caBundle(secret map[string][]byte, trusted []byte, now time.Time) (bundle []byte, until time.Time, err error) {
	present := parseBundle(secret[caCertName])
	if len(present) == 0 {
		return nil, time.Time{}, errors.New("the CA certificate in the Secret: no PEM block of a certificate")
	}
	serving, err := parseCertificate(secret[serverCertName])
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("the serving certificate in the Secret: %w", err)
	}
	overlap := serving.NotBefore.Add(caOverlap)
	if !now.Before(overlap) {
		return encodeBundle(present), time.Time{}, nil
	}
	kept := union(present, slices.DeleteFunc(parseBundle(trusted), func(old *x509.Certificate) bool {
		return !precedes(old, present[0]) || !now.Before(old.NotAfter)
	}))
	if len(kept) > len(present) {
		until = overlap
	}
	return encodeBundle(kept), until, nil
}

func union(to, more []*x509.Certificate) []*x509.Certificate {
	all := slices.Clone(to)
	for _, cert := range more {
		if !slices.ContainsFunc(all, cert.Equal) {
			all = append(all, cert)
		}
	}
	return all
}

func encodeBundle(certs []*x509.Certificate) []byte {
	var bundle []byte
	for _, cert := range certs {
		bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
	}
	return bundle
}

// precedes says that one authority bears the name of another and isn't younger.
func precedes(old, ca *x509.Certificate) bool {
	return old.Subject.String() == ca.Subject.String() && !old.NotBefore.After(ca.NotBefore)
}

func parseCertificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("no PEM block")
	}
	return x509.ParseCertificate(block.Bytes)
}

// parseBundle returns the certificates in a bundle; what isn't one is skipped.
func parseBundle(data []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return out
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, cert)
		}
	}
}

func trusts(bundle, authority []byte) bool {
	held, wanted := parseBundle(bundle), parseBundle(authority)
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(ca *x509.Certificate) bool {
		return !slices.ContainsFunc(held, ca.Equal)
	})
}
