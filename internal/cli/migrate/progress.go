// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"evenkeel.dev/evenkeel/internal/cli/terminal"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// tells has standard error told how far a walk has come, if it takes long. end ends that.
func (e *estate) tells(walk *listing.Walk) (end func()) {
	if e.stderr == nil {
		return func() {}
	}
	progress := terminal.NewProgress(e.stderr)
	walk.Progress = func(p listing.Progress) {
		progress.Tell(p.Done, p.Kinds, p.String())
	}
	return progress.End
}
