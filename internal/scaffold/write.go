// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// taken says in whole sentences that something else is where a policy was to be written: it is fs.ErrExist.
type taken string

// Error says what is there and what to do.
func (t taken) Error() string { return string(t) }

// Is tells that it is fs.ErrExist.
func (t taken) Is(target error) bool { return target == fs.ErrExist }

func isFree(target string) error {
	switch info, err := os.Lstat(target); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // what is in the way, who makes it finds
		return nil
	case err != nil:
		return fmt.Errorf("stat %s: %w", target, err)
	case !info.IsDir():
		return taken(fmt.Sprintf("%s exists already, as a file: nothing was written; give another name, or another "+
			"directory with --dir", target))
	default:
		return taken(fmt.Sprintf("the directory %s exists already: nothing was written; change the policy there, "+
			"remove it first (rm -r %s), or give another name, or another directory with --dir", target, target))
	}
}

// Write makes the policy's directory in dir, with all its files or not at all, and
// gives their paths. It refuses a directory that is there already; dir is made
// where it isn't.
func (p *Policy) Write(dir string) ([]string, error) {
	target := filepath.Join(dir, p.Dir)
	if err := isFree(target); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); errors.Is(err, syscall.ENOTDIR) {
		return nil, taken(fmt.Sprintf("--dir %s leads through a file: nothing was written; give a directory", dir))
	} else if err != nil {
		return nil, fmt.Errorf("make the directory of policies: %w", err)
	}
	// Written aside and then renamed, so that no half of a policy is ever seen.
	aside, err := os.MkdirTemp(dir, ".new-policy-")
	if err != nil {
		return nil, fmt.Errorf("make a directory in %s: %w", dir, err)
	}
	defer os.RemoveAll(aside)
	var paths []string
	for _, file := range p.Files {
		if err := os.WriteFile(filepath.Join(aside, file.Name), file.Text, 0o644); err != nil {
			return nil, fmt.Errorf("write %s: %w", file.Name, err)
		}
		paths = append(paths, filepath.Join(target, file.Name))
	}
	if err := os.Chmod(aside, 0o755); err != nil {
		return nil, fmt.Errorf("open %s to its readers: %w", aside, err)
	}
	if err := os.Rename(aside, target); err != nil {
		return nil, fmt.Errorf("put the policy in its place: %w", err)
	}
	return paths, nil
}
