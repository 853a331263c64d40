// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"fmt"
	"io"
	"time"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
)

// tracer tells how policies are evaluated. The report is made without it.
type tracer struct {
	ctx context.Context //nolint:containedctx // it is called for each subject of one run, with that run's context
	out io.Writer
	// policies say how they came to what they decide.
	policies *catalog.Snapshot
	now      time.Time
}

// trace evaluates the policies on a subject once more: check.Options.Took.
func (t *tracer) trace(subject *check.Subject, reported []catalog.Result) {
	if len(reported) == 0 {
		fmt.Fprintf(t.out, "trace: no policy concerns %s\n\n", subject.Title())
		return
	}
	request := policy.NewAudit(subject.Object, subject.Namespace, t.now)
	request.Resource = subject.Resource
	traced := t.policies.Evaluate(t.ctx, request)
	for i := range traced {
		v := &traced[i]
		fmt.Fprintf(t.out, "trace: policy %s on %s\n", v.Policy, subject.Title())
		if v.Trace == "" {
			fmt.Fprintln(t.out, "none of its rules was evaluated: the report says why")
		}
		fmt.Fprintln(t.out, v.Trace)
		if i < len(reported) && differ(v, &reported[i]) {
			fmt.Fprintf(t.out, "trace: the report has %s of it: here rules are evaluated one by one, by topdown\n\n",
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
