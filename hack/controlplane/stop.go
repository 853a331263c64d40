// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/process"
)

// stopGrace is how long a component may take to end by itself. The data is
// thrown away, so there's little to wait for.
const stopGrace = 3 * time.Second

// Stop ends all processes of the instance in dir, in the reverse of the order
// in which they start, and removes the folder. It reports whether there was
// anything; nothing being there is no error.
func Stop(ctx context.Context, dir string) (bool, error) {
	dir, err := resolve(dir)
	if err != nil {
		return false, err
	}
	asked, err := askRunnerToEnd(ctx, dir)
	if err != nil {
		return false, err
	}
	release, err := guard(ctx, dir)
	if err != nil {
		return asked, err
	}
	defer release()
	running, err := process.Find(dir, programNames()...)
	if err != nil {
		return asked, err
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) && len(running) == 0 {
		return asked, nil
	}
	if err := stopAll(ctx, dir); err != nil {
		return true, err
	}
	return true, remove(dir)
}

// stopAll ends whatever runs for dir: first what talks to the API server, at
// once, then the API server, then etcd.
func stopAll(ctx context.Context, dir string) error {
	for _, group := range [][]Component{{KWOK, Scheduler, ControllerManager}, {APIServer}, {Etcd}} {
		var list []process.Process
		for _, c := range group {
			found, err := process.Find(dir, string(c))
			if err != nil {
				return err
			}
			list = append(list, found...)
		}
		if err := process.End(ctx, syscall.SIGTERM, stopGrace, list...); err != nil {
			return fmt.Errorf("stop the control plane in %s: %w", dir, err)
		}
	}
	return nil
}
