// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes the policy's directory in dir, with all its files or not at all, and
// gives their paths. It refuses a directory that is there already; dir is made
// where it isn't.
func (p *Policy) Write(dir string) ([]string, error) {
	target := filepath.Join(dir, p.Dir)
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", target, err)
		}
		return nil, fmt.Errorf(
			"%s is there already, and stays as it is: give another name or --dir, or remove it first: %w", target,
			fs.ErrExist)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
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
