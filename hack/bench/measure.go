// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// contestant is a program that is measured: measure gives one value for each of the benchmark's metrics.
type contestant struct {
	name    string
	measure func(ctx context.Context, round int) ([]float64, error)
}

// metric is what is measured of each contestant, in a unit.
type metric struct{ name, unit string }

// contest is one benchmark. Its first contestant is the baseline of the ratios.
type contest struct {
	name        string
	metrics     []metric
	contestants []contestant
	// values are the results, by contestant, metric and round.
	values [][][]float64
}

// run measures every contestant once a round, in random order, so that other load on the machine affects them all.
func (c *contest) run(ctx context.Context, rounds int) error {
	c.values = make([][][]float64, len(c.contestants))
	for i := range c.values {
		c.values[i] = make([][]float64, len(c.metrics))
	}
	for round := range rounds {
		for _, i := range rand.Perm(len(c.contestants)) {
			measured, err := c.contestants[i].measure(ctx, round)
			if err != nil {
				return fmt.Errorf("%s: %w", c.contestants[i].name, err)
			}
			for m := range c.metrics {
				c.values[i][m] = append(c.values[i][m], measured[m])
			}
		}
		fmt.Printf("%s, round %d of %d:", c.name, round+1, rounds)
		for i := range c.contestants {
			fmt.Printf("  %s %s", c.contestants[i].name, c.metrics[0].text(c.values[i][0][round]))
		}
		fmt.Println()
	}
	return nil
}

// ratios divide a metric of a contestant by the baseline's, round by round.
func (c *contest) ratios(m, of int) []float64 {
	out := make([]float64, len(c.values[of][m]))
	for round := range out {
		out[round] = c.values[of][m][round] / c.values[0][m][round]
	}
	return out
}

// table is the results in Markdown: of each metric the median with the minimum and the maximum, and the same of its
// ratio to the first contestant's.
func (c *contest) table() string {
	var b strings.Builder
	b.WriteString("| |")
	for _, m := range c.metrics {
		fmt.Fprintf(&b, " %s | ratio |", m.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|---|", len(c.metrics)) + "\n")
	for i := range c.contestants {
		fmt.Fprintf(&b, "| %s |", c.contestants[i].name)
		for m := range c.metrics {
			fmt.Fprintf(&b, " %s | %s |", spread(c.values[i][m], c.metrics[m].text),
				spread(c.ratios(m, i), metric{}.text))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (m metric) text(value float64) string {
	if m.unit == "MB" {
		return fmt.Sprintf("%.0f MB", value)
	}
	return strings.TrimSpace(fmt.Sprintf("%.2f %s", value, m.unit))
}

// spread is the median of values, with the minimum and the maximum.
func spread(values []float64, text func(float64) string) string {
	return fmt.Sprintf("%s (%s – %s)", text(median(values)), text(slices.Min(values)), text(slices.Max(values)))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// required is a bound that the median of a figure must keep.
type required struct {
	what   string
	values []float64
	unit   string
	bound  float64
	// least says that the bound is a minimum.
	least bool
}

func (r required) met() bool {
	if r.least {
		return median(r.values) >= r.bound
	}
	return median(r.values) <= r.bound
}

func (r required) String() string {
	most, result := "at most", "missed"
	if r.least {
		most = "at least"
	}
	if r.met() {
		result = "met"
	}
	text := metric{unit: r.unit}.text
	return fmt.Sprintf("- %s: %s, required %s %s: **%s**", r.what, spread(r.values, text), most, text(r.bound), result)
}

// report writes the results under a paragraph that describes them, into the file if there is one. It returns an error
// if a required figure is missed.
func (c *contest) report(file, about string, figures ...required) error {
	rounds := len(c.values[0][0])
	text := fmt.Sprintf("%s Medians of %d rounds in random order (minimum – maximum); ratios are to the first row's "+
		"figure of the same round. %s with %d processors, %s.\n\n%s\n", about, rounds, processor(), runtime.NumCPU(),
		runtime.Version(), c.table())
	var missed []string
	for _, figure := range figures {
		text += figure.String() + "\n"
		if !figure.met() {
			missed = append(missed, figure.what)
		}
	}
	fmt.Print("\n", text, "\n")
	if file != "" {
		if err := replaceTable(file, c.name, text); err != nil {
			return err
		}
	}
	if len(missed) > 0 {
		return fmt.Errorf("%s: required figures missed: %s", c.name, strings.Join(missed, "; "))
	}
	return nil
}

// processor is the machine's, as Linux names it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	name := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(text)
	if err != nil || name == nil {
		return runtime.GOARCH
	}
	return string(name[1])
}

// replaceTable replaces the table of a benchmark in a file of Markdown.
func replaceTable(file, name, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := "<!-- begin: make bench "+name+" -->\n", "<!-- end: make bench "+name+" -->\n"
	before, rest, begins := strings.Cut(string(old), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table: it stands between %q and %q", filepath.Base(file), begin, end)
	}
	return os.WriteFile(file, []byte(before+begin+text+end+after), 0o644)
}
