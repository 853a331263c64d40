// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const (
	requestTimeout = 10 * time.Second
	bodyLimit      = 10 << 20
)

// Client talks to the servers of one instance on the loopback address.
type Client struct {
	http *http.Client
}

// StatusError is an answer other than 2xx.
type StatusError struct {
	Code int
	Body string
}

func (e *StatusError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.Code, e.Body) }

// New returns a Client that trusts pkiDir/ca.crt and, if user isn't empty,
// presents pkiDir/user.crt.
func New(pkiDir, user string) (*Client, error) {
	ca, err := os.ReadFile(filepath.Join(pkiDir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the authority's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s holds no certificate: bring the instance down and up again",
			filepath.Join(pkiDir, "ca.crt"))
	}
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if user != "" {
		pair, err := tls.LoadX509KeyPair(filepath.Join(pkiDir, user+".crt"), filepath.Join(pkiDir, user+".key"))
		if err != nil {
			return nil, fmt.Errorf("read the certificate of %s: %w", user, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	// A connection kept open would hang on a server that was killed and restarted.
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	return &Client{http: &http.Client{Transport: transport, Timeout: requestTimeout}}, nil
}

// Get reads url into out, unless out is nil.
func (c *Client) Get(ctx context.Context, url string, out any) error {
	return c.do(ctx, http.MethodGet, url, nil, out)
}

// Post creates in at url.
func (c *Client) Post(ctx context.Context, url string, in any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode the body for %s: %w", url, err)
	}
	return c.do(ctx, http.MethodPost, url, body, nil)
}

func (c *Client) do(ctx context.Context, method, url string, body []byte, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("call the server: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, bodyLimit))
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, url, err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %w", method, url, &StatusError{Code: response.StatusCode, Body: string(text)})
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, url, err)
	}
	return nil
}
