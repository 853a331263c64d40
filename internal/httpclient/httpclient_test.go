// SPDX-License-Identifier: Apache-2.0

package httpclient

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/util/cert"
)

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// serve serves an empty answer over TLS, and counts connections.
func serve(t *testing.T) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var connections atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // a handshake that fails is meant
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, &connections
}

func get(t *testing.T, client *http.Client, url string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// An authority is replaced under a manager that runs: what it signs is trusted from the next request on, and
// what the old one signed no longer.
func TestAnAuthorityThatIsReplacedCountsFromTheNextRequest(t *testing.T) {
	s, _ := serve(t)
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	other, _, err := cert.GenerateSelfSignedCertKey("another", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	write(t, file, other)
	client, err := New(Options{Flags: "peer", CAFile: file})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		pem  []byte
		want string
	}{
		{other, "certificate"}, {own, ""}, {other, "certificate"}, {[]byte("nothing"), file}, {own, ""},
	} {
		write(t, file, step.pem)
		if err := get(t, client, s.URL); (err == nil) != (step.want == "") ||
			err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("got %v, want %q", err, step.want)
		}
	}
}

func TestConnectionsAreFreshWhereThatIsAskedFor(t *testing.T) {
	for fresh, want := range map[bool]int32{false: 1, true: 3} {
		s, connections := serve(t)
		file := filepath.Join(t.TempDir(), "ca.crt")
		write(t, file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
		client, err := New(Options{Flags: "peer", CAFile: file, FreshConnections: fresh})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := get(t, client, s.URL); err != nil {
				t.Fatal(err)
			}
		}
		if got := connections.Load(); got != want {
			t.Errorf("fresh %v: %d connections, want %d", fresh, got, want)
		}
	}
}

func TestFilesThatCantBeUsedNameTheirFlag(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	write(t, empty, []byte(" \n"))
	for name, tc := range map[string]struct {
		options Options
		want    []string
	}{
		"no token": {Options{BearerTokenFile: empty + "no"},
			[]string{"--peer-bearer-token-file", "no such file"}},
		"no authority file": {Options{CAFile: empty + "no"}, []string{"--peer-ca-file", "no such file"}},
		"no certificate":    {Options{CAFile: empty}, []string{"--peer-ca-file", empty, "PEM"}},
	} {
		tc.options.Flags = "peer"
		_, err := New(tc.options)
		for _, want := range tc.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
}

// A token that isn't there yet mustn't keep the manager from starting, and with it admission.
func TestATokenThatIsNotThereYetIsAnErrorOfTheRequest(t *testing.T) {
	s, _ := serve(t)
	token := filepath.Join(t.TempDir(), "token")
	write(t, token, []byte(" \n"))
	client, err := New(Options{Flags: "peer", BearerTokenFile: token})
	if err != nil {
		t.Fatal(err)
	}
	err = get(t, client, s.URL)
	for _, want := range []string{"--peer-bearer-token-file", token, "empty"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
