package webhook

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// caOverlap is how long the API server goes on trusting the authority before the
// present one, so that replicas which haven't taken up the new certificate yet
// are still believed. An authority's validity begins an hour before it was made,
// so this leaves one hour.
const caOverlap = 2 * time.Hour

// caBundle is what the API server is to trust: the present authority and, for an
// hour after a rotation, the one before it, which is found in the bundle that the
// API server trusts now. until is when the latter is to be dropped, or zero.
// Nothing else in the present bundle is kept, so a strange authority is put right.
func caBundle(current, trusted []byte, now time.Time) (bundle []byte, until time.Time, err error) {
	ca, err := parseCertificate(current)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("the CA certificate in the Secret: %w", err)
	}
	bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})...)
	overlap := ca.NotBefore.Add(caOverlap)
	if !now.Before(overlap) {
		return bundle, time.Time{}, nil
	}
	for _, old := range parseBundle(trusted) {
		if !old.Equal(ca) && old.Subject.String() == ca.Subject.String() && old.NotBefore.Before(ca.NotBefore) && now.Before(old.NotAfter) {
			bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: old.Raw})...)
			return bundle, overlap, nil
		}
	}
	return bundle, time.Time{}, nil
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

// configurations are the webhook configurations as they are in the cluster; one
// that isn't there has no resourceVersion.
type configurations struct {
	validating admissionregistrationv1.ValidatingWebhookConfiguration
	mutating   admissionregistrationv1.MutatingWebhookConfiguration
}

// readConfigurations reads both.
func readConfigurations(ctx context.Context, reader client.Reader) (*configurations, error) {
	var c configurations
	key := types.NamespacedName{Name: ConfigurationName}
	for _, config := range []client.Object{&c.validating, &c.mutating} {
		if err := reader.Get(ctx, key, config); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading the webhook configuration: %w", err)
		}
	}
	return &c, nil
}

// trusted are the bundles by which the API server trusts the webhook now: one for
// each configuration that has any.
func (c *configurations) trusted() [][]byte {
	var validating, mutating [][]byte
	for i := range c.validating.Webhooks {
		validating = append(validating, c.validating.Webhooks[i].ClientConfig.CABundle)
	}
	for i := range c.mutating.Webhooks {
		mutating = append(mutating, c.mutating.Webhooks[i].ClientConfig.CABundle)
	}
	var out [][]byte
	for _, bundles := range [][][]byte{validating, mutating} {
		if i := slices.IndexFunc(bundles, func(b []byte) bool { return len(b) > 0 }); i >= 0 {
			out = append(out, bundles[i])
		}
	}
	return out
}

// trusts says that a bundle holds the authority.
func trusts(bundle, ca []byte) bool {
	want, err := parseCertificate(ca)
	if err != nil {
		return false
	}
	for _, cert := range parseBundle(bundle) {
		if bytes.Equal(cert.Raw, want.Raw) {
			return true
		}
	}
	return false
}
