// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"
	"io"

	"evenkeel.dev/evenkeel/internal/check"
)

// writeNames names each object that violates a policy, or couldn't be judged, once
// in each place.
func writeNames(w io.Writer, report *check.Report, _ Options) error {
	last := ""
	for i := range report.Results {
		r := &report.Results[i]
		if r.Err == nil && (len(r.Violations) == 0 || r.Waived != nil) {
			continue
		}
		key := fmt.Sprintf("%s:%d %s", r.File, r.Line, r.Title())
		if key == last {
			continue
		}
		last = key
		if _, err := fmt.Fprintln(w, resourceName(r)); err != nil {
			return err
		}
	}
	return nil
}
