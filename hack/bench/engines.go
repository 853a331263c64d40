// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// How many reviews must have the same verdicts before any time is taken, and how many are then timed.
const (
	judged = 400
	timed  = 40
)

// judge is one program that answers AdmissionReviews, by the same rules as the others.
type judge struct {
	name    string
	command []string
	// timing are arguments for when it is timed alone.
	timing []string
	// reads is the flag of what it answers. Default: --reviews.
	reads string
	// env are the settings of Go's runtime that its manifests deploy it with.
	env []string
}

// measurement is what a review takes of a judge, in one round: of a Pod that violates nothing, and of many Pods.
type measurement struct{ clean, mixed time.Duration }

// benchEngines times admission by Evenkeel beside Gatekeeper's engine: the same rules, the same AdmissionReviews, from
// their bytes to the decision.
func benchEngines(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "evenkeel-engines-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	in := func(name string) string { return filepath.Join(work, name) }
	rules, err := writePodRules(in("rules.yaml"))
	if err != nil {
		return err
	}
	if _, err := writePodReviews(in("judged"), judged, o.seed); err != nil {
		return err
	}
	bytes, err := writePodReviews(in("mixed"), timed, o.seed)
	if err != nil {
		return err
	}
	if _, err := writePodReviews(in("clean"), 1, o.seed); err != nil {
		return err
	}
	judges, err := buildJudges(ctx, work, in("rules.yaml"))
	if err != nil {
		return err
	}
	violations, err := alike(ctx, judges, in("judged"))
	if err != nil {
		return err
	}
	fmt.Printf("%d rules, %d reviews of %d bytes: all judges find the same %d violations\n", rules, judged, bytes,
		violations)
	results, err := timeJudges(ctx, judges, o.runs, in)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d rules that match a Pod, AdmissionReviews of %d bytes; of %d of them all judges found the "+
		"same %d violations. Medians of %d rounds in random order, with the least and the most; %s with %d "+
		"processors, %s.\n\n%s", rules, bytes, judged, violations, o.runs, processor(), runtime.NumCPU(),
		runtime.Version(), enginesTable(judges, results))
	more, err := benchMore(ctx, o, judges, in)
	if err != nil {
		return err
	}
	text += more
	fmt.Print("\n", text)
	if o.table == "" {
		return nil
	}
	return replaceTable(o.table, "bench-engines", text)
}

// benchMore counts allocations, and times expressions of CEL.
func benchMore(ctx context.Context, o options, judges []judge, in func(string) string) (string, error) {
	allocated, err := allocations(ctx, judges[0], judges[2], in("clean"))
	if err != nil {
		return "", err
	}
	expressions, err := benchExpressions(ctx, o, in, judges[0].command[0])
	return "\n" + allocated + "\n" + expressions, err
}

func buildJudges(ctx context.Context, work, rules string) ([]judge, error) {
	here, err := root()
	if err != nil {
		return nil, err
	}
	own, engine := filepath.Join(work, "own"), filepath.Join(work, "engine")
	if err := goBuild(ctx, filepath.Join(here, "own"), own, "."); err != nil {
		return nil, err
	}
	fmt.Println("building Gatekeeper's engine; it takes minutes, once")
	if err := goBuild(ctx, filepath.Join(here, "gator"), engine, "./engine"); err != nil {
		return nil, err
	}
	return []judge{
		{name: "Evenkeel", command: []string{own, "--rules", rules}, env: deployed()},
		{name: "Evenkeel, Go's own settings", command: []string{own, "--rules", rules}},
		{name: "Evenkeel, `--engine=topdown`", command: []string{own, "--rules", rules, "--engine", "topdown"},
			env: deployed()},
		{name: "Gatekeeper " + gatorVersion, command: []string{engine, "--rules", rules}},
	}, nil
}

// deployed are the settings of config/manager/deployment.yaml.
func deployed() []string { return []string{"GOGC=400", "GOMEMLIMIT=900MiB"} }

