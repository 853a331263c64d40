// SPDX-License-Identifier: Apache-2.0

package main

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

func TestTheWebhookIsServedOverTLS(t *testing.T) {
	dir := t.TempDir()
	public, private, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules := filepath.Join(dir, "rules.yaml")
	for file, text := range map[string]string{rules: template, filepath.Join(dir, "tls.crt"): string(public),
		filepath.Join(dir, "tls.key"): string(private)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, rules, "compiled", port, dir) }()
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(public)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: authority}}}
	var answer string
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) {
			response, err := client.Post(fmt.Sprintf("https://localhost:%d/validate/ignore", port), "application/json",
				strings.NewReader(strings.NewReplacer("NAME", "db", "LABELS", "{}").Replace(podReview)))
			if err != nil {
				return false, nil // it doesn't listen yet
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			answer = string(text)
			return true, err
		})
	if err != nil || !strings.Contains(answer, `"allowed":false`) || !strings.Contains(answer, "db has no owner") {
		t.Errorf("it answers %s, %v", answer, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWithoutRulesThereAreNoPolicies(t *testing.T) {
	snapshot, err := policies(t.Context(), "", "compiled")
	if err != nil || len(snapshot.Policies()) != 0 {
		t.Errorf("%v, %v", snapshot, err)
	}
}
