// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// leastFree is how much disk space a stage needs, in bytes: etcd, the programs of tests that run at once and what is
// compiled for them. A full disk fails hundreds of tests, none of which says why.
const leastFree = 4 << 30

// disk tells how much space is left where tests write.
type disk func(dir string) (free uint64, err error)

// free is the space that is left to this user on the file system of a folder, or of what it will stand in.
func free(dir string) (uint64, error) {
	for {
		var stat syscall.Statfs_t
		err := syscall.Statfs(dir, &stat)
		parent := filepath.Dir(dir)
		switch {
		case err == nil:
			return stat.Bavail * uint64(stat.Bsize), nil
		case !os.IsNotExist(err) || parent == dir:
			return 0, fmt.Errorf("find how much disk space is left in %s: %w", dir, err)
		}
		dir = parent
	}
}

// checkDisk says which folder of those that tests write to has too little room, and what to do.
func (r *runner) checkDisk() error {
	if r.disk == nil {
		return nil
	}
	dirs := []string{os.TempDir()}
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, cache)
	}
	for _, dir := range dirs {
		left, err := r.disk(dir)
		if err != nil {
			return err
		}
		if left < leastFree {
			return fmt.Errorf("%.1f GiB of disk are left in %s, and a stage of the tests needs %d: make room, "+
				"for example with: go clean -cache", float64(left)/(1<<30), dir, leastFree>>30)
		}
	}
	return nil
}
