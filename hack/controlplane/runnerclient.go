// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
)

func runnerAlive(dir string) bool {
	conn, err := net.Dial("unix", guardName(dir, "runner"))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// askRunner sends one request to the `controlplane run` that owns dir.
func askRunner(ctx context.Context, dir string, asked request) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", guardName(dir, "runner"))
	if err != nil {
		return fmt.Errorf("the `controlplane run` that owned %s has ended: remove it with `controlplane down --dir %s`",
			dir, dir)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := json.NewEncoder(conn).Encode(asked); err != nil {
		return fmt.Errorf("ask the owner of %s: %w", dir, err)
	}
	var answer reply
	if err := json.NewDecoder(conn).Decode(&answer); err != nil {
		return fmt.Errorf("hear from the owner of %s: %w", dir, err)
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}

// askRunnerToEnd ends a `controlplane run` that owns dir, if there is one, and
// waits until it has gone.
func askRunnerToEnd(ctx context.Context, dir string) (bool, error) {
	if !runnerAlive(dir) {
		return false, nil
	}
	if err := askRunner(ctx, dir, request{Verb: verbEnd}); err != nil {
		return true, err
	}
	if err := poll(ctx, func() (bool, error) { return !runnerAlive(dir), nil }); err != nil {
		return true, fmt.Errorf("wait for the owner of %s to end: %w", dir, err)
	}
	return true, nil
}
