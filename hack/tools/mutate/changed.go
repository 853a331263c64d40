// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// changed are the directories with Go files that differ from where this branch left main, and that commit: in the work
// tree, whether committed or not. On main itself it is the commit before.
func changed(ctx context.Context, root string) (base string, dirs []string, err error) {
	if base, err = fork(ctx, root); err != nil {
		return "", nil, err
	}
	differ, err := git(ctx, root, "diff", "--name-only", base, "--", "*.go")
	if err != nil {
		return "", nil, err
	}
	added, err := git(ctx, root, "ls-files", "--others", "--exclude-standard", "--", "*.go")
	if err != nil {
		return "", nil, err
	}
	for _, file := range strings.Fields(differ + "\n" + added) {
		dirs = append(dirs, path.Dir(file))
	}
	slices.Sort(dirs)
	return base, slices.Compact(dirs), nil
}

// fork is the commit where this branch left main, as the remote has it or, without a remote, as it is here.
func fork(ctx context.Context, root string) (string, error) {
	head, err := git(ctx, root, "rev-parse", "--short", "HEAD")
	if err != nil {
		return "", err
	}
	for _, main := range []string{"origin/main", "main"} {
		base, err := git(ctx, root, "merge-base", main, "HEAD")
		if err != nil {
			continue
		}
		if base, err = git(ctx, root, "rev-parse", "--short", base); err != nil {
			return "", err
		}
		if base != head {
			return base, nil
		}
		break
	}
	return git(ctx, root, "rev-parse", "--short", "HEAD~")
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