// ask runs a judge, and reads its answer.
func (j judge) ask(ctx context.Context, answer any, arguments ...string) error {
	output, err := runWith(ctx, j.env, slices.Concat(j.command, arguments))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(output, answer); err != nil {
		return fmt.Errorf("read what %s says: %w", j.name, err)
	}
	return nil
}

// alike holds the judges to the same messages for each review. It says how many there are.
func alike(ctx context.Context, judges []judge, reviews string) (int, error) {
	var first [][]string
	for _, j := range judges {
		var messages [][]string
		if err := j.ask(ctx, &messages, "--reviews", reviews); err != nil {
			return 0, err
		}
		if first == nil {
			first = messages
		}
		for i := range first {
			if len(messages) != len(first) || !slices.Equal(messages[i], first[i]) {
				return 0, fmt.Errorf("%s and %s differ in review %d:\n%s\n\n%s", judges[0].name, j.name, i,
					strings.Join(first[i], "\n"), strings.Join(messages[min(i, len(messages)-1)], "\n"))
			}
		}
	}
	count := 0
	for _, messages := range first {
		count += len(messages)
	}
	if count == 0 {
		return 0, errors.New("nothing is found: that proves nothing")
	}
	return count, nil
}

// allocations says what the engines of one program allocate for the same reviews.
func allocations(ctx context.Context, own, other judge, reviews string) (string, error) {
	var made [2]int64
	for i, j := range []judge{own, other} {
		if err := j.ask(ctx, &made[i], "--allocations", "--reviews", reviews); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("Allocations for a Pod that violates nothing, from bytes to decision: %d; %s makes %d, %.1f "+
		"times as many.\n", made[0], other.name, made[1], float64(made[1])/float64(made[0])), nil
}

// timeJudges times each judge once a round, in another order in each.
func timeJudges(ctx context.Context, judges []judge, rounds int, in func(string) string) ([][]measurement, error) {
	results := make([][]measurement, len(judges))
	for round := range rounds {
		for _, i := range rand.Perm(len(judges)) {
			var m measurement
			for file, took := range map[string]*time.Duration{"clean": &m.clean, "mixed": &m.mixed} {
				arguments := append([]string{cmp.Or(judges[i].reads, "--reviews"), in(file), "--time", "1s"},
					judges[i].timing...)
				if err := judges[i].ask(ctx, took, arguments...); err != nil {
					return nil, err
				}
			}
			results[i] = append(results[i], m)
		}
		fmt.Printf("round %d of %d:", round+1, rounds)
		for i, j := range judges {
			fmt.Printf("  %s %s", j.name, results[i][round].clean.Round(time.Microsecond))
		}
		fmt.Println()
	}
	return results, nil
}

// enginesTable is the figures in Markdown. The ratios are those of each round to the first judge's.
func enginesTable(judges []judge, results [][]measurement) string {
	clean := func(m measurement) time.Duration { return m.clean }
	mixed := func(m measurement) time.Duration { return m.mixed }
	var b strings.Builder
	b.WriteString("| judge | CPU, a Pod that violates nothing | times as much | CPU, Pods of which most violate | " +
		"times as much |\n|---|---|---|---|---|\n")
	for i, j := range judges {
		fmt.Fprintf(&b, "| %s |", j.name)
		for _, of := range []func(measurement) time.Duration{clean, mixed} {
			own, first := each(results[i], of), each(results[0], of)
			fmt.Fprintf(&b, " %s | %s |", spread(own, milliseconds), spread(ratios(first, own), times))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func each[M any](results []M, of func(M) time.Duration) []time.Duration {
	out := make([]time.Duration, 0, len(results))
	for _, m := range results {
		out = append(out, of(m))
	}
	return out
}

// spread is the median of values, with the least and the most of them.
func spread[T float64 | time.Duration](values []T, text func(T) string) string {
	return fmt.Sprintf("%s (%s – %s)", text(median(values)), text(slices.Min(values)), text(slices.Max(values)))
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

func times(f float64) string { return fmt.Sprintf("%.1f", f) }
