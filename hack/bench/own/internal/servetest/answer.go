// SPDX-License-Identifier: Apache-2.0

// Package servetest asks webhooks that are served over TLS, for tests.
package servetest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"
)

// Answer is what a webhook at /validate/ignore answers a review. It serves at a port with the certificate of a
// directory until its context ends.
func Answer(t *testing.T, serve func(ctx context.Context, port int, dir string) error, review string) (answer string) {
	t.Helper()
	dir := t.TempDir()
	public, private, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"tls.crt": public, "tls.key": private} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port := freePort(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, port, dir) }()
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(public)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: authority}}}
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) {
			response, err := client.Post(fmt.Sprintf("https://localhost:%d/validate/ignore", port), "application/json",
				strings.NewReader(review))
			if err != nil {
				return false, nil // it doesn't listen yet
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			answer = string(text)
			return true, err
		})
	if err != nil {
		t.Errorf("it answers %s, %v", answer, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return answer
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}
