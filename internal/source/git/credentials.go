// SPDX-License-Identifier: Apache-2.0

package git

import (
	"crypto/x509"
	"strings"
)

// The keys of a Secret, named as Flux names them.
const (
	keyUsername    = "username"
	keyPassword    = "password"
	keyBearerToken = "bearerToken"
	keyCA          = "ca.crt"
	keyCAFile      = "caFile"
	keyIdentity    = "identity"
	keyKnownHosts  = "known_hosts"
)

// credentials are the values of a Secret.
type credentials map[string][]byte

// text is a value without the line end that editors and shells leave behind.
func (c credentials) text(key string) string { return strings.TrimRight(string(c[key]), "\r\n") }

// secrets are the values that must never be shown.
func (c credentials) secrets() []string {
	var secrets []string
	for _, key := range []string{keyPassword, keyBearerToken, keyIdentity} {
		if value := c.text(key); value != "" {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// authorities are the only ones that may vouch for a server; nil for those of the
// system.
func (c credentials) authorities() (*x509.CertPool, error) {
	key := keyCA
	if len(c[key]) == 0 {
		key = keyCAFile
	}
	if len(c[key]) == 0 {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(c[key]) {
		return nil, failf(ErrInvalid,
			"%s of the Secret holds no certificate: give the PEM of the authority that signed the server's", key)
	}
	return pool, nil
}

// redact takes secrets out of what somebody else says.
func redact(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}
