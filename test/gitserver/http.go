// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"encoding/pem"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
)

// HTTP is a server of repositories over HTTPS.
type HTTP struct {
	// URL is the server's address; a repository's is URL/<name>.
	URL string
	// CA is the certificate of the authority that vouches for it, as PEM.
	CA []byte

	server *httptest.Server
	git    http.Handler

	mu       sync.Mutex
	settings Settings
	seen     []Request
}

// Settings say how a server answers. All may change while it runs.
type Settings struct {
	// Username and Password, or Token, are what it asks for. Empty: nothing.
	Username, Password, Token string
	// BreakAfter is how many bytes of files it sends before it breaks off; 0 for all.
	BreakAfter int
	// RedirectTo is the address that all requests are sent on to.
	RedirectTo string
	// Hang keeps all requests waiting until the client gives up.
	Hang bool
}

// Request is one that a server has seen.
type Request struct {
	Method, Path string
	// Authorized says that it brought credentials.
	Authorized bool
}

// StartHTTP serves the repositories below root until the test ends.
func StartHTTP(t T, root string) *HTTP {
	t.Helper()
	backend := filepath.Join(Git(t, root, "--exec-path"), "git-http-backend")
	h := &HTTP{git: &cgi.Handler{
		Path: backend, Dir: root, Env: append(environment(), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1")}}
	h.server = httptest.NewTLSServer(h)
	h.URL = h.server.URL
	h.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.server.Certificate().Raw})
	t.Cleanup(h.Stop)
	return h
}

// Stop ends the server, and with it all conversations.
func (h *HTTP) Stop() {
	h.server.CloseClientConnections()
	h.server.Close()
}

// Set changes how it answers.
func (h *HTTP) Set(s Settings) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settings = s
}

// Seen gives the requests since the last call.
func (h *HTTP) Seen() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := h.seen
	h.seen = nil
	return seen
}

// ServeHTTP answers one request.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	s := h.settings
	h.seen = append(h.seen, Request{
		Method: r.Method, Path: r.URL.Path, Authorized: r.Header.Get("Authorization") != ""})
	h.mu.Unlock()
	switch {
	case s.Hang:
		<-r.Context().Done()
	case s.RedirectTo != "":
		http.Redirect(w, r, s.RedirectTo+r.URL.RequestURI(), http.StatusMovedPermanently)
	case !s.admits(r):
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case s.BreakAfter > 0 && strings.HasSuffix(r.URL.Path, "/git-upload-pack"):
		h.git.ServeHTTP(&breaking{ResponseWriter: w, left: s.BreakAfter}, r)
	default:
		h.git.ServeHTTP(w, r)
	}
}

func (s Settings) admits(r *http.Request) bool {
	if s.Token != "" {
		return r.Header.Get("Authorization") == "Bearer "+s.Token
	}
	username, password, _ := r.BasicAuth()
	return username == s.Username && password == s.Password
}

// breaking ends the connection after so many bytes.
type breaking struct {
	http.ResponseWriter

	left int
}

// Write sends what is left to be sent, and then ends the connection.
func (b *breaking) Write(p []byte) (int, error) {
	n, err := b.ResponseWriter.Write(p[:min(len(p), b.left)])
	if b.left -= n; b.left <= 0 {
		_ = http.NewResponseController(b.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}
