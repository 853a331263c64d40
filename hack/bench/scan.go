// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
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

const (
	// scanned is how many Pods are scanned to time it.
	scanned = 20_000
	// paged is how many Pods the pages have that Gatekeeper audits to time it.
	paged = 40
	// compared is how many Pods must have the same verdicts before any time is taken, of which each third violates.
	compared = 300
)

// passFigures are what own/scan prints of one pass.
type passFigures struct {
	CPU, Time           time.Duration
	Most, Settled, Live int64
	Asked               map[string]struct{ Requests, Bytes int64 }
}

// scanReport is what own/scan prints.
type scanReport struct {
	Violated, Violating, Errors int
	Findings                    []struct {
		Object, Message string
		Violations      int
	}
	First, Change passFigures
}

// scanner is own/scan, built, with its rules.
type scanner struct{ program, rules string }

// benchScan times the scan beside Gatekeeper's audit: the same rules, the same Pods, from the bytes of a list to the
// verdicts.
func benchScan(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "evenkeel-scan-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	in := func(name string) string { return filepath.Join(work, name) }
	s, rules, err := buildScanner(ctx, in)
	if err != nil {
		return err
	}
	engine, err := buildAudit(ctx, in)
	if err != nil {
		return err
	}
	violations, err := auditedAlike(ctx, s, engine, in("compared"))
	if err != nil {
		return err
	}
	fmt.Printf("%d rules, %d Pods: both find the same %d violations\n", rules, compared, violations)
	size, err := writePages(in("clean"), paged, 0)
	if err != nil {
		return err
	}
	if _, err := writePages(in("mixed"), paged, 1); err != nil {
		return err
	}
	results, err := s.timeBeside(ctx, engine, o.runs, in)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d rules that match a Pod, Pods of %d bytes; of %d of them both found the same %d "+
		"violations. Medians of %d rounds in random order, with the least and the most; %s with %d processors, "+
		"%s.\n\n%s", rules, size, compared, violations, o.runs, processor(), runtime.NumCPU(), runtime.Version(),
		scanTable(engine.name, results))
	fmt.Print("\n", text)
	if o.table == "" {
		return nil
	}
	return replaceTable(o.table, "bench-scan", text)
}

// timeBeside times the scan and Gatekeeper's audit once a round, either of them first by chance.
func (s scanner) timeBeside(ctx context.Context, engine judge, rounds int, in func(string) string) (
	[][]measurement, error) {
	results := make([][]measurement, 2)
	times := []func() (measurement, error){
		func() (measurement, error) { return s.each(ctx) },
		func() (measurement, error) {
			theirs, err := timeJudges(ctx, []judge{engine}, 1, in)
			if err != nil {
				return measurement{}, err
			}
			return theirs[0][0], nil
		},
	}
	for round := range rounds {
		for _, i := range rand.Perm(len(times)) {
			m, err := times[i]()
			if err != nil {
				return nil, err
			}
			results[i] = append(results[i], m)
		}
		fmt.Printf("round %d of %d: Evenkeel %s, Gatekeeper %s\n", round+1, rounds,
			results[0][round].clean.Round(time.Microsecond), results[1][round].clean.Round(time.Microsecond))
	}
	return results, nil
}

func buildScanner(ctx context.Context, in func(string) string) (s scanner, rules int, err error) {
	if rules, err = writePodRules(in("rules.yaml")); err != nil {
		return scanner{}, 0, err
	}
	here, err := root()
	if err != nil {
		return scanner{}, 0, err
	}
	return scanner{in("scan"), in("rules.yaml")}, rules, goBuild(ctx, filepath.Join(here, "own"), in("scan"), "./scan")
}

func buildAudit(ctx context.Context, in func(string) string) (judge, error) {
	here, err := root()
	if err != nil {
		return judge{}, err
	}
	fmt.Println("building Gatekeeper's engine; it takes minutes, once")
	return judge{name: "Gatekeeper " + gatorVersion, command: []string{in("engine"), "--rules", in("rules.yaml")},
		reads: "--pages"}, goBuild(ctx, filepath.Join(here, "gator"), in("engine"), "./engine")
}

