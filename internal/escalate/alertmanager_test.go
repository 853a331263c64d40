// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPeerGetsTheTokenAsTheFileHoldsItNow(t *testing.T) {
	a := &alertmanager{held: map[string]posted{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("of before"), 0o600); err != nil {
		t.Fatal(err)
	}
	peers, err := newPeers([]string{server.URL}, token, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first", "second"} {
		if err := os.WriteFile(token, []byte(want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := peers[0].firing(context.Background(), "prod-1"); err != nil {
			t.Fatal(err)
		}
		if got := a.header.Get("Authorization"); got != "Bearer "+want {
			t.Errorf("sent %q, want the token %q", got, want)
		}
	}
	if err := os.Remove(token); err != nil {
		t.Fatal(err)
	}
	if _, err := peers[0].firing(context.Background(), "prod-1"); err == nil ||
		!strings.Contains(err.Error(), "--alertmanager-bearer-token-file") {
		t.Errorf("got error %v, want one that names the flag", err)
	}
}

func TestAPeerIsTrustedByTheAuthorityGivenOnly(t *testing.T) {
	server := httptest.NewTLSServer(&alertmanager{held: map[string]posted{}})
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	trusting, err := newPeers([]string{server.URL}, "", ca)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trusting[0].firing(context.Background(), "prod-1"); err != nil {
		t.Errorf("with its authority: %v", err)
	}
	doubting, err := newPeers([]string{server.URL}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := doubting[0].firing(context.Background(), "prod-1"); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("without its authority: %v", err)
	}
	if err := os.WriteFile(ca, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newPeers([]string{server.URL}, "", ca); err == nil {
		t.Error("a file without a certificate was taken")
	}
}

func TestAnErrorHoldsNoPassword(t *testing.T) {
	peers, err := newPeers([]string{"http://somebody:secret@127.0.0.1:1"}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = peers[0].firing(context.Background(), "prod-1")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got error %v, want one without the password", err)
	}
}

func TestMoreAlertsThanABatchGoInSeveral(t *testing.T) {
	a := &alertmanager{held: map[string]posted{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	peers, err := newPeers([]string{server.URL}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var list []posted
	for i := range batch + 1 {
		list = append(list, posted{Labels: map[string]string{"policy": strings.Repeat("x", i+1)}})
	}
	if err := peers[0].post(context.Background(), list); err != nil {
		t.Fatal(err)
	}
	if a.posts != 2 || len(a.held) != batch+1 {
		t.Errorf("%d posts with %d alerts, want 2 with %d", a.posts, len(a.held), batch+1)
	}
}

func TestAnAnswerThatIsNoAlertmanagersIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>"))
	}))
	t.Cleanup(server.Close)
	peers, err := newPeers([]string{server.URL}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := peers[0].firing(context.Background(), "prod-1"); err == nil ||
		!strings.Contains(err.Error(), "--alertmanager-url") {
		t.Errorf("got error %v, want one that names the flag", err)
	}
}

func TestAPeerIsNeverFollowedElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed, with %s and %q", r.Method, r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, code)
		}))
		t.Cleanup(server.Close)
		peers, err := newPeers([]string{server.URL}, token, "")
		if err != nil {
			t.Fatal(err)
		}
		_, asked := peers[0].firing(context.Background(), "prod-1")
		for what, err := range map[string]error{
			"asking": asked, "posting": peers[0].post(context.Background(), []posted{{}})} {
			if err == nil || !strings.Contains(
				err.Error(), "isn't followed: give the final one as --alertmanager-url") {
				t.Errorf("%s, answered %d: got %v", what, code, err)
			}
		}
	}
}
