// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/prose"
)

// debounce is how long files must be quiet before tests run again: an editor writes a
// file in several steps.
const debounce = 100 * time.Millisecond

// patience is how long tests wait at most for files that are written again and again.
const patience = 2 * time.Second

// watchTests runs the tests, and again whenever a file of the directory or of its
// library changes, until the context ends.
func (o *testOptions) watchTests(ctx context.Context, out io.Writer, dir string) error {
	tree, err := o.rego.Open(dir)
	if err != nil {
		return err
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return command.Exit(command.ExitFailure, fmt.Errorf("watch %s: %w", dir, err))
	}
	defer watcher.Close()
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // a link itself is walked into by nobody
		return command.Exit(command.ExitUsage, err)
	}
	roots := []string{dir, tree.Library()}
	for {
		if err := watchAll(watcher, roots); err != nil {
			return command.Exit(command.ExitFailure, fmt.Errorf("watch %s: %w", dir, err))
		}
		if err := o.runTests(ctx, out, dir); err != nil {
			fmt.Fprintln(out, prose.Lines(err.Error()))
		}
		fmt.Fprintf(out, "\nwatching %s; stop with Ctrl-C\n", dir)
		if err := changed(ctx, watcher); err != nil {
			return command.Exit(command.ExitFailure, err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// watchAll watches the directories at and below the roots; one that isn't there has
// nothing to watch.
func watchAll(watcher *fsnotify.Watcher, roots []string) error {
	for _, root := range roots {
		err := filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return nil //nolint:nilerr // it has just gone, or never was
			}
			if strings.HasPrefix(entry.Name(), ".") && at != root {
				return fs.SkipDir
			}
			return watcher.Add(at)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func changed(ctx context.Context, watcher *fsnotify.Watcher) error {
	var quiet, latest <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-quiet:
			return nil
		case <-latest:
			return nil
		case err := <-watcher.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				return nil // more has changed than could be told of
			}
			return fmt.Errorf("watch the files: %w", err)
		case event := <-watcher.Events:
			if event.Op == fsnotify.Chmod {
				continue
			}
			if quiet = time.After(debounce); latest == nil {
				latest = time.After(patience)
			}
		}
	}
}
