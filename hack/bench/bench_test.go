// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/hack/bench/internal/own"
	"evenkeel.dev/evenkeel/hack/bench/internal/scanning"
)

// TestMain runs the test program as a worker too: own and its like are processes of this program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		main()
		return
	}
	os.Exit(m.Run())
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{options: options{seed: 1}, work: t.TempDir()}
	if _, _, err := b.writeReviews(); err != nil {
		t.Fatal(err)
	}
	return b
}

func content(t *testing.T, files ...string) string {
	t.Helper()
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

func TestManifestsAreTheSameEachTimeAndBreakEachRule(t *testing.T) {
	written := func() string {
		dir := t.TempDir()
		if err := writeManifests(dir, 240); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
		if err != nil || len(files) != 240 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		return content(t, files...)
	}
	first := written()
	if first != written() {
		t.Error("two runs write different manifests")
	}
	for _, part := range []string{":latest", "privileged: true", "hostNetwork: true", "kind: StatefulSet",
		"kind: CronJob", "kind: ConfigMap", "kind: Service", "kind: Pod\n"} {
		if !strings.Contains(first, part) {
			t.Errorf("no manifest has %q", part)
		}
	}
	if strings.Contains(first, "<no value>") {
		t.Error("a template lacks a value")
	}
}

func TestToolsMustAgree(t *testing.T) {
	prints := func(text, field string) tool { return tool{"tool", []string{"echo", text}, field} }
	ours := prints(`{"results": [{"violations": [{"message": "a"}, {"message": "b"}]}]}`, "message")
	same := prints(`[{"failures": [{"msg": "b"}, {"msg": "a"}]}]`, "msg")
	if n, err := agree(t.Context(), []tool{ours, same}); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for name, other := range map[string]tool{"another message": prints(`[{"msg": "a"}, {"msg": "c"}]`, "msg"),
		"no JSON": prints("panic", "msg"), "a crash": {"sh", []string{"sh", "-c", "exit 2"}, "msg"}} {
		if _, err := agree(t.Context(), []tool{ours, other}); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	if _, err := agree(t.Context(), []tool{prints("{}", "message")}); err == nil {
		t.Error("nothing passes for agreement")
	}
}

func TestAContestHasItsRatiosByRoundAndItsBounds(t *testing.T) {
	values := func(of ...float64) func(context.Context, int) ([]float64, error) {
		return func(_ context.Context, round int) ([]float64, error) { return []float64{of[round]}, nil }
	}
	c := contest{name: "check", metrics: []metric{{"CPU", "ms"}},
		contestants: []contestant{{"one", values(1, 2, 4)}, {"other", values(3, 8, 4)}}}
	if err := c.run(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	want := "| | CPU | ratio |\n|---|---|---|\n" +
		"| one | 2.00 ms (1.00 ms – 4.00 ms) | 1.00 (1.00 – 1.00) |\n" +
		"| other | 4.00 ms (3.00 ms – 8.00 ms) | 3.00 (1.00 – 4.00) |\n"
	if got := c.table(); got != want {
		t.Errorf("the table is\n%s", got)
	}
	page := filepath.Join(t.TempDir(), "page.md")
	before, after := "before\n<!-- begin: make bench check -->\n", "<!-- end: make bench check -->\nafter\n"
	if err := os.WriteFile(page, []byte(before+"old\n"+after), 0o600); err != nil {
		t.Fatal(err)
	}
	met := required{"times as fast", c.ratios(0, 1), "", 3, true}
	if err := c.report(page, "About.", met); err != nil {
		t.Error(err)
	}
	text := content(t, page)
	if !strings.HasPrefix(text, before+"About. Medians of 3") || !strings.HasSuffix(text, after) ||
		!strings.Contains(text, "required at least 3.00: **met**") || strings.Contains(text, "old") {
		t.Errorf("the page is\n%s", text)
	}
	missed := required{"CPU", c.values[0][0], "ms", 1.9, false}
	if err := c.report(page, "About.", met, missed); err == nil || !strings.HasSuffix(err.Error(), "missed: CPU") {
		t.Errorf("it reports %v", err)
	}
	if err := c.report(filepath.Join(t.TempDir(), "none"), ""); err == nil {
		t.Error("a page that isn't there is written")
	}
	if got := median([]float64{4, 1, 9, 2}); got != 3 {
		t.Errorf("the median of four is %v", got)
	}
}

func TestEveryWorkerJudgesAlike(t *testing.T) {
	b := newBench(t)
	judge, err := worker("judge")
	if err != nil {
		t.Fatal(err)
	}
	q := own.Question{Rules: b.in("rules.yaml"), Reviews: b.in("mixed")}
	var compiled, topdown []own.Verdict
	if err := judge.ask(t.Context(), q, &compiled); err != nil {
		t.Fatal(err)
	}
	q.Engine = "topdown"
	if err := judge.ask(t.Context(), q, &topdown); err != nil {
		t.Fatal(err)
	}
	if len(compiled) != timed || !compiled[0].Allowed || compiled[1].Allowed || len(compiled[1].Violations) == 0 {
		t.Errorf("the verdicts are %+v", compiled)
	}
	for i := range compiled {
		if !slices.Equal(compiled[i].Violations, topdown[i].Violations) {
			t.Errorf("review %d: %q, by topdown %q", i, compiled[i].Violations, topdown[i].Violations)
		}
	}
	var took time.Duration
	q.Time = time.Millisecond
	if err := judge.ask(t.Context(), q, &took); err != nil || took <= 0 {
		t.Errorf("a review takes %s, %v", took, err)
	}
	q.Rules = b.in("none")
	if err := judge.ask(t.Context(), q, &took); err == nil {
		t.Error("there are verdicts without rules")
	}
}

func TestBothWebhooksAreServedAndLoaded(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	noop, evenkeel, err := b.webhooks(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for file, clean := range map[string]bool{"clean": true, "mixed": false} {
		lines := lines(content(t, b.in(file)))
		if err := answerRightly(ctx, noop, evenkeel, lines, clean); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if err := answerRightly(ctx, noop, evenkeel, lines, !clean); err == nil {
			t.Errorf("%s: any answer is right", file)
		}
	}
	measured, err := noop.load(ctx, lines(content(t, b.in("clean"))), 100, 1)
	if err != nil || len(measured) != 3 || measured[0] <= 0 || measured[1] <= 0 || measured[2] < measured[1] {
		t.Errorf("it measures %v, %v", measured, err)
	}
	if _, err := cpuOf(1 << 28); err == nil {
		t.Error("a process that isn't there has used CPU time")
	}
}

func lines(text string) (all [][]byte) {
	for line := range strings.Lines(text) {
		all = append(all, []byte(strings.TrimSpace(line)))
	}
	return all
}

func TestAServerThatEndsIsReported(t *testing.T) {
	b := &bench{work: t.TempDir()}
	_, err := b.serve(t.Context(), program{command: []string{"false"}}, func(at serving) any { return at })
	if err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("it reports %v", err)
	}
}

func TestRequestsAreSentAtTheirRateWhetherOthersAreAnsweredOrNot(t *testing.T) {
	all := make(chan struct{})
	took, err := atRate(t.Context(), 1000, 100*time.Millisecond, 1, func(_ context.Context, n int) error {
		if n == 30 {
			close(all) // the first are answered only now
		}
		<-all
		return nil
	})
	if err != nil || len(took) < 60 || len(took) > 140 {
		t.Errorf("%d requests, %v; about 100 are due", len(took), err)
	}
	wrong := errors.New("wrong")
	_, err = atRate(t.Context(), 1000, time.Hour, 1, func(context.Context, int) error { return wrong })
	if !errors.Is(err, wrong) {
		t.Errorf("it reports %v", err)
	}
	if _, err := atRate(t.Context(), 1, time.Nanosecond, 1, nil); err == nil {
		t.Error("a load without a request has figures")
	}
}

func TestAClusterIsScannedAndAChangedPolicyOnceMore(t *testing.T) {
	b := newBench(t)
	report, err := b.scanCluster(t.Context(), 60, 3,
		scanning.Question{Change: changedPolicy, Parameters: changedParameters})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]scanning.Figures{"first": report.First, "change": report.Change} {
		if f.CPU <= 0 || f.Time <= 0 || f.Peak < f.HeapLive || f.HeapLive <= 0 || f.Settled <= 0 {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if report.Violating != 20 || report.Violated != rulesBroken || len(report.Findings) != 20*rulesBroken {
		t.Errorf("%d Pods violate %d rules, with %d findings", report.Violating, report.Violated, len(report.Findings))
	}
	if _, err := b.scanCluster(t.Context(), 60, 3, scanning.Question{Change: "none"}); err == nil {
		t.Error("a policy that isn't there is changed")
	}
}

func TestClusterPodsDifferAndAreInOrder(t *testing.T) {
	pods, err := newClusterPods(600, 100)
	if err != nil {
		t.Fatal(err)
	}
	var keys, uids []string
	violating := 0
	for n := range pods.Len() {
		text := pods.Append(nil, n)
		var pod struct {
			Metadata struct{ Namespace, Name, UID string }
			Spec     struct{ HostPID bool }
		}
		if err := json.Unmarshal(text, &pod); err != nil || len(text) < 14_000 || strings.Contains(string(text), `"@`) {
			t.Fatalf("Pod %d has %d bytes, %v: %s", n, len(text), err, text)
		}
		keys, uids = append(keys, pod.Metadata.Namespace+"/"+pod.Metadata.Name), append(uids, pod.Metadata.UID)
		if pod.Spec.HostPID {
			violating++
		}
	}
	slices.Sort(uids)
	sorted := slices.IsSorted(keys)
	keys, uids = slices.Compact(keys), slices.Compact(uids)
	if !sorted || len(keys) != 600 || len(uids) != 600 || violating != 6 {
		t.Errorf("%d names, sorted: %v, %d UIDs, %d violate", len(keys), sorted, len(uids), violating)
	}
}
