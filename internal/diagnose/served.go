// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
)

// served looks at the certificate that the webhook shows, where it is reached by an
// address: behind a Service only the API server can.
func (in *Installation) served(ctx context.Context, e entry) Finding {
	u, err := url.Parse(*e.client.URL)
	if err != nil {
		return failed(madeByLeader, "the entry %s leads to %q, which isn't an address", e.name, *e.client.URL)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(e.client.CABundle)
	asked := false
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: u.Hostname(), MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			asked = true
			return &tls.Certificate{}, nil // it is told before we are refused
		}}}
	connection, err := dialer.DialContext(ctx, "tcp", u.Host)
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		return failed("restart the replica at that address: it serves a certificate of another authority",
			"the webhook at %s can't be trusted: %v", u.Host, err)
	case err != nil:
		return failed("see the check manager", "the webhook at %s doesn't answer from here: %v", u.Host, err)
	}
	defer connection.Close()
	secure, ok := connection.(*tls.Conn)
	if !ok {
		return Finding{Status: Unknown, Message: "the webhook's certificate couldn't be read"}
	}
	until := slices.MinFunc(secure.ConnectionState().PeerCertificates, func(a, b *x509.Certificate) int {
		return a.NotAfter.Compare(b.NotAfter)
	}).NotAfter
	if until.Sub(in.Clock.Now()) < expiresSoon {
		return warned("the leader renews it; restart the replica at that address",
			"the webhook at %s serves a certificate that expires at %s", u.Host, until.UTC().Format(time.RFC3339))
	}
	return fine("the certificate of %s is good until %s; %s", u.Host, until.UTC().Format(time.RFC3339),
		answersWhom(asked))
}

// answersWhom says whether the webhook asks clients for a certificate.
func answersWhom(asked bool) string {
	if asked {
		return "it answers only clients whose certificate is vouched for (mutual TLS)"
	}
	return "it answers anyone who reaches it (docs/certificates.md#mutual-tls)"
}

// demanded says whether the manager behind the Service asks clients for a certificate.
func (in *Installation) demanded(ctx context.Context) string {
	d, err := in.deployment(ctx)
	if err != nil || len(d.Spec.Template.Spec.Containers) == 0 {
		return "whether it asks clients for a certificate isn't known"
	}
	return answersWhom(slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Args, func(arg string) bool {
		return strings.HasPrefix(arg, "--webhook-client-ca-file=") && arg != "--webhook-client-ca-file="
	}))
}
