// SPDX-License-Identifier: Apache-2.0

package git_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/source/git"
	"evenkeel.dev/evenkeel/test/gitserver"
)

// site is an https server with one repository, and a reader of it.
type site struct {
	t       *testing.T
	root    string
	repo    *gitserver.Repository
	server  *gitserver.HTTP
	options git.Options
	fetcher *git.Fetcher
}

func newSite(t *testing.T) *site {
	t.Helper()
	root := t.TempDir()
	s := &site{t: t, root: root, repo: gitserver.NewRepository(t, root, "hats.git"),
		server: gitserver.StartHTTP(t, root)}
	s.options = git.Options{Dir: t.TempDir()}
	s.restart()
	return s
}

// in is the same site for a part of a test.
func (s *site) in(t *testing.T) *site {
	part := *s
	part.t = t
	return &part
}

// restart reads on as a new process would.
func (s *site) restart() {
	s.t.Helper()
	fetcher, err := git.NewFetcher(s.options)
	if err != nil {
		s.t.Fatal(err)
	}
	s.fetcher = fetcher
}

func (s *site) request(ref git.Reference) git.Request {
	return git.Request{Key: "hats", URL: s.server.URL + "/hats.git", Ref: ref,
		Credentials: map[string][]byte{"ca.crt": s.server.CA}}
}

func (s *site) fetch(r git.Request) (*git.Fetched, error) {
	return s.fetcher.Fetch(s.t.Context(), r)
}

// requireFetched wants a revision, and a file's content.
func (s *site) requireFetched(ref git.Reference, revision, content string) {
	s.t.Helper()
	got, err := s.fetch(s.request(ref))
	if err != nil {
		s.t.Fatalf("fetch %s: %v", ref, err)
	}
	if got.Revision != revision || !strings.HasSuffix(revision, got.Commit) {
		s.t.Errorf("fetch %s: revision %s, want %s", ref, got.Revision, revision)
	}
	text, err := fs.ReadFile(got.Files, "hat")
	if err != nil || string(text) != content {
		s.t.Errorf("fetch %s: hat holds %q (%v), want %q", ref, text, err, content)
	}
}

// requireRefused wants an error of a kind that says certain things.
func (s *site) requireRefused(r git.Request, kind error, says ...string) {
	s.t.Helper()
	_, err := s.fetch(r)
	requireError(s.t, err, kind, says...)
}

func requireError(t *testing.T, err error, kind error, says ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got %v, want an error that is %q", err, kind)
	}
	for _, words := range says {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("got %q, want it to say %q", err, words)
		}
	}
}

func hat(text string) map[string]string { return map[string]string{"hat": text} }

func TestEveryKindOfReferenceIsFollowed(t *testing.T) {
	s := newSite(t)
	first := s.repo.CommitAndPush(hat("one"))
	s.repo.Git("tag", "v1.2.0")
	second := s.repo.Commit(hat("two"))
	s.repo.Git("tag", "-a", "-m", "annotated", "1.3.0")
	third := s.repo.Commit(hat("three"))
	s.repo.Git("tag", "v2.0.0-rc.1")
	s.repo.Push("--tags", "HEAD:refs/heads/feature/x")
	for name, test := range map[string]struct {
		ref               git.Reference
		revision, content string
	}{
		"nothing is the default branch": {git.Reference{}, "main@sha1:" + first, "one"},
		"a branch, with a slash": {
			git.Reference{Branch: "feature/x"}, "feature/x@sha1:" + third, "three"},
		"a light tag":                    {git.Reference{Tag: "v1.2.0"}, "v1.2.0@sha1:" + first, "one"},
		"an annotated tag is its commit": {git.Reference{Tag: "1.3.0"}, "1.3.0@sha1:" + second, "two"},
		"a range takes the newest, with or without v": {git.Reference{Semver: ">=1.0.0 <2"}, "1.3.0@sha1:" + second,
			"two"},
		"a range takes what is before a release if told": {
			git.Reference{Semver: ">=1.0.0-0"}, "v2.0.0-rc.1@sha1:" + third, "three"},
		"a commit that is a branch's newest": {git.Reference{Commit: third}, "sha1:" + third, "three"},
		"a commit of a tag":                  {git.Reference{Commit: first}, "sha1:" + first, "one"},
	} {
		t.Run(name, func(t *testing.T) {
			s.in(t).requireFetched(test.ref, test.revision, test.content)
		})
	}
}

func TestACommitOfTheHistoryIsFound(t *testing.T) {
	s := newSite(t)
	old := s.repo.CommitAndPush(hat("old"))
	s.repo.CommitAndPush(hat("new"))
	// The server doesn't let it be named: the whole history is looked through.
	s.requireFetched(git.Reference{Commit: old}, "sha1:"+old, "old")
	absent := strings.Repeat("ab", 20)
	s.requireRefused(s.request(git.Reference{Commit: absent}), git.ErrReferenceNotFound, absent, "push it")
	// It does: that one commit is asked for.
	s.repo.Configure("uploadpack.allowReachableSHA1InWant", "true")
	s.options.Dir = t.TempDir()
	s.restart()
	s.requireFetched(git.Reference{Commit: old}, "sha1:"+old, "old")
	s.requireRefused(s.request(git.Reference{Commit: absent}), git.ErrReferenceNotFound, absent, "push it")
}

