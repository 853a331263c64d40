// SPDX-License-Identifier: Apache-2.0

// Command scan runs the manager's scan against an API server of the benchmark, to be measured: the real catalog,
// scanner and status controllers, in a manager of controller-runtime. The policies are what migrate makes of
// ConstraintTemplates and constraints, and lie on that server.
//
// It prints what the first sync took, then what a change of one policy took, as JSON. Start at run.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

// options are the flags.
type options struct {
	server, rules, changed, change, heap, profile string
	pods                                          int
	settle, limit                                 time.Duration
	findings                                      bool
}

func main() {
	var o options
	flag.StringVar(&o.server, "server", "", "where the API server is, as it says itself, in JSON")
	flag.StringVar(&o.rules, "rules", "", "ConstraintTemplates and constraints")
	flag.IntVar(&o.pods, "pods", 0, "how many Pods there are")
	flag.StringVar(&o.changed, "changed", "", "the policy that is changed after the first sync; empty for none")
	flag.StringVar(&o.change, "change", "", "the merge patch that changes it")
	flag.BoolVar(&o.findings, "findings", false, "print what is found after the first sync as well")
	flag.StringVar(&o.heap, "heap", "", "where a profile of the heap after the first sync is written")
	flag.StringVar(&o.profile, "profile", "", "where the processors' profile of the first sync is written")
	flag.DurationVar(&o.settle, "settle", 12*time.Second, "how long after a pass its memory is read again")
	flag.DurationVar(&o.limit, "limit", 10*time.Minute, "how long all may take")
	flag.Parse()
	ctx, stop := context.WithTimeout(context.Background(), o.limit)
	defer stop()
	answer, err := run(ctx, o)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scan:", err)
		os.Exit(2)
	}
}
