// SPDX-License-Identifier: Apache-2.0

package git_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"math/big"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/source/git"
	"evenkeel.dev/evenkeel/test/gitserver"
)

func secret(pairs ...string) map[string][]byte {
	values := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = []byte(pairs[i+1])
	}
	return values
}

func TestOnlyTheRightCredentialsOpenARepository(t *testing.T) {
	s := newSite(t)
	s.repo.CommitAndPush(hat("one"))
	basic := gitserver.Settings{Username: "ada", Password: "s3cret-of-ada"}
	bearer := gitserver.Settings{Token: "t0ken-of-ada"}
	tests := map[string]struct {
		server gitserver.Settings
		shown  map[string][]byte
		kind   error // nil: it is let in
		says   string
	}{
		"the right password": {basic, secret("username", "ada", "password", "s3cret-of-ada"), nil,
			""},
		"a password with a line end": {basic, secret("username", "ada\n", "password", "s3cret-of-ada\n"), nil,
			""},
		"the right token": {bearer, secret("bearerToken", "t0ken-of-ada\n"), nil, ""},
		"a wrong password": {basic, secret("username", "ada", "password", "wr0ng-of-ada"),
			git.ErrAuthentication, "username and password were shown"},
		"a wrong token": {bearer, secret("bearerToken", "wr0ng-of-ada"), git.ErrAuthentication,
			"bearerToken was shown"},
		"no credentials": {basic, nil, git.ErrAuthentication, "no credentials were shown"},
		"both ways at once": {
			basic, secret("username", "ada", "password", "s3cret-of-ada", "bearerToken", "t0ken-of-ada"),
			git.ErrInvalid, "both"},
		"a token of two lines": {bearer, secret("bearerToken", "t0ken-of-ada\nt0ken-of-ada"),
			git.ErrInvalid, "line end"},
		"an authority that isn't one": {basic, secret("ca.crt", "s3cret-of-ada"), git.ErrInvalid, "ca.crt"},
		"another authority": {basic, map[string][]byte{"ca.crt": anotherCA(t)}, git.ErrUntrusted,
			"ca.crt"},
		"no authority but those of the system": {basic, map[string][]byte{"ca.crt": nil}, git.ErrUntrusted, "ca.crt"},
		"the authority under its other name": {
			basic, map[string][]byte{"ca.crt": nil, "caFile": s.server.CA, "username": []byte("ada"),
				"password": []byte("s3cret-of-ada")}, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s.server.Set(test.server)
			request := s.request(git.Reference{})
			maps.Copy(request.Credentials, test.shown)
			_, err := s.fetch(request)
			if test.kind == nil {
				if err != nil {
					t.Errorf("it isn't let in: %v", err)
				}
				return
			}
			requireError(t, err, test.kind, test.says)
			if strings.Contains(err.Error(), "of-ada") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

// anotherCA is a certificate that didn't sign the server's.
func anotherCA(t *testing.T) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(nil, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

func TestARedirectCarriesNoCredentialsToAnotherHost(t *testing.T) {
	s := newSite(t)
	hash := s.repo.CommitAndPush(hat("one"))
	mover := gitserver.StartHTTP(t, s.root)
	settings := gitserver.Settings{RedirectTo: s.server.URL}
	mover.Set(settings)
	request := s.request(git.Reference{})
	request.URL = mover.URL + "/hats.git"
	request.Credentials = map[string][]byte{"username": []byte("ada"), "password": []byte("s3cret"),
		"ca.crt": append(append([]byte{}, s.server.CA...), mover.CA...)}
	got, err := s.fetch(request)
	if err != nil || got.Commit != hash {
		t.Fatalf("an open repository that has moved: %v, %v", got, err)
	}
	requests := s.server.Seen()
	for _, seen := range requests {
		if seen.Authorized {
			t.Errorf("%s %s carried credentials to another host", seen.Method, seen.Path)
		}
	}
	if len(requests) == 0 {
		t.Error("the other host was never asked")
	}
	s.server.Set(gitserver.Settings{Username: "ada", Password: "s3cret"})
	s.requireRefused(request, git.ErrAuthentication, "new address", strings.TrimPrefix(s.server.URL, "https://"))
}

func TestAnAddressIsUnderstoodOrRefused(t *testing.T) {
	fetcher, err := git.NewFetcher(git.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ url, says string }{
		"cleartext":                   {"http://example.com/x", "use https://"},
		"a file":                      {"file:///etc", "https://"},
		"another scheme":              {"ext::sh -c id", "space"},
		"Git's own protocol":          {"git://example.com/x", `scheme "git"`},
		"a path":                      {"/etc", "scheme"},
		"a password":                  {"https://ada:s3cret@example.com/x", "credentials"},
		"a token for a user":          {"https://s3cret@example.com/x", "credentials"},
		"a password for ssh":          {"ssh://git:s3cret@example.com/x", "credentials"},
		"a password and no good port": {"https://ada:s3cret@example.com:x/x", "can't be understood"},
		"no user for ssh":             {"ssh://example.com/x", "git@"},
		"a query":                     {"https://example.com/x?access_token=s3cret", "query"},
		"no path":                     {"https://example.com/", "no path"},
		"no host":                     {"https:///x", "no host"},
		"a port that can't be":        {"https://example.com:99999/x", "99999"},
		"an option for a host":        {"ssh://-oProxyCommand=id/x", "user"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := fetcher.Fetch(t.Context(), git.Request{URL: test.url})
			requireError(t, err, git.ErrInvalid, test.says)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
	for _, url := range []string{"git@example.com:team/hats.git", "ssh://git@example.com:2222/hats.git",
		"ssh://git@[::1]/hats.git"} {
		_, err := fetcher.Fetch(t.Context(), git.Request{URL: url})
		requireError(t, err, git.ErrInvalid, "private key") // the URL is good
	}
}

func TestAReferenceIsUnderstoodOrRefused(t *testing.T) {
	fetcher, err := git.NewFetcher(git.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		ref  git.Reference
		says string
	}{
		"two at once":      {git.Reference{Branch: "main", Tag: "v1"}, "give one"},
		"a short commit":   {git.Reference{Commit: "abc1234"}, "40 digits"},
		"a SHA-256 commit": {git.Reference{Commit: strings.Repeat("a", 64)}, "SHA-256"},
		"no range":         {git.Reference{Semver: "newest"}, "~1.2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := fetcher.Fetch(t.Context(), git.Request{URL: "https://example.com/x", Ref: test.ref})
			requireError(t, err, git.ErrInvalid, test.says)
		})
	}
}
