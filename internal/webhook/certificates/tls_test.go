// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// clientCertificate is a client's certificate that vouches for itself.
func clientCertificate(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestMutualTLS(t *testing.T) {
	apiServer, other := clientCertificate(t, "kube-apiserver"), clientCertificate(t, "somebody")
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: apiServer.Certificate[0]}),
		0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason   string
		caFile   string
		client   []tls.Certificate
		version  uint16
		answered bool
	}{
		"without authorities anybody is answered": {
			reason: "a verdict tells little, and most API servers have no client certificate", answered: true,
		},
		"the API server is answered": {
			reason: "its certificate is vouched for", caFile: file, client: []tls.Certificate{apiServer},
			answered: true,
		},
		"a client without a certificate isn't": {
			reason: "it can't be the API server", caFile: file,
		},
		"a client with another certificate isn't": {
			reason: "nobody vouches for it", caFile: file, client: []tls.Certificate{other},
		},
		"TLS 1.2 isn't spoken": {
			reason: "version 1.3 is the least", version: tls.VersionTLS12,
		},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := TLSConfig(tc.caFile, logr.Discard())
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			server.TLS = config
			server.StartTLS()
			defer server.Close()
			transport := server.Client().Transport.(*http.Transport).Clone()
			transport.TLSClientConfig.Certificates, transport.TLSClientConfig.MaxVersion = tc.client, tc.version
			response, err := (&http.Client{Transport: transport}).Get(server.URL)
			if err == nil {
				_ = response.Body.Close()
			}
			if answered := err == nil; answered != tc.answered {
				t.Errorf("%s: answered %v, want %v (%v)", tc.reason, answered, tc.answered, err)
			}
		})
	}
}

func TestMutualTLSNeedsAuthorities(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.crt")
	if err := os.WriteFile(empty, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{empty, filepath.Join(t.TempDir(), "none.crt")} {
		if _, err := TLSConfig(file, logr.Discard()); err == nil {
			t.Errorf("%s: the server would start, and nobody could be answered", file)
		}
	}
}

// Each connection is judged by what the file holds then; what can't be read changes
// nothing.
func TestClientAuthoritiesChangeWithoutARestart(t *testing.T) {
	before, after := clientCertificate(t, "before"), clientCertificate(t, "after")
	file := filepath.Join(t.TempDir(), "ca.crt")
	write := func(certificates ...tls.Certificate) {
		var text []byte
		for _, c := range certificates {
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})...)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(before)
	config, err := TLSConfig(file, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = config
	server.StartTLS()
	defer server.Close()
	sessions := map[*tls.Certificate]tls.ClientSessionCache{
		&before: tls.NewLRUClientSessionCache(8), &after: tls.NewLRUClientSessionCache(8)}
	answered := func(client *tls.Certificate) bool {
		transport := server.Client().Transport.(*http.Transport).Clone()
		transport.DisableKeepAlives = true
		transport.TLSClientConfig.Certificates,
			transport.TLSClientConfig.ClientSessionCache = []tls.Certificate{*client}, sessions[client]
		response, err := (&http.Client{Transport: transport}).Get(server.URL)
		if err == nil {
			_ = response.Body.Close()
		}
		return err == nil
	}
	expect := func(when string, first, second bool) {
		t.Helper()
		if a, b := answered(&before), answered(&after); a != first || b != second {
			t.Errorf("%s: the first is answered %t, the second %t; want %t, %t", when, a, b, first, second)
		}
	}
	expect("at first", true, false)
	write(before, after)
	expect("with both", true, true)
	write()
	expect("with an empty file", true, true)
	write(after)
	expect("with the second alone", false, true)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	expect("with the file gone", false, true)
}
