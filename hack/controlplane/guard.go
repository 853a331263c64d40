// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

const guardPoll = 50 * time.Millisecond

// A guard is a name in the kernel's abstract socket space, derived from the
// instance's folder. Unlike a lock file it vanishes with its holder, can't be
// left behind by a crash, and needs no file in a folder that gets deleted.
func guardName(dir, purpose string) string {
	sum := sha256.Sum256([]byte(dir))
	return "@evenkeel-controlplane/" + hex.EncodeToString(sum[:12]) + "/" + purpose
}

// guard makes this process the only one that starts or stops parts of the
// instance in dir, and returns how to let go.
func guard(ctx context.Context, dir string) (func(), error) {
	for {
		listener, err := net.Listen("unix", guardName(dir, "change"))
		if err == nil {
			return func() { _ = listener.Close() }, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("lock the instance in %s: %w", dir, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another command that changes the instance in %s: %w", dir, ctx.Err())
		case <-time.After(guardPoll):
		}
	}
}
