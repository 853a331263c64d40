// SPDX-License-Identifier: Apache-2.0

package git_test

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/evenkeel/internal/source/git"
	"evenkeel.dev/evenkeel/test/gitserver"
)

const (
	// largeVariable asks for the test of a large repository, which writes 1.5 GB.
	largeVariable = "EVENKEEL_TEST_LARGE_REPOSITORY"
	// readerVariable makes this test's own process, started anew, read a URL.
	readerVariable = "EVENKEEL_TEST_READER_OF"
	maxRSSMiB      = 300
)

// TestAReaderOfItsOwn is not a test of its own: the next one runs it as a process
// whose memory it measures.
func TestAReaderOfItsOwn(t *testing.T) {
	url := os.Getenv(readerVariable)
	if url == "" {
		t.Skip("only TestALargeRepositoryCostsDiskAndNotMemory runs it")
	}
	fetcher, err := git.NewFetcher(git.Options{Dir: t.TempDir(), AllowFile: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := fetcher.Fetch(t.Context(), git.Request{Key: "large", URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadFile(got.Files, "hat"); err != nil || string(text) != "one" {
		t.Fatalf("hat holds %q (%v)", text, err)
	}
	_, err = fs.ReadFile(got.Files, "large")
	requireError(t, err, git.ErrTooLarge, "large")
	var used syscall.Rusage // without that of git, which serves it
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	t.Logf("at most %d MiB of memory", used.Maxrss>>10)
	if used.Maxrss>>10 > maxRSSMiB {
		t.Errorf("want at most %d MiB", maxRSSMiB)
	}
}

func TestALargeRepositoryCostsDiskAndNotMemory(t *testing.T) {
	if os.Getenv(largeVariable) == "" {
		t.Skipf("it writes 1.5 GB: set %s=1 to run it", largeVariable)
	}
	repo := gitserver.NewRepository(t, t.TempDir(), "large.git")
	for _, dir := range []string{repo.Dir, repo.Work} {
		gitserver.Git(t, dir, "config", "core.compression", "0")
		gitserver.Git(t, dir, "config", "core.bigFileThreshold", "1m")
	}
	repo.Write(hat("one"))
	writeLarge(t, filepath.Join(repo.Work, "large"), 400)
	for i := range 20 {
		writeLarge(t, filepath.Join(repo.Work, "part"+strconv.Itoa(i)), 5)
	}
	repo.CommitAndPush(nil)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^TestAReaderOfItsOwn$")
	cmd.Env = append(os.Environ(), readerVariable+"=file://"+repo.Dir)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
}

// writeLarge writes so many MB that can't be compressed.
func writeLarge(t *testing.T, name string, megabytes int) {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	to, part := bufio.NewWriter(file), noise(1_000_000)
	for i := range megabytes {
		_, _ = fmt.Fprintf(to, "%s %d", name, i)
		_, _ = to.Write(part)
	}
	if err := to.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestManyPoliciesTakeSeconds holds the time that 500 policies take, which share
// what they are written with, so that Git sends most as differences.
func TestManyPoliciesTakeSeconds(t *testing.T) {
	s := newSite(t)
	s.repo.CommitAndPush(policies(500))
	fetched, err := s.fetch(s.request(git.Reference{}))
	if err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(s.options.Dir, "*", "*", "objects", "pack", "*.idx"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("packs %v (%v), want one", packs, err)
	}
	if shown := gitserver.Git(t, s.repo.Dir, "verify-pack", "-v", packs[0]); !strings.Contains(shown, "chain length") {
		t.Error("no object was sent as a difference, so that this test proves nothing of them")
	}
	if got := len(load(t, fetched.Files, "policies")); got != 500 {
		t.Errorf("%d policies, want 500", got)
	}
}
