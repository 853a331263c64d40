// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// The load of a webhook: so many requests a second that the first, which does nothing, takes such a share of a
// processor, whatever processor it is; for so long in each round.
const (
	webhookShare = 0.16
	webhookLoad  = 2500 * time.Millisecond
	// trialRate is that by which a request of the first is timed.
	trialRate = 200
	// So many Pods are created in each round, others than in every round before, for so many workloads.
	posted, workloads = 1000, 40
)

// served is what requests took of a webhook, in one round: of its processors for each, and of time.
type served struct{ cpu, p50, p99 time.Duration }

// benchWebhook times Evenkeel's webhook beside one that admits everything, over TLS: the same AdmissionReviews at the
// same rate.
func benchWebhook(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "evenkeel-webhook-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in := func(name string) string { return filepath.Join(work, name) }
	rules, size, err := writeWebhookInput(in, o.runs, o.seed)
	if err != nil {
		return err
	}
	webhooks, err := buildWebhooks(ctx, work)
	if err != nil {
		return err
	}
	messages, err := expected(ctx, webhooks, in)
	if err != nil {
		return err
	}
	if err := startWebhooks(ctx, webhooks, in); err != nil {
		return err
	}
	refused, err := answerRightly(ctx, webhooks, in("judged"), messages)
	if err != nil {
		return err
	}
	fmt.Printf("%d rules; of %d reviews Evenkeel refuses the %d that violate one\n", rules, judged, refused)
	rate, err := webhookRate(ctx, webhooks[0], in("workloads"), o.seed)
	if err != nil {
		return err
	}
	results, err := timeWebhooks(ctx, webhooks, o, rate, in)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d rules that match a Pod, AdmissionReviews of %d bytes on average; of %d of them Evenkeel "+
		"refused those %d that violate a rule. %d requests a second for %s a round; medians of %d rounds in random "+
		"order, with the least and the most; %s with %d processors, %s.\n", rules, size, judged, refused, rate,
		webhookLoad, o.runs, processor(), runtime.NumCPU(), runtime.Version())
	for i, of := range []string{fmt.Sprintf("Pods of %d workloads, none of which violates anything", workloads),
		"Pods of which most violate"} {
		text += fmt.Sprintf("\n%s:\n\n%s", of, webhookTable(webhooks, results[i]))
	}
	fmt.Print("\n", text)
	if o.table == "" {
		return nil
	}
	return replaceTable(o.table, "bench-webhook", text)
}

// writeWebhookInput writes the rules, and the reviews for so many rounds. It says how many rules there are, and how
// long a review is on average, in bytes.
func writeWebhookInput(in func(name string) string, rounds int, seed uint64) (rules, size int, err error) {
	if rules, err = writePodRules(in("rules.yaml")); err != nil {
		return 0, 0, err
	}
	if _, err := writePodReviews(in("judged"), judged, seed); err != nil {
		return 0, 0, err
	}
	if _, err := writeWorkloadReviews(in("workloads"), rounds*posted, workloads, seed); err != nil {
		return 0, 0, err
	}
	size, err = writePodReviews(in("mixed"), rounds*posted, seed)
	return rules, size, err
}

// webhookRate is the rate of webhookShare, in whole tens.
func webhookRate(ctx context.Context, first *webhook, reviews string, seed uint64) (int, error) {
	lines, err := reviewLines(reviews)
	if err != nil {
		return 0, err
	}
	trial, err := first.time(ctx, lines[:posted], trialRate, seed)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", first.name, err)
	}
	return max(10, int(webhookShare/trial.cpu.Seconds()/10)*10), nil
}

// timeWebhooks times each webhook once a round, in another order in each: first for Pods that violate nothing, then for
// others.
func timeWebhooks(ctx context.Context, webhooks []*webhook, o options, rate int, in func(string) string) (
	[2][][]served, error) {
	var results [2][][]served
	for kind, file := range []string{"workloads", "mixed"} {
		reviews, err := reviewLines(in(file))
		if err != nil {
			return results, err
		}
		results[kind] = make([][]served, len(webhooks))
		for round := range o.runs {
			for _, i := range rand.Perm(len(webhooks)) {
				s, err := webhooks[i].time(ctx, reviews[round*posted:][:posted], rate, o.seed+uint64(round))
				if err != nil {
					return results, fmt.Errorf("%s: %w", webhooks[i].name, err)
				}
				results[kind][i] = append(results[kind][i], s)
			}
			fmt.Printf("%s, round %d of %d:", file, round+1, o.runs)
			for i, w := range webhooks {
				s := results[kind][i][round]
				fmt.Printf("  %s %s, p99 %s", w.name, milliseconds(s.cpu), milliseconds(s.p99))
			}
			fmt.Println()
		}
	}
	return results, nil
}

func (w *webhook) time(ctx context.Context, reviews [][]byte, rate int, seed uint64) (served, error) {
	before, err := cpuOf(w.process.pid)
	if err != nil {
		return served{}, err
	}
	took, err := atRate(ctx, rate, webhookLoad, seed, func(ctx context.Context, n int) error {
		_, err := w.client.answer(ctx, reviews[n%len(reviews)])
		return err
	})
	if err != nil {
		return served{}, err
	}
	after, err := cpuOf(w.process.pid)
	return served{cpu: (after - before) / time.Duration(len(took)), p50: percentile(took, 50),
		p99: percentile(took, 99)}, err
}

// webhookTable is the figures in Markdown. The ratios are those of each round to the first webhook's.
func webhookTable(webhooks []*webhook, results [][]served) string {
	var b strings.Builder
	b.WriteString("| webhook | CPU of a request | times as much | p50 | times as long | p99 | times as long |\n" +
		"|---|---|---|---|---|---|---|\n")
	for i, w := range webhooks {
		fmt.Fprintf(&b, "| %s |", w.name)
		for _, of := range []func(served) time.Duration{
			func(s served) time.Duration { return s.cpu },
			func(s served) time.Duration { return s.p50 },
			func(s served) time.Duration { return s.p99 },
		} {
			own, first := each(results[i], of), each(results[0], of)
			fmt.Fprintf(&b, " %s | %s |", spread(own, milliseconds), spread(ratios(first, own), hundredths))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
