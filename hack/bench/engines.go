// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/hack/bench/internal/own"
)

const (
	// judged is how many reviews must have the same verdicts before any time is taken, and timed how many are timed.
	judged, timed = 400, 40
	// timing is how long a program is measured in each round.
	timing = time.Second
)

// engines measures the CPU time of an AdmissionReview, from its bytes to the verdict, in Evenkeel's webhook beside
// Gatekeeper's engine, by the same rules.
func (b *bench) engines(ctx context.Context) error {
	rules, size, err := b.writeReviews()
	if err != nil {
		return err
	}
	ours, err := worker("judge")
	if err != nil {
		return err
	}
	theirs, err := b.gatekeeper(ctx)
	if err != nil {
		return err
	}
	q := own.Question{Rules: b.in("rules.yaml"), Reviews: b.in("judged")}
	topdown := q
	topdown.Engine = "topdown"
	c := contest{name: "engines", metrics: []metric{{"CPU, a Pod without violations", "ms"},
		{"CPU, Pods of which most violate", "ms"}}}
	var first []own.Verdict
	for _, judge := range []struct {
		name     string
		program  program
		question own.Question
	}{
		{"Evenkeel", ours, q},
		{"Evenkeel, Go's own settings", program{command: ours.command}, q},
		{"Evenkeel, `--engine=topdown`", ours, topdown},
		{"Gatekeeper " + gatorVersion, theirs, q},
	} {
		var verdicts []own.Verdict
		if err := judge.program.ask(ctx, judge.question, &verdicts); err != nil {
			return err
		}
		if first == nil {
			first = verdicts
		}
		if diff := cmp.Diff(first, verdicts); diff != "" {
			return fmt.Errorf("%s has other verdicts:\n%s", judge.name, diff)
		}
		measure := func(ctx context.Context, _ int) ([]float64, error) {
			return timeReviews(ctx, judge.program, judge.question, b.in)
		}
		c.contestants = append(c.contestants, contestant{judge.name, measure})
	}
	violations, err := violationsOf(first)
	if err != nil {
		return err
	}
	if err := c.run(ctx, b.runs); err != nil {
		return err
	}
	return c.report(b.table, fmt.Sprintf("%d rules that match a Pod, AdmissionReviews of %d bytes; on %d of them all "+
		"find the same %d violations.", rules, size, judged, violations),
		required{"CPU of a Pod without violations", c.values[0][0], "ms", 1.5, false},
		required{"CPU of Pods of which most violate", c.values[0][1], "ms", 1.5, false},
		required{"times less than Gatekeeper, a Pod without violations", c.ratios(0, 3), "", 20, true},
		required{"times less than Gatekeeper, Pods of which most violate", c.ratios(1, 3), "", 20, true})
}

// writeReviews writes the rules, the reviews that are judged, and those that are timed. It returns how many rules there
// are, and the average size of a review.
func (b *bench) writeReviews() (rules, size int, err error) {
	if rules, err = writePodRules(b.in("rules.yaml")); err != nil {
		return 0, 0, err
	}
	if _, err := writePodReviews(b.in("judged"), judged, b.seed, false); err != nil {
		return 0, 0, err
	}
	if _, err := writePodReviews(b.in("clean"), timed, b.seed, true); err != nil {
		return 0, 0, err
	}
	size, err = writePodReviews(b.in("mixed"), timed, b.seed, false)
	return rules, size, err
}

// timeReviews measures a review of Pods without violations, and one of Pods of which most violate, in milliseconds.
func timeReviews(ctx context.Context, p program, q own.Question, in func(string) string) ([]float64, error) {
	var measured []float64
	for _, file := range []string{"clean", "mixed"} {
		var took time.Duration
		q.Reviews, q.Time = in(file), timing
		if err := p.ask(ctx, q, &took); err != nil {
			return nil, err
		}
		measured = append(measured, took.Seconds()*1000)
	}
	return measured, nil
}

// violationsOf counts the violations, of which there must be some.
func violationsOf(verdicts []own.Verdict) (count int, err error) {
	for _, v := range verdicts {
		count += len(v.Violations)
	}
	if count == 0 {
		err = errors.New("nothing is found: that proves nothing")
	}
	return count, err
}
