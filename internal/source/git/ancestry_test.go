// SPDX-License-Identifier: Apache-2.0

package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/source/git"
	"evenkeel.dev/evenkeel/test/gitserver"
)

// since asks for what descends from a commit.
func (s *site) since(commit string, ref git.Reference) git.Request {
	r := s.request(ref)
	r.Since = commit
	return r
}

func (s *site) requireTaken(r git.Request, commit string) {
	s.t.Helper()
	got, err := s.fetch(r)
	if err != nil || got.Commit != commit {
		s.t.Errorf("got %v, %v; want commit %s", got, err, commit)
	}
}

func TestOnlyWhatDescendsFromTheCommitInForceIsTaken(t *testing.T) {
	for name, filter := range map[string]string{
		"a server that sends commits alone": "true", "a server that can't": "false"} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.repo.Configure("uploadpack.allowFilter", filter)
			old := s.repo.CommitAndPush(hat("old"))
			var last string
			for i := range 12 {
				last = s.repo.Commit(hat(fmt.Sprint("hat ", i)))
			}
			s.repo.Push("HEAD:refs/heads/main", last+":refs/tags/v1.0.0")
			s.requireTaken(s.since(last, git.Reference{}), last)
			s.requireTaken(s.since(old, git.Reference{}), last)
			s.requireTaken(s.since(old, git.Reference{Semver: "^1"}), last)

			s.repo.Git("checkout", "-q", "-b", "side", old)
			side := s.repo.Commit(hat("side"))
			s.repo.Git("checkout", "-q", "main")
			s.repo.Git("merge", "-q", "-s", "ours", "-m", "merge", "side")
			merged := s.repo.Git("rev-parse", "HEAD")
			s.repo.Push("HEAD:refs/heads/main", "side")
			s.requireTaken(s.since(side, git.Reference{}), merged)
			s.requireTaken(s.since(last, git.Reference{}), merged)

			s.requireRefused(s.since(merged, git.Reference{Branch: "side"}), git.ErrNotDescendant, side, merged)
			s.repo.Push(old + ":refs/heads/main")
			back := s.since(merged, git.Reference{})
			s.requireRefused(back, git.ErrNotDescendant, old, merged)
			s.restart()
			s.requireRefused(back, git.ErrNotDescendant, old, merged)
			back.Accepted = last
			s.requireRefused(back, git.ErrNotDescendant, old, merged)
			back.Accepted = old
			s.requireTaken(back, old)
		})
	}
}

func TestAnotherRepositoryDoesNotDescend(t *testing.T) {
	s := newSite(t)
	inForce := s.repo.CommitAndPush(hat("one"))
	other := gitserver.NewRepository(t, s.root, "caps.git")
	foreign := other.CommitAndPush(map[string]string{"hat": "a cap"})
	r := s.since(inForce, git.Reference{})
	r.URL = strings.Replace(r.URL, "hats.git", "caps.git", 1)
	s.requireRefused(r, git.ErrNotDescendant, foreign, inForce)

	// A repository that has moved with its history is the same.
	moved := gitserver.NewRepository(t, s.root, "moved.git")
	moved.Git("fetch", "-q", s.repo.Dir, "main")
	moved.Git("reset", "-q", "--hard", "FETCH_HEAD")
	next := moved.CommitAndPush(map[string]string{"hat": "two"})
	r.URL = strings.Replace(r.URL, "caps.git", "moved.git", 1)
	s.requireTaken(r, next)
}

func TestAHistoryThatCannotBeKnownIsRefused(t *testing.T) {
	s := newSite(t)
	old := s.repo.CommitAndPush(hat("one"))
	for i := range 5 {
		s.repo.Commit(hat(fmt.Sprint(i)))
	}
	s.repo.Push("HEAD:refs/heads/main")
	s.requireRefused(s.since("v1.2.0", git.Reference{}), git.ErrHistoryUnknown, "v1.2.0")
	// The server itself has a part only.
	gitserver.Git(t, s.root, "clone", "-q", "--bare", "--depth=2", "file://"+s.repo.Dir,
		filepath.Join(s.root, "part.git"))
	r := s.since(old, git.Reference{})
	r.URL = strings.Replace(r.URL, "hats.git", "part.git", 1)
	s.requireRefused(r, git.ErrHistoryUnknown, "no whole history")
	left, err := filepath.Glob(filepath.Join(s.options.Dir, "*", "history"))
	if err != nil || len(left) > 0 {
		t.Errorf("commits stay on disk: %v (%v)", left, err)
	}
	// A history that exceeds the bound.
	if err := os.RemoveAll(s.options.Dir); err != nil {
		t.Fatal(err)
	}
	s.repo.Configure("uploadpack.allowFilter", "true")
	for i := range 60 {
		s.repo.Git("commit", "-q", "--allow-empty", "-m", strings.Repeat(fmt.Sprintf("%x", i*7919), 800))
	}
	s.repo.Push("HEAD:refs/heads/main")
	s.options.MaxPackBytes = 1 << 10
	s.restart()
	s.requireRefused(s.since(old, git.Reference{}), git.ErrHistoryUnknown, "exceeds")
}

func TestATagCountsUnderItsOwnNameAlone(t *testing.T) {
	s := newSignedSite(t)
	ada := gitserver.NewKey(t, "")
	adas := secret("keys", string(ada.Public))
	s.repo.SignWith(ada)
	s.repo.Commit(hat("one"), "-S")
	s.repo.Git("tag", "-s", "-m", "signed", "v1.0.0")
	tag := s.repo.Git("rev-parse", "v1.0.0")
	s.repo.Push("v1.0.0", tag+":refs/tags/v9.9.9")
	s.requireRefused(s.verified(git.Reference{Tag: "v9.9.9"}, adas), git.ErrWrongName,
		"v9.9.9 leads to a tag that was made as v1.0.0")
	s.requireRefused(s.verified(git.Reference{Semver: ">=1"}, adas), git.ErrWrongName, "v1.0.0")
	s.requireRefused(s.request(git.Reference{Tag: "v9.9.9"}), git.ErrWrongName, "v1.0.0")

	// Nor may an unsigned tag of the right name wrap it.
	wrapped := "object " + tag + "\ntype tag\ntag v9.9.8\ntagger Eve <eve@example.com> 1767225600 +0000\n\nlook\n"
	s.push("tag", wrapped, "refs/tags/v9.9.8")
	s.requireRefused(s.verified(git.Reference{Tag: "v9.9.8"}, adas), git.ErrWrongName, "v1.0.0")
}
