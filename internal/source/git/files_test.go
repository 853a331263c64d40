// SPDX-License-Identifier: Apache-2.0

package git_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/source/git"
)

// files gives the newest commit's.
func (s *site) files() fs.FS {
	s.t.Helper()
	got, err := s.fetch(s.request(git.Reference{}))
	if err != nil {
		s.t.Fatal(err)
	}
	return got.Files
}

func (s *site) link(target, name string) {
	s.t.Helper()
	if err := os.Symlink(target, filepath.Join(s.repo.Work, name)); err != nil {
		s.t.Fatal(err)
	}
}

func TestTheFilesAreThoseOfACheckout(t *testing.T) {
	s := newSite(t)
	s.repo.Write(map[string]string{"hat": "one", "a/b/c": "two", "a.b": "three", "a-b/x": "four", "empty": ""})
	s.link("../hat", "a/to-file")
	s.link("a/b", "to-dir")
	s.link("to-dir/c", "through")
	s.repo.CommitAndPush(nil)
	files := s.files()
	if err := fstest.TestFS(files, "hat", "a/b/c", "a.b", "a-b/x", "empty"); err != nil {
		t.Error(err)
	}
	checkout := os.DirFS(s.repo.Work)
	for _, name := range []string{"hat", "a/to-file", "to-dir/c", "through", "empty"} {
		want, err := fs.ReadFile(checkout, name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fs.ReadFile(files, name)
		info, errInfo := fs.Stat(files, name)
		if err := errors.Join(err, errInfo); err != nil || string(got) != string(want) ||
			info.Size() != int64(len(want)) {
			t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
		}
	}
	if entries, err := fs.ReadDir(files, "to-dir"); err != nil || len(entries) != 1 {
		t.Errorf("a link to a directory lists %v (%v)", entries, err)
	}
	for _, absent := range []string{"absent", "hat2", "a/b/d"} {
		if _, err := fs.Stat(files, absent); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want that it doesn't exist", absent, err)
		}
	}
}

func TestWhatCantBeUsedIsSaid(t *testing.T) {
	s := newSite(t)
	hash := s.repo.Commit(hat("one"))
	s.repo.Git("update-index", "--add", "--cacheinfo", "160000,"+hash+",vendor/other")
	s.repo.Git("commit", "-q", "-m", "submodule")
	s.link("../../etc/passwd", "out")
	s.link("/etc/passwd", "absolute")
	s.link("circle", "circle")
	s.repo.Write(map[string]string{
		"big.rego": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"})
	s.repo.Git("add", "out", "absolute", "circle", "big.rego")
	s.repo.Git("commit", "-q", "-m", "links")
	s.repo.Push("HEAD:refs/heads/main")
	files := s.files()
	for name, says := range map[string]string{
		"out": "leads out", "absolute": "leads out", "circle": "circle", "big.rego": "Git LFS",
		"vendor/other": "directory", "vendor/other/x": "submodule", "hat/x": "is a file", "vendor": "directory",
	} {
		_, err := fs.ReadFile(files, name)
		requireError(t, err, git.ErrPath, says)
		var located *fs.PathError
		if !errors.As(err, &located) || located.Path != name {
			t.Errorf("%v doesn't name the path %s", err, name)
		}
	}
	_, err := fs.ReadDir(files, "vendor/other")
	requireError(t, err, git.ErrPath, "make a source of the other repository")
	_, err = fs.ReadDir(files, "hat")
	requireError(t, err, git.ErrPath, "is a file")
}

const policy = `# METADATA
# title: Hat NAME
# description: Wear one.
# related_resources: [{ref: https://example.com/hats, description: runbook}]
# organizations: [team-hats]
# custom:
#   id: NAME
#   severity: Low
#   match:
#     kinds: [{apiGroups: [""], kinds: [Pod]}]
package hats.NAME

import rego.v1

import data.lib.head

deny contains "no hat" if not head.covered
`

// policies are so many directories, and the library that they import.
func policies(count int) map[string]string {
	files := map[string]string{
		"lib/head.rego": "package lib.head\n\nimport rego.v1\n\ncovered if input.object.metadata.annotations.hat\n"}
	for i := range count {
		name := "hat" + strconv.Itoa(i)
		files["policies/"+name+"/"+name+".rego"] = strings.ReplaceAll(policy, "NAME", name)
	}
	return files
}

// load reads the policies below a directory of a repository.
func load(t *testing.T, files fs.FS, dir string) []directory.Located {
	t.Helper()
	tree, err := directory.Within(files, dir)
	if err != nil {
		t.Fatal(err)
	}
	located, err := directory.LoadLocated(tree.FS, tree.Root)
	if err != nil {
		t.Fatal(err)
	}
	return located
}

func TestPoliciesAreThoseOfACheckout(t *testing.T) {
	s := newSite(t)
	s.repo.CommitAndPush(policies(3))
	tree, err := directory.Open(filepath.Join(s.repo.Work, "policies"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := directory.LoadLocated(tree.FS, tree.Root)
	if err != nil || len(want) != 3 {
		t.Fatalf("%d policies (%v)", len(want), err)
	}
	if diff := cmp.Diff(want, load(t, s.files(), "policies"),
		cmpopts.IgnoreUnexported(directory.Located{})); diff != "" {
		t.Errorf("the repository's policies differ from the checkout's (-checkout +repository):\n%s", diff)
	}
}
