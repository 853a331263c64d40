// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// figures are what one command took, run by run.
type figures struct {
	tool   tool
	wall   []time.Duration
	cpu    []time.Duration
	memory []int64 // bytes, the most at once
}

// measure times every command in each round, in another order in each, so that whatever else the machine
// does falls on all of them.
func measure(ctx context.Context, tools []tool, runs int) ([]figures, error) {
	results := make([]figures, len(tools))
	for round := range runs {
		for _, i := range rand.Perm(len(tools)) {
			results[i].tool = tools[i]
			if err := results[i].time(ctx); err != nil {
				return nil, err
			}
		}
		fmt.Printf("round %d of %d:", round+1, runs)
		for _, r := range results {
			fmt.Printf("  %s %s", r.tool.name, r.wall[round].Round(time.Millisecond))
		}
		fmt.Println()
	}
	return results, nil
}

func (f *figures) time(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, f.tool.command[0], f.tool.command[1:]...)
	began := time.Now()
	err := cmd.Run() // whether it works was seen before; code 1 is the rule here
	took := time.Since(began)
	if cmd.ProcessState == nil {
		return fmt.Errorf("%s: %w", f.tool.name, err)
	}
	f.wall = append(f.wall, took)
	f.cpu = append(f.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		f.memory = append(f.memory, usage.Maxrss*1024) // Linux counts kilobytes
	}
	return nil
}

func median[T int64 | float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// ratios are how many times as long as the first each round of another took.
func ratios(first, other []time.Duration) []float64 {
	out := make([]float64, len(first))
	for i := range first {
		out[i] = other[i].Seconds() / first[i].Seconds()
	}
	return out
}

// table is the figures in Markdown, under a line that says what of: medians, and those of the rounds' ratios, with the
// least and the most.
func table(results []figures, what string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; medians of %d rounds in random order, with the least and the most, on %s with %d processors, "+
		"%s.\n\n", what, len(results[0].wall), processor(), runtime.NumCPU(), runtime.Version())
	b.WriteString("| command | version | time | times as long | CPU time | memory |\n|---|---|---|---|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %d MB |\n", r.tool.name, r.tool.version,
			spread(r.wall, seconds), spread(ratios(results[0].wall, r.wall), times), spread(r.cpu, seconds),
			median(r.memory)>>20)
	}
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// processor is the name of the machine's, as Linux tells it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, found := strings.CutPrefix(line, "model name"); found {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return runtime.GOARCH
}

// replaceTable writes a table into a file, in place of the one that the same make target wrote.
func replaceTable(file, target, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// The marks between which it stands.
	begin, end := "<!-- begin: make "+target+" -->\n", "<!-- end: make "+target+" -->\n"
	before, rest, begins := strings.Cut(string(old), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table: it stands between %q and %q", filepath.Base(file), begin, end)
	}
	return os.WriteFile(file, []byte(before+begin+text+end+after), 0o644)
}

// benchExpressions times rules in Rego beside the same in CEL, by the evaluator of ValidatingAdmissionPolicies. Both
// are given Pods that are decoded, as the API server has them where it evaluates CEL.
func benchExpressions(ctx context.Context, o options, in func(string) string, own string) (string, error) {
	count, err := writeRules(in("pairs.yaml"), expressionRules, "pairs", nil)
	if err != nil {
		return "", err
	}
	expressions, err := filesOf(expressionRules, "pairs", ".cel")
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(expressions)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(in("pairs.json"), raw, 0o600); err != nil {
		return "", err
	}
	here, err := root()
	if err != nil {
		return "", err
	}
	if err := goBuild(ctx, filepath.Join(here, "own"), in("cel"), "./cel"); err != nil {
		return "", err
	}
	judges := []judge{
		{name: "Evenkeel", command: []string{own, "--rules", in("pairs.yaml")}, timing: []string{"--decoded"}},
		{name: "ValidatingAdmissionPolicy", command: []string{in("cel"), "--rules", in("pairs.json")}},
	}
	violations, err := alike(ctx, judges, in("judged"))
	if err != nil {
		return "", err
	}
	fmt.Printf("%d rules in Rego and in CEL: both find the same %d violations\n", count, violations)
	results, err := timeJudges(ctx, judges, o.runs, in)
	if err != nil {
		return "", err
	}
	head := fmt.Sprintf("%d rules, in Rego and in CEL, of Pods that are decoded; both found the same %d violations. "+
		"CPU of one rule; Go's own settings for both.\n\n", count, violations)
	return head + expressionsTable(judges, results, count), nil
}

// expressionsTable is the figures of one rule in Markdown. The ratios are those of each round to the last judge's.
func expressionsTable(judges []judge, results [][]measurement, rules int) string {
	var b strings.Builder
	b.WriteString("| judge | CPU of a rule, a Pod that violates nothing | times as much | CPU of a rule, Pods of " +
		"which most violate | times as much |\n|---|---|---|---|---|\n")
	last := results[len(results)-1]
	for i, j := range judges {
		fmt.Fprintf(&b, "| %s |", j.name)
		for _, of := range []func(measurement) time.Duration{
			func(m measurement) time.Duration { return m.clean / time.Duration(rules) },
			func(m measurement) time.Duration { return m.mixed / time.Duration(rules) },
		} {
			fmt.Fprintf(&b, " %s | %s |", spread(each(results[i], of), microseconds),
				spread(ratios(each(last, of), each(results[i], of)), hundredths))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func microseconds(d time.Duration) string { return fmt.Sprintf("%.1f µs", d.Seconds()*1e6) }

func hundredths(f float64) string { return fmt.Sprintf("%.2f", f) }
