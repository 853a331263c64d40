// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// T is what is needed of a test.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
	TempDir() string
}

// Branch is the one that a repository begins with.
const Branch = "main"

// Repository is a bare repository that servers serve, and a checkout to change it.
type Repository struct {
	// Dir is the bare repository, and Work the checkout.
	Dir, Work string

	t T
}

// NewRepository makes an empty repository <root>/<name>.
func NewRepository(t T, root, name string) *Repository {
	t.Helper()
	r := &Repository{Dir: filepath.Join(root, name), Work: filepath.Join(t.TempDir(), "checkout"), t: t}
	for _, dir := range []string{r.Dir, r.Work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatalf("make %s: %v", dir, err)
		}
	}
	Git(t, r.Dir, "init", "-q", "--bare", "--initial-branch="+Branch)
	Git(t, r.Work, "init", "-q", "--initial-branch="+Branch)
	r.Git("remote", "add", "origin", r.Dir)
	r.leaveUntidied()
	return r
}

// leaveUntidied keeps pushes from starting a housekeeper in the bare repository, which takes
// as long as the push.
func (r *Repository) leaveUntidied() {
	r.t.Helper()
	config, err := os.OpenFile(filepath.Join(r.Dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		r.t.Fatalf("configure %s: %v", r.Dir, err)
	}
	_, err = config.WriteString("[receive]\n\tautogc = false\n")
	if err := errors.Join(err, config.Close()); err != nil {
		r.t.Fatalf("configure %s: %v", r.Dir, err)
	}
}

// Configure sets a setting of the bare repository, such as
// uploadpack.allowReachableSHA1InWant.
func (r *Repository) Configure(name, value string) {
	r.t.Helper()
	Git(r.t, r.Dir, "config", name, value)
}

// Git runs a command of git in the checkout, and gives what it prints.
func (r *Repository) Git(args ...string) string {
	r.t.Helper()
	return Git(r.t, r.Work, args...)
}

// Write puts files into the checkout, by their paths.
func (r *Repository) Write(files map[string]string) {
	r.t.Helper()
	for name, text := range files {
		at := filepath.Join(r.Work, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			r.t.Fatalf("make a directory for %s: %v", name, err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			r.t.Fatalf("write %s: %v", name, err)
		}
	}
}

// Commit commits all that is in the checkout, with more files, and gives the hash.
// Flags are those of git commit.
func (r *Repository) Commit(files map[string]string, flags ...string) string {
	r.t.Helper()
	r.Write(files)
	r.Git("add", "--all")
	r.Git(append([]string{"commit", "-q", "--allow-empty", "-m", "change"}, flags...)...)
	return r.Git("rev-parse", "HEAD")
}

// Push moves a branch or tag of the bare repository to that of the checkout, by
// force.
func (r *Repository) Push(refs ...string) {
	r.t.Helper()
	r.Git(append([]string{"push", "-q", "--force", "origin"}, refs...)...)
}

// CommitAndPush changes the first branch.
func (r *Repository) CommitAndPush(files map[string]string, flags ...string) string {
	r.t.Helper()
	hash := r.Commit(files, flags...)
	r.Push("HEAD:refs/heads/" + Branch)
	return hash
}

// Git runs a command of git in a directory, apart from the configuration of the
// machine and its user.
func Git(t T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), environment()...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, errOut.String())
	}
	return strings.TrimSpace(out.String())
}

func environment() []string {
	return []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
		// No housekeeper after each commit, and nobody waits for the disk.
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=core.fsync", "GIT_CONFIG_VALUE_1=none",
	}
}
