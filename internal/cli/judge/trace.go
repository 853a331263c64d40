// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"fmt"
	"io"
	"time"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
)

// tracing tells how policies, whose decisions say so, are evaluated on each subject: check.Options.Took. They are
// evaluated once more for it, so that the report is made without.
func tracing(ctx context.Context, out io.Writer, policies *catalog.Snapshot,
	now time.Time) func(*check.Subject, []catalog.Result) {
	return func(subject *check.Subject, reported []catalog.Result) {
		if len(reported) == 0 {
			fmt.Fprintf(out, "trace: no policy concerns %s\n\n", subject.Title())
			return
		}
		request := subject.Request(now)
		request.Resource = subject.Resource
		writeTraces(out, subject.Title(), policies.Evaluate(ctx, request), reported)
	}
}

func writeTraces(out io.Writer, title string, traced, reported []catalog.Result) {
	for i := range traced {
		v := &traced[i]
		fmt.Fprintf(out, "trace: policy %s on %s\n", v.Policy, title)
		if v.Trace == "" {
			fmt.Fprintln(out, "none of its rules was evaluated: the report says why")
		}
		fmt.Fprintln(out, v.Trace)
		if i < len(reported) && differ(v, &reported[i]) {
			fmt.Fprintf(out, "trace: the report has %s of it: here rules are evaluated one by one, by topdown\n\n",
				found(&reported[i]))
		}
	}
}

// differ says that a trace shows something else than what is reported: a rule that an index leaves out may fail.
func differ(traced, reported *catalog.Result) bool {
	return len(traced.Violations) != len(reported.Violations) || (traced.Err == nil) != (reported.Err == nil)
}

func found(r *catalog.Result) string {
	text := prose.Count(len(r.Violations), "violation")
	if r.Err != nil {
		text += " and an error"
	}
	return text
}
