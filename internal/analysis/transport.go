// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// maxBody bounds an answer, in bytes: one sample needs a few hundred.
const maxBody = 1 << 20

// CheckURL says what is wrong with Prometheus' address; nil when it can be asked.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("isn't a URL: it must be of the form https://HOST:PORT/PATH")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return fmt.Errorf("%q must be of the form https://HOST:PORT/PATH", u.Redacted())
	case u.User != nil:
		return errors.New("must hold no user or password: give a bearer token in a file")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("must hold no ?query and no #fragment")
	}
	return nil
}

// transport adds the token to a request and bounds what is read of the answer.
type transport struct {
	inner *http.Transport
	token string
}

// newTransport reads the files anew.
func newTransport(o Options) (*transport, error) {
	t := &transport{inner: &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the certificates to check Prometheus': %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate: it must be PEM", o.CAFile)
		}
		t.inner.TLSClientConfig.RootCAs = pool
	}
	if o.BearerTokenFile != "" {
		token, err := os.ReadFile(o.BearerTokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the bearer token for Prometheus: %w", err)
		}
		if t.token = strings.TrimSpace(string(token)); t.token == "" {
			return nil, fmt.Errorf("%s is empty: it must hold the bearer token for Prometheus", o.BearerTokenFile)
		}
	}
	return t, nil
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+t.token)
	}
	resp, err := t.inner.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxBody)
	return resp, nil
}

func (t *transport) close() { t.inner.CloseIdleConnections() }
