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

// tlsConfig is how the server speaks TLS: version 1.3 only; the certificate comes when
// it starts. With a file of authorities it answers only clients with a certificate that
// one of them vouches for, so that nobody but the API server is judged for.
func tlsConfig(clientCAFile string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if clientCAFile == "" {
		return config, nil
	}
	text, err := os.ReadFile(clientCAFile)
	if err != nil {
		return nil, fmt.Errorf("the authorities of the webhook's clients: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the authorities of the webhook's clients: %s holds no certificate in PEM", clientCAFile)
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
