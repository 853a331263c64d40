// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCertificatesHoldForTheirUse(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	authority, err := NewAuthority(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := authority.Server("server", []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	if err := authority.Client("admin", "somebody", "system:masters"); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	cases := map[string]struct {
		reason string
		file   string
		check  x509.VerifyOptions
		want   bool
	}{
		"a server holds for its address": {
			"clients dial 127.0.0.1", "server", x509.VerifyOptions{DNSName: "127.0.0.1"}, true},
		"a server doesn't hold for another": {"only its own names were asked for", "server",
			x509.VerifyOptions{DNSName: "example.test"}, false},
		"a client holds as a client": {
			"the API server asks for that", "admin",
			x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true},
		"a client doesn't hold as a server": {
			"it must not pose as one", "admin",
			x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, false},
		"a server doesn't hold two years later": {
			"it's for a throw-away cluster", "server", x509.VerifyOptions{CurrentTime: now.AddDate(2, 0, 0)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pair, err := tls.LoadX509KeyPair(filepath.Join(dir, tc.file+".crt"), filepath.Join(dir, tc.file+".key"))
			if err != nil {
				t.Fatal(err)
			}
			tc.check.Roots = roots
			if tc.check.CurrentTime.IsZero() {
				tc.check.CurrentTime = now
			}
			if _, err := pair.Leaf.Verify(tc.check); (err == nil) != tc.want {
				t.Errorf("verified: %v, want it to hold: %v: %s", err, tc.want, tc.reason)
			}
		})
	}
}
