// SPDX-License-Identifier: Apache-2.0

package freeze

import (
	"fmt"
	"io"
	"os"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// maxFile is the largest file of freezes that is read, in bytes.
const maxFile = 256 << 10

// File is the path of the file that holds a cluster's freezes; empty: there are none.
type File string

// At reads the file, and says what it says of the time now.
func (f File) At(now time.Time) (State, error) {
	if f == "" {
		return State{}, nil
	}
	text, err := f.read()
	if err != nil {
		return State{}, err
	}
	list, err := Parse(text)
	if err != nil {
		return State{}, fmt.Errorf("file %s: %w", f, err)
	}
	return list.At(now)
}

func (f File) read() ([]byte, error) {
	file, err := os.Open(string(f))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("file %s: it has more than %d bytes", f, maxFile)
	}
	return text, err
}

// Gate is closed while a freeze lasts, and while the file can't be read: a freeze may be in it.
func (f File) Gate(now time.Time) rollout.Gate {
	state, err := f.At(now)
	switch {
	case err != nil:
		return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonFreezesUnreadable,
			Message: fmt.Sprintf("the file of freezes (--remediation-freeze-file) can't be read, and counts as a "+
				"freeze until it is corrected: %v", err)}
	case !state.Frozen:
		return rollout.Gate{}
	case state.Until.IsZero():
		return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonFrozen,
			Message: fmt.Sprintf("freeze %s of the whole cluster: %s; it comes again without a pause", state.Name,
				state.Reason)}
	default:
		return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonFrozen,
			Message: fmt.Sprintf("freeze %s of the whole cluster until %s: %s", state.Name,
				state.Until.Format(time.RFC3339), state.Reason)}
	}
}
