// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"syscall"
)

// Build builds the binary out of the repository at root, with further flags of
// go build, and returns its path in dir.
func Build(ctx context.Context, root, dir string, flags ...string) (string, error) {
	return BuildProgram(ctx, Program{Root: root, Package: "./cmd/evenkeel", Flags: flags}, dir)
}

// Program is one that tests build and run.
type Program struct {
	// Root is the folder of the repository, and Module that of the program's module below it.
	Root, Module string
	// Package is what to build, relative to the module; Flags are further ones of go build.
	Package string
	Flags   []string
}

// BuildProgram builds a program and returns the path of a copy of it in dir, which stays as it is
// whatever is built later. Suites and their processes share what is built, in bin/test of
// the repository: linking takes longer than anything else that a suite does to begin.
func BuildProgram(ctx context.Context, p Program, dir string) (string, error) {
	shared := filepath.Join(p.Root, "bin", "test", p.variant())
	if err := os.MkdirAll(shared, 0o755); err != nil {
		return "", fmt.Errorf("make a folder for what tests build: %w", err)
	}
	release, err := lock(filepath.Join(shared, "lock"))
	if err != nil {
		return "", err
	}
	defer release()
	name := p.name()
	program := filepath.Join(shared, name)
	cmd := exec.CommandContext(ctx, "go",
		slices.Concat([]string{"build", "-o", program}, p.Flags, []string{p.Package})...)
	cmd.Dir = filepath.Join(p.Root, p.Module)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return copyProgram(program, filepath.Join(dir, name))
}

func (p Program) name() string { return path.Base(path.Join(p.Module, p.Package)) }

// variant names a program as it is built with these flags.
func (p Program) variant() string {
	hash := fnv.New64a()
	fmt.Fprintln(hash, p.Module, p.Package, p.Flags)
	return fmt.Sprintf("%s-%x", p.name(), hash.Sum64())
}

// lock waits for the lock at a path; the kernel lets go of it when this process ends.
func lock(path string) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of what tests build: %w", err)
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, errors.Join(err, file.Close()))
	}
	return func() { _ = file.Close() }, nil
}

func copyProgram(from, to string) (string, error) {
	source, err := os.Open(from)
	if err != nil {
		return "", fmt.Errorf("copy a program: %w", err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return "", fmt.Errorf("copy a program: %w", err)
	}
	_, err = io.Copy(target, source)
	if err := errors.Join(err, target.Close()); err != nil {
		return "", fmt.Errorf("copy a program: %w", err)
	}
	return to, nil
}
