// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/progress"
)

const lockPoll = 200 * time.Millisecond

// Root is the cache folder: EVENKEEL_CACHE, or "evenkeel" in the user's own.
func Root() (string, error) {
	if dir := os.Getenv("EVENKEEL_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache folder: %w: set EVENKEEL_CACHE to a folder of your own", err)
	}
	return filepath.Join(dir, "evenkeel"), nil
}

// Lock takes the file lock at path, which the kernel releases when its holder
// dies, however it dies.
func Lock(ctx context.Context, path string, show *progress.Printer) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !told {
			show.Note("another build or download of the same versions is running; waiting for it …")
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("wait for the process that holds %s: %w", path, ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}
