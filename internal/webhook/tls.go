package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// tlsOptions are how the server speaks TLS: version 1.3 only. With a file of
// authorities it answers only clients with a certificate that one of them vouches
// for, so that nobody but the API server is judged for.
func tlsOptions(clientCAFile string) ([]func(*tls.Config), error) {
	options := []func(*tls.Config){func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }}
	if clientCAFile == "" {
		return options, nil
	}
	text, err := os.ReadFile(clientCAFile)
	if err != nil {
		return nil, fmt.Errorf("the authorities of the webhook's clients: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the authorities of the webhook's clients: %s holds no certificate in PEM", clientCAFile)
	}
	return append(options, func(c *tls.Config) {
		c.ClientCAs, c.ClientAuth = authorities, tls.RequireAndVerifyClientCert
	}), nil
}
