// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"time"

	"evenkeel.dev/evenkeel/internal/cli/command"
)

// ended gives an error of a handover the code that is in its chain, with all that was said around it, and else that of
// a command that didn't do its work.
func ended(err error) error {
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded) && coded.ExitCode() != 0:
		return command.Exit(coded.ExitCode(), err)
	default:
		return command.Exit(command.ExitFailed, err)
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
