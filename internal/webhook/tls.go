package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// tlsConfig is what clients must show; the certificate comes when the server starts.
func tlsConfig(clientCAFile string) (*tls.Config, error) {
	options, err := tlsOptions(clientCAFile)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{}
	for _, set := range options {
		set(config)
	}
	return config, nil
}

// followCertificate serves the certificate of a directory, and each that follows,
// until ctx ends.
func followCertificate(ctx context.Context, config *tls.Config, dir string, log logr.Logger) error {
	watcher, err := certwatcher.New(filepath.Join(dir, serverCertName), filepath.Join(dir, serverKeyName))
	if err != nil {
		return fmt.Errorf("reading the webhook's certificate: %w", err)
	}
	config.GetCertificate = watcher.GetCertificate
	go func() {
		if err := watcher.Start(ctx); err != nil {
			log.Error(err, "The webhook's certificate isn't followed any more")
		}
	}()
	return nil
}

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
