// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// TLSConfig is how the server speaks TLS: version 1.3 only; the certificate comes when
// it starts. With a file of authorities it answers only clients with a certificate that
// one of them vouches for, so that nobody but the API server is judged for.
func TLSConfig(clientCAFile string, log logr.Logger) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if clientCAFile == "" {
		return config, nil
	}
	authorities := &clientAuthorities{file: clientCAFile, log: log}
	if err := authorities.read(); err != nil {
		return nil, err
	}
	// Whose certificate it is, is asked of the authorities of that moment, for each
	// connection, one that takes an earlier session up again as well.
	config.ClientAuth, config.VerifyConnection = tls.RequireAnyClientCert, authorities.verify
	return config, nil
}

// clientAuthorities follow a file, so that authorities can change without a restart.
type clientAuthorities struct {
	file string
	log  logr.Logger

	mu   sync.Mutex
	text []byte
	pool *x509.CertPool
}

// verify errs for a client that none of the authorities vouches for.
func (c *clientAuthorities) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the client has shown no certificate")
	}
	between := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: c.current(), Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err
}

// current is what the file holds now. While it can't be read, or holds no
// certificate, the authorities before go on: a Secret that is being written must not
// keep the API server out.
func (c *clientAuthorities) current() *x509.CertPool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(); err != nil {
		c.log.Error(err, "The authorities of the webhook's clients aren't taken up; those before go on")
	}
	return c.pool
}

func (c *clientAuthorities) read() error {
	text, err := os.ReadFile(c.file)
	if err != nil {
		return fmt.Errorf("the authorities of the webhook's clients: %w", err)
	}
	if c.pool != nil && bytes.Equal(text, c.text) {
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return fmt.Errorf("the authorities of the webhook's clients: %s holds no certificate in PEM", c.file)
	}
	c.text, c.pool = text, pool
	return nil
}

// Follow serves the certificate of a directory, and each that follows,
// until ctx ends.
func Follow(ctx context.Context, config *tls.Config, dir string, log logr.Logger) error {
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
