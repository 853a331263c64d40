// SPDX-License-Identifier: Apache-2.0

package git

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// maxShownBytes bounds the list of branches and tags that is read.
const maxShownBytes = 64 << 20

// httpSession closes its connections when it ends.
type httpSession struct {
	transport.UploadPackSession

	connections *http.Transport
}

func (s *httpSession) Close() error {
	err := s.UploadPackSession.Close()
	s.connections.CloseIdleConnections()
	return err
}

// openHTTP prepares a conversation; the first request opens the connection. A
// redirect is followed while looking for the repository, and go-git shows the
// credentials to no other host.
func openHTTP(at *transport.Endpoint, c credentials) (session, error) {
	auth, err := httpAuth(c)
	if err != nil {
		return nil, err
	}
	authorities, err := c.authorities()
	if err != nil {
		return nil, err
	}
	connections := &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities},
	}
	guard := &guard{next: connections, origin: at.Host, port: at.Port}
	git := githttp.NewClient(&http.Client{Transport: guard})
	opened, err := git.NewUploadPackSession(at, auth)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection: %w", err)
	}
	return &httpSession{UploadPackSession: opened, connections: connections}, nil
}

func httpAuth(c credentials) (transport.AuthMethod, error) {
	username, password, token := c.text(keyUsername), c.text(keyPassword), c.text(keyBearerToken)
	switch {
	case token != "" && (username != "" || password != ""):
		return nil, failf(ErrInvalid,
			"the Secret holds both bearerToken and username or password: give the one that the host asks for")
	case token != "":
		if strings.ContainsAny(token, " \t\r\n") {
			return nil, failf(ErrInvalid, "bearerToken of the Secret holds a space or a line end: give the token alone")
		}
		return &githttp.TokenAuth{Token: token}, nil
	case username != "" || password != "":
		return &githttp.BasicAuth{Username: username, Password: password}, nil
	}
	return nil, nil
}

// guard bounds what is read before the files themselves, and says when a host that
// the URL doesn't name refuses access.
type guard struct {
	next   http.RoundTripper
	origin string
	port   int
}

func (g *guard) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	denied := response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden
	if denied && g.elsewhere(request) {
		_ = response.Body.Close()
		return nil, failf(ErrAuthentication, "%s sends readers on to %s, which asks for credentials; they aren't "+
			"shown to a host that the URL doesn't name: put the repository's new address into the URL", g.origin,
			request.URL.Host)
	}
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		response.Body = bounded(response.Body, maxErrorText)
	case request.Method == http.MethodGet:
		response.Body = bounded(response.Body, maxShownBytes)
	}
	return response, nil
}

func (g *guard) elsewhere(request *http.Request) bool {
	port := ""
	if g.port != 0 {
		port = strconv.Itoa(g.port)
	}
	return !strings.EqualFold(request.URL.Hostname(), strings.Trim(g.origin, "[]")) || request.URL.Port() != port
}

type boundedBody struct {
	io.Reader
	io.Closer
}

func bounded(body io.ReadCloser, limit int64) io.ReadCloser {
	return boundedBody{io.LimitReader(body, limit), body}
}

// untrustedCertificate says why a server's certificate isn't good enough; nil when
// that isn't what the error is about.
func untrustedCertificate(at *transport.Endpoint, err error) error {
	var verification *tls.CertificateVerificationError
	if !errors.As(err, &verification) {
		return nil
	}
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return failf(ErrUntrusted, "the certificate of %s is signed by an authority that isn't trusted: give that "+
			"authority's certificate as ca.crt in the Secret that secretRef names", address(at))
	}
	return failf(ErrUntrusted, "the certificate of %s isn't good: %s; fix the server's certificate, or correct the URL",
		address(at), words(verification.Err.Error()))
}

func address(at *transport.Endpoint) string {
	if at.Port == 0 {
		return at.Host
	}
	return net.JoinHostPort(strings.Trim(at.Host, "[]"), strconv.Itoa(at.Port))
}
