// SPDX-License-Identifier: Apache-2.0

// Package httpclient makes the clients for what the manager asks besides the API server: Prometheus and
// Alertmanager. They take a bearer token and authorities from files, which may be replaced at any time, and
// follow nobody elsewhere.
package httpclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/common/config"
)

// Options say whom to trust, and who asks.
type Options struct {
	// Flags is what the flags begin with that name the files, such as "prometheus": errors name them.
	Flags string
	// BearerTokenFile holds the token to ask with, read for each request; empty for none.
	BearerTokenFile string
	// CAFile holds the certificates, in PEM, that the server's own is checked against. It is read for each
	// request, and what it holds counts from the next on. Empty for those of the system.
	CAFile string
	// Timeout bounds a request, with its connection and its answer; 0 for no bound but the request's context.
	Timeout time.Duration
	// FreshConnections: each request has a connection of its own, for requests that are minutes apart.
	FreshConnections bool
}

// New errs when a file can't be read now, or holds no certificate. A token that isn't there yet, and whatever can't
// be used later, is the error of each request until it can be.
//
// A redirect is an answer like another: what it leads to could see the token, and would pass for the server.
func New(o Options) (*http.Client, error) {
	c := config.HTTPClientConfig{
		ProxyConfig: config.ProxyConfig{ProxyFromEnvironment: true},
		TLSConfig:   config.TLSConfig{CAFile: o.CAFile, MinVersion: config.TLSVersion(tls.VersionTLS12)},
	}
	var options []config.HTTPClientOption
	if o.FreshConnections {
		options = append(options, config.WithKeepAlivesDisabled())
	}
	client, err := config.NewClientFromConfig(c, o.Flags, options...)
	if err != nil {
		return nil, fmt.Errorf("--%s-ca-file must name a file of certificates in PEM: %w", o.Flags, err)
	}
	client.Timeout = o.Timeout
	if o.BearerTokenFile != "" {
		token := token{config.NewFileSecret(o.BearerTokenFile), "--" + o.Flags + "-bearer-token-file"}
		if _, err := token.FileSecret.Fetch(context.Background()); err != nil {
			return nil, fmt.Errorf("%s: %w", token.flag, err)
		}
		client.Transport = config.NewAuthorizationCredentialsRoundTripper("Bearer", token, client.Transport)
	}
	return client, nil
}

// token is a file that must hold something.
type token struct {
	*config.FileSecret
	flag string
}

// Fetch implements config.SecretReader.
func (t token) Fetch(ctx context.Context) (string, error) {
	text, err := t.FileSecret.Fetch(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", t.flag, err)
	case text == "":
		return "", fmt.Errorf("%s: %s is empty: it must hold the bearer token", t.flag, t.Description())
	}
	return text, nil
}
