// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"io"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// traceTo writes how each policy was evaluated on a subject: check.Options.Took.
func traceTo(out io.Writer) func(*check.Subject, []catalog.Result) {
	return func(subject *check.Subject, verdicts []catalog.Result) {
		if len(verdicts) == 0 {
			fmt.Fprintf(out, "trace: no policy concerns %s\n\n", subject.Title())
		}
		for i := range verdicts {
			v := &verdicts[i]
			fmt.Fprintf(out, "trace: policy %s on %s\n", v.Policy, subject.Title())
			if v.Trace == "" {
				fmt.Fprintln(out, "none of its rules was evaluated: the report says why")
			}
			fmt.Fprintf(out, "%s\n", v.Trace)
		}
	}
}
