// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"crypto/tls"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsServer says how metrics are served: over TLS, to whom the API server lets
// read them, with the webhook's certificate, so that who scrapes them can check it.
func metricsServer(o *Options) metricsserver.Options {
	if o.metricsInsecure {
		return metricsserver.Options{BindAddress: o.metricsAddress}
	}
	return metricsserver.Options{
		BindAddress:    o.metricsAddress,
		SecureServing:  true,
		FilterProvider: filters.WithAuthenticationAndAuthorization,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS13
			c.GetCertificate = certificateIn(o.certDir)
		}},
	}
}

// certificateIn reads the certificate at each handshake: metrics are served before
// there is one, scraped seldom, and it is rotated under way.
func certificateIn(dir string) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
		if err != nil {
			return nil, fmt.Errorf("the certificate for metrics isn't there: %w", err)
		}
		return &pair, nil
	}
}
