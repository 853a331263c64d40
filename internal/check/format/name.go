// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/prose"
)

// oneWord is a name that xargs and a shell's loop take for one and the same, whatever it holds: where it says more, no
// object is called so, and nothing is done to another. Names of RBAC's kinds may hold nearly all there is.
func oneWord(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`'"\`, r) {
			return '?'
		}
		return r
	}, name)
	return strings.ReplaceAll(prose.OneLine(name), " ", "?") // which parts what would be a command
}

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
		if _, err := fmt.Fprintln(w, oneWord(resourceName(r))); err != nil {
			return err
		}
	}
	return nil
}
