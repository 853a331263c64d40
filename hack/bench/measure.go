// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
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

// measure times every command in each round, so that whatever else the machine
// does falls on all of them.
func measure(ctx context.Context, tools []tool, runs int) ([]figures, error) {
	results := make([]figures, len(tools))
	for round := range runs {
		for i, t := range tools {
			results[i].tool = t
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

// table is the figures in Markdown: medians, and medians of the rounds' ratios.
func table(results []figures, objects, violations int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d manifests, 4 rules, %d violations, found alike by all three; medians of %d rounds on %s with "+
		"%d processors, %s.\n\n",
		objects, violations, len(results[0].wall), processor(), runtime.NumCPU(), runtime.Version())
	b.WriteString("| command | version | time | times as long | CPU time | memory |\n|---|---|---|---|---|---|\n")
	for _, r := range results {
		ratio := median(ratios(results[0].wall, r.wall))
		fmt.Fprintf(&b, "| `%s` | %s | %.2f s | %.1f | %.2f s | %d MB |\n", r.tool.name, r.tool.version,
			median(r.wall).Seconds(), ratio, median(r.cpu).Seconds(), median(r.memory)>>20)
	}
	return b.String()
}

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

// The marks between which a file's table stands.
const (
	tableBegin = "<!-- begin: make bench-check -->\n"
	tableEnd   = "<!-- end: make bench-check -->\n"
)

func replaceTable(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(old), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table: it stands between %q and %q", filepath.Base(file), tableBegin,
			tableEnd)
	}
	return os.WriteFile(file, []byte(before+tableBegin+text+tableEnd+after), 0o644)
}
