// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/source/git"
	"evenkeel.dev/evenkeel/test/cluster"
	"evenkeel.dev/evenkeel/test/gitserver"
)

// site is an SSH server with one repository, and a reader of it.
type site struct {
	server  *gitserver.SSH
	repo    *gitserver.Repository
	fetcher *git.Fetcher
	commit  string
}

func newSite(t *testing.T) *site {
	t.Helper()
	sshd, err := cluster.Tool(t.Context(), "sshd")
	if err != nil {
		t.Fatal(err)
	}
	fetcher, err := git.NewFetcher(git.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{server: gitserver.StartSSH(t, sshd), repo: gitserver.NewRepository(t, t.TempDir(), "it's a hat.git"),
		fetcher: fetcher}
	s.commit = s.repo.CommitAndPush(map[string]string{"hat": "felt"})
	return s
}

// request asks with what the server wants, but for some changes of the Secret.
func (s *site) request(changes map[string][]byte) git.Request {
	credentials := map[string][]byte{"identity": s.server.Identity, "known_hosts": s.server.KnownHosts()}
	maps.Copy(credentials, changes)
	return git.Request{Key: "hats", URL: strings.ReplaceAll(s.server.URL(s.repo), " ", "%20"), Credentials: credentials}
}

func (s *site) requireFetched(t *testing.T, r git.Request) {
	t.Helper()
	got, err := s.fetcher.Fetch(t.Context(), r)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.server.Log())
	}
	text, err := fs.ReadFile(got.Files, "hat")
	if err != nil || string(text) != "felt" || got.Revision != "main@sha1:"+s.commit {
		t.Errorf("revision %s, hat %q (%v)", got.Revision, text, err)
	}
}

func TestARepositoryIsReadOverSSH(t *testing.T) {
	s := newSite(t)
	s.requireFetched(t, s.request(nil))
	locked := gitserver.NewKey(t, "open sesame")
	s.server.Admit(locked)
	s.requireFetched(t, s.request(map[string][]byte{"identity": locked.Private, "password": []byte("open sesame\n")}))
	s.commit = s.repo.CommitAndPush(map[string]string{"hat": "felt", "x": "y"})
	s.requireFetched(t, s.request(nil))
	old := s.request(nil)
	old.Ref.Commit = s.repo.Git("rev-parse", "HEAD~1")
	if got, err := s.fetcher.Fetch(t.Context(), old); err != nil || got.Commit != old.Ref.Commit {
		t.Errorf("a commit of the history: %v, %v", got, err)
	}
	s.repo.Configure("uploadpack.allowAnySHA1InWant", "true")
	absent := s.request(nil)
	absent.Ref.Commit = strings.Repeat("ab", 20)
	_, err := s.fetcher.Fetch(t.Context(), absent)
	requireError(t, err, git.ErrReferenceNotFound, "no commit "+absent.Ref.Commit)
}

func TestWhatSSHRefusesIsSaid(t *testing.T) {
	s := newSite(t)
	locked, stranger := gitserver.NewKey(t, "open sesame"), gitserver.NewKey(t, "")
	other := append([]byte("elsewhere.example.com "), stranger.Public...)
	changed := append([]byte(strings.Fields(string(s.server.KnownHosts()))[0]+" "), stranger.Public...)
	tests := map[string]struct {
		changes map[string][]byte
		kind    error
		says    string
	}{
		"a key that the server doesn't know": {map[string][]byte{"identity": stranger.Private},
			git.ErrAuthentication, "public half"},
		"a host that known_hosts doesn't name": {map[string][]byte{"known_hosts": other}, git.ErrHostKeyUnknown,
			"SHA256:"},
		"a host that shows another key": {map[string][]byte{"known_hosts": changed}, git.ErrHostKeyChanged,
			"stand in between"},
		"no known_hosts": {map[string][]byte{"known_hosts": nil}, git.ErrInvalid,
			"ssh-keyscan"},
		"known_hosts that can't be understood": {map[string][]byte{"known_hosts": []byte("127.0.0.1 ssh-ed25519 ?")},
			git.ErrInvalid, "known_hosts"},
		"no private key": {map[string][]byte{"identity": nil}, git.ErrInvalid, "identity"},
		"a public key in place of the private": {map[string][]byte{"identity": stranger.Public}, git.ErrInvalid,
			"identity"},
		"a locked key without its password": {map[string][]byte{"identity": locked.Private}, git.ErrInvalid,
			"give it as password"},
		"a locked key with a password of another": {
			map[string][]byte{"identity": locked.Private, "password": []byte("tulip bulb")}, git.ErrInvalid,
			"doesn't open"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := s.fetcher.Fetch(t.Context(), s.request(test.changes))
			requireError(t, err, test.kind, test.says)
			for _, secret := range []string{"tulip", strings.Split(string(locked.Private), "\n")[1]} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows a secret: %v", err)
				}
			}
		})
	}
	absent := s.request(nil)
	absent.URL += "x"
	_, err := s.fetcher.Fetch(t.Context(), absent)
	requireError(t, err, git.ErrRepositoryNotFound, "does not appear to be a git repository")

	known := s.request(nil)
	s.server.ChangeHostKey()
	_, err = s.fetcher.Fetch(t.Context(), known)
	requireError(t, err, git.ErrHostKeyChanged, "stand in between")
}

func TestAnSSHServerThatFailsIsUnreachable(t *testing.T) {
	s := newSite(t)
	request := s.request(nil)
	s.server.Stop()
	_, err := s.fetcher.Fetch(t.Context(), request)
	requireError(t, err, git.ErrUnreachable, s.server.Address)

	// It takes connections, and never says a word.
	silent, err := net.Listen("tcp", s.server.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = s.fetcher.Fetch(ctx, request)
	requireError(t, err, git.ErrUnreachable, "timeout")
	requireError(t, err, context.DeadlineExceeded, "")
}

func requireError(t *testing.T, err error, kind error, says string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), says) {
		t.Fatalf("got %v, want an error that is %q and says %q", err, kind, says)
	}
}
