// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/hack/demo/internal/screen"
)

const pollEvery = 100 * time.Millisecond

// check looks at the API server: what it saw, and whether the claim holds.
type check func(context.Context) (seen string, holds bool, err error)

// claimError says which claim doesn't hold, and why.
type claimError struct {
	claim  string
	reason error
}

// Error is the claim with the reason.
func (e *claimError) Error() string { return fmt.Sprintf("%q doesn't hold: %v", e.claim, e.reason) }

// Unwrap is the reason.
func (e *claimError) Unwrap() error { return e.reason }

// await claims what becomes true within a time limit.
func (d *demo) await(ctx context.Context, claim string, limit time.Duration, c check) error {
	figure := ""
	took, err := d.show.Track(claim, func(detail func(string)) error {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		var err error
		figure, err = d.poll(limited, c, detail)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return &claimError{claim, fmt.Errorf("not within %s; last seen: %s", limit, figure)}
	case err != nil:
		return &claimError{claim, err}
	}
	d.show.Claim(screen.Row{Step: d.current, Claim: claim, Figure: figure, Took: took})
	return nil
}

func (d *demo) poll(ctx context.Context, c check, detail func(string)) (string, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	last := "nothing yet"
	for {
		seen, holds, err := c(ctx)
		switch {
		case ctx.Err() != nil:
			return last, ctx.Err()
		case err != nil:
			return seen, err
		case holds:
			return seen, nil
		}
		if err := d.stage.Alive(); err != nil {
			return seen, err
		}
		last = seen
		detail(seen)
		select {
		case <-ctx.Done():
			return last, ctx.Err()
		case <-tick.C:
		}
	}
}

// expect claims what is true now; took is how long it took to become so.
func (d *demo) expect(ctx context.Context, claim string, took time.Duration, c check) error {
	began := d.now()
	seen, holds, err := c(ctx)
	if err != nil {
		return &claimError{claim, err}
	}
	if !holds {
		return &claimError{claim, errors.New(seen)}
	}
	if took == 0 {
		took = d.now().Sub(began)
	}
	d.show.Claim(screen.Row{Step: d.current, Claim: claim, Figure: seen, Took: took})
	return nil
}

// quoted writes arguments as a shell wants them.
func quoted(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if strings.ContainsAny(arg, " \"'{}[]$&|<>;*") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