// scan has a cluster of Pods served and scanned.
func (s scanner) scan(ctx context.Context, pods, every int, arguments ...string) (*scanReport, error) {
	at, stop, err := startServer(ctx, pods, every)
	if err != nil {
		return nil, err
	}
	report := &scanReport{}
	j := judge{name: "the scan", env: deployed(), command: []string{s.program, "--server", string(at),
		"--rules", s.rules, "--pods", fmt.Sprint(pods)}}
	err = errors.Join(j.ask(ctx, report, arguments...), stop())
	if want := violatingOf(pods, every); err == nil && (report.Violating != want || report.Errors > 0) {
		err = fmt.Errorf("%d Pods violate and %d can't be judged, want %d and none", report.Violating, report.Errors,
			want)
	}
	if err == nil && every > 0 && report.Violated != rulesBroken {
		err = fmt.Errorf("%d rules are violated, want %d", report.Violated, rulesBroken)
	}
	return report, err
}

func violatingOf(pods, every int) int {
	if every == 0 {
		return 0
	}
	return pods / every
}

// each is what a Pod takes of the first sync: of Pods that violate nothing, and of those that violate ten rules.
func (s scanner) each(ctx context.Context) (measurement, error) {
	var m measurement
	for every, took := range map[int]*time.Duration{0: &m.clean, 1: &m.mixed} {
		report, err := s.scan(ctx, scanned, every, "--settle", "0s")
		if err != nil {
			return m, err
		}
		*took = report.First.CPU / scanned
	}
	return m, nil
}

// auditedAlike holds the scan and the audit to the same: each finding of the scan is a constraint's of the same Pod,
// with as many violations, of which its message is one. It says how many there are.
func auditedAlike(ctx context.Context, s scanner, engine judge, pages string) (int, error) {
	const every = 3
	if _, err := writePages(pages, compared, every); err != nil {
		return 0, err
	}
	var theirs []struct {
		Object, Constraint string
		Messages           []string
	}
	if err := engine.ask(ctx, &theirs, "--pages", pages); err != nil {
		return 0, err
	}
	ours, err := s.scan(ctx, compared, every, "--settle", "0s", "--findings")
	if err != nil {
		return 0, err
	}
	violations := 0
	for _, f := range ours.Findings {
		violations += f.Violations
		at := slices.IndexFunc(theirs, func(a struct {
			Object, Constraint string
			Messages           []string
		}) bool {
			return a.Object == f.Object && len(a.Messages) == f.Violations && slices.Contains(a.Messages, f.Message)
		})
		if at < 0 {
			return 0, fmt.Errorf("what the scan finds of %s Gatekeeper doesn't, %d times: %s", f.Object, f.Violations,
				f.Message)
		}
		theirs = slices.Delete(theirs, at, at+1)
	}
	if len(theirs) > 0 {
		return 0, fmt.Errorf("the scan doesn't find what Gatekeeper finds of %s by %s: %s", theirs[0].Object,
			theirs[0].Constraint, strings.Join(theirs[0].Messages, ", "))
	}
	return violations, nil
}

// writePages writes a page of a list of Pods. It says how long one is, in bytes.
func writePages(file string, count, every int) (int, error) {
	pods, err := newClusterPods(count, every)
	if err != nil {
		return 0, err
	}
	var text bytes.Buffer
	text.WriteString(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`)
	for n := range count {
		if n > 0 {
			text.WriteByte(',')
		}
		text.Write(pods.Append(nil, n))
	}
	text.WriteString("]}")
	var valid json.RawMessage
	if err := json.Unmarshal(text.Bytes(), &valid); err != nil {
		return 0, err
	}
	return text.Len() / count, os.WriteFile(file, text.Bytes(), 0o600)
}

// scanTable is the figures in Markdown. The ratios are those of each round to Evenkeel's.
func scanTable(theirs string, results [][]measurement) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| judge | CPU, a Pod that violates nothing | times as much | CPU, a Pod that violates %d rules | "+
		"times as much |\n|---|---|---|---|---|\n", rulesBroken)
	for i, name := range []string{"Evenkeel's scan", theirs + "'s audit"} {
		fmt.Fprintf(&b, "| %s |", name)
		for _, of := range []func(measurement) time.Duration{
			func(m measurement) time.Duration { return m.clean }, func(m measurement) time.Duration { return m.mixed },
		} {
			own, first := each(results[i], of), each(results[0], of)
			fmt.Fprintf(&b, " %s | %s |", spread(own, milliseconds), spread(ratios(first, own), times))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