func TestWhatIsOnDiskIsntFetchedAgain(t *testing.T) {
	s := newSite(t)
	hash := s.repo.CommitAndPush(hat("one"))
	s.requireFetched(git.Reference{}, "main@sha1:"+hash, "one")
	s.server.Seen()
	s.restart()
	s.requireFetched(git.Reference{}, "main@sha1:"+hash, "one")
	for _, request := range s.server.Seen() {
		if request.Method == "POST" {
			t.Errorf("the same commit was asked for again: %v", request)
		}
	}
	second := s.repo.CommitAndPush(hat("two"))
	s.requireFetched(git.Reference{}, "main@sha1:"+second, "two")
	if kept, err := filepath.Glob(filepath.Join(s.options.Dir, "*", "*")); err != nil || len(kept) != 1 {
		t.Errorf("kept %v (%v), want one commit", kept, err)
	}
	if err := s.fetcher.Forget("hats"); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(s.options.Dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left after Forget (%v)", left, err)
	}
	s.requireFetched(git.Reference{}, "main@sha1:"+second, "two")
}

func TestWhatMovesIsFollowed(t *testing.T) {
	s := newSite(t)
	base := s.repo.CommitAndPush(hat("base"))
	s.repo.Git("tag", "stable")
	s.repo.Push("--tags")
	s.repo.CommitAndPush(hat("first"))
	s.requireFetched(git.Reference{Tag: "stable"}, "stable@sha1:"+base, "base")

	s.repo.Git("reset", "-q", "--hard", base)
	forced := s.repo.CommitAndPush(hat("forced"))
	s.requireFetched(git.Reference{Branch: "main"}, "main@sha1:"+forced, "forced")

	s.repo.Git("tag", "--force", "stable")
	s.repo.Push("--tags")
	s.requireFetched(git.Reference{Tag: "stable"}, "stable@sha1:"+forced, "forced")

	s.repo.Git("push", "-q", "origin", "HEAD:refs/heads/other")
	s.requireFetched(git.Reference{Branch: "other"}, "other@sha1:"+forced, "forced")
	s.repo.Git("push", "-q", "origin", ":refs/heads/other")
	s.requireRefused(s.request(git.Reference{Branch: "other"}), git.ErrReferenceNotFound, `no branch "other"`, "main")
}

func TestWhatIsntThereIsSaid(t *testing.T) {
	s := newSite(t)
	s.requireRefused(s.request(git.Reference{}), git.ErrReferenceNotFound, "empty", "push")
	s.repo.CommitAndPush(hat("one"))
	s.requireRefused(s.request(git.Reference{Tag: "v1"}), git.ErrReferenceNotFound, `no tag "v1"`, "has none")
	s.requireRefused(s.request(git.Reference{Semver: "~1.2"}), git.ErrReferenceNotFound, "~1.2", "widen")
	elsewhere := s.request(git.Reference{})
	elsewhere.URL = s.server.URL + "/caps.git"
	s.requireRefused(elsewhere, git.ErrRepositoryNotFound, "/caps.git")
	gitserver.Git(t, s.repo.Dir, "symbolic-ref", "HEAD", "refs/heads/gone")
	s.requireRefused(s.request(git.Reference{}), git.ErrReferenceNotFound, "ref.branch")
}

func TestAServerThatFailsIsUnreachable(t *testing.T) {
	s := newSite(t)
	s.repo.CommitAndPush(map[string]string{"hat": strings.Repeat("felt ", 1<<16), "x": string(noise(1 << 20))})
	s.server.Set(gitserver.Settings{BreakAfter: 100 << 10})
	s.requireRefused(s.request(git.Reference{}), git.ErrUnreachable)
	if left, err := filepath.Glob(filepath.Join(s.options.Dir, "*", "*")); err != nil || len(left) != 0 {
		t.Errorf("%v is left of a broken download (%v)", left, err)
	}
	s.server.Set(gitserver.Settings{Hang: true})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.fetcher.Fetch(ctx, s.request(git.Reference{}))
	requireError(t, err, git.ErrUnreachable, "timeout")
	requireError(t, err, context.DeadlineExceeded)
	s.server.Set(gitserver.Settings{})
	if _, err := s.fetch(s.request(git.Reference{})); err != nil {
		t.Errorf("the server is back: %v", err)
	}
	s.server.Stop()
	s.requireRefused(s.request(git.Reference{}), git.ErrUnreachable, "127.0.0.1")
}
