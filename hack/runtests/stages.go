// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// stage is one step of a test run.
type stage struct {
	name  string
	about string
	// steps run one after the other, or at once where they are together.
	steps    []step
	together bool
	// beside names an earlier stage: when both are asked for, this one runs at the same time,
	// as both spend most of theirs waiting.
	beside string
	// alone says that nothing runs at the same time; it is set when a run is planned.
	alone bool
	// vital stages end the run when they fail: nothing after them can work.
	vital bool
	// again marks a stage that runs what another one runs too, for what it prints: it is run when it is named alone.
	again bool
}

// step is one command of a stage.
type step struct {
	// dir is where it runs, relative to the repository.
	dir string
	// test holds the arguments of `go test`; its events are counted.
	test []string
	// procs is in how many processes the one suite that test names is run, each with a
	// control plane of its own.
	procs int
	// skip leaves out the packages of dir below these paths.
	skip []string
	// command is a command that isn't `go test`. It counts as one test, unless
	// it prints a line "N passed, N failed" of its own.
	command []string
	// uncounted marks a command that prepares and proves nothing.
	uncounted bool
}

// clusterTests need a control plane, or take long, so they aren't unit tests.
func clusterTests() []string {
	return []string{"test/config", "test/integration", "test/escalation", "test/e2e", "test/chaos", "test/walkthrough",
		"test/dist", "test/sources", "test/attack", "test/image", "test/journeys", "test/gatekeeper"}
}

// largeTests are tests beside the code, by package, that take a minute or more of the
// processors, or a process for each of hundreds of cases. The stage large runs them, and the
// stage unit all others.
func largeTests() map[string][]string {
	return map[string][]string{
		"./internal/policy/rego": {"TestHostilePolicies", "TestHostilePoliciesOnOneProcessor",
			"TestNothingIsNestedSoThatCompilingNeverEnds", "TestNothingIsNestedSoThatTheStackOverflows"},
		"./internal/remediate": {"TestARolloutOfTenThousand"},
	}
}

// large is the pattern of the large tests, for go test.
func large() string {
	var names []string
	for _, tests := range largeTests() {
		names = append(names, tests...)
	}
	slices.Sort(names)
	return "^(" + strings.Join(names, "|") + ")$"
}

// stages lists every stage in order: cheap ones first, so that mistakes show soon.
func stages() []stage { return slices.Concat(cheapStages(), costlyStages()) }

// cheapStages need no control plane, prepare it, or show what people see first.
func cheapStages() []stage {
	return []stage{
		{
			name: "unit", about: "tables, Rego, golden traces, models",
			steps: []step{{dir: ".", test: []string{"-timeout=10m", "-skip=" + large()}, skip: clusterTests()}},
		},
		{
			// Alone: some of them measure time.
			name: "large", about: "policies that would never end, and a rollout of ten thousand",
			steps: []step{{dir: ".", test: slices.Concat([]string{"-timeout=20m", "-run=" + large()},
				slices.Sorted(maps.Keys(largeTests())))}},
		},
		{
			name: "controlplane",
			about: "build the local control plane, once per version; fetch Prometheus, Alertmanager, sshd and " +
				"bubblewrap", vital: true,
			steps: []step{
				{dir: "hack/controlplane", command: []string{"go", "run", "./cmd/controlplane", "build"},
					uncounted: true},
				{dir: "hack/controlplane", command: []string{"go", "run", "./cmd/controlplane", "tools"},
					uncounted: true},
			},
		},
		{
			name: "hack", about: "the tools of this repository",
			steps: []step{
				{dir: "hack/runtests", test: []string{"./..."}},
				{dir: "hack/bench", test: []string{"./..."}},
				{dir: "hack/bench/own", test: []string{"./..."}},
				// Gatekeeper's engine is built once; nothing else of the run needs it.
				{dir: "hack/bench", command: []string{"go", "run", ".", "--compare", "--objects", "300",
					"--seed", "1"}},
				{dir: "hack/image", test: []string{"./..."}},
				{dir: "hack/controlplane", test: []string{"-timeout=15m", "./..."}},
				{dir: "hack/demo", test: []string{"-timeout=10m", "./..."}},
				{dir: ".", test: []string{"-count=1", "-timeout=15m", "./test/dist/..."}},
			},
		},
		{
			name: "demo", about: "the demo, with all that it claims checked", beside: "hack",
			steps: []step{{dir: "hack/demo", command: []string{"go", "run", "."}}},
		},
		{
			name: "docs", about: "the commands of the documentation, page by page", beside: "hack",
			steps: []step{{dir: ".", test: []string{"-count=1", "-timeout=25m", "./test/walkthrough/..."}}},
		},
	}
}

// costlyStages take minutes each, against control planes of their own.
func costlyStages() []stage {
	return []stage{
		{
			name: "integration", about: "manifests and controllers against a real API server", together: true,
			steps: []step{
				{dir: ".", procs: 3, test: []string{"--timeout=40m", "./test/integration"}},
				{dir: ".", test: []string{"-count=1", "-p=2", "-timeout=40m", "./test/config/...", "./test/sources/...",
					"./test/escalation/...", "./test/journeys/..."}},
			},
		},
		{
			name: "journeys", about: "people and what they want of Evenkeel, step by step", again: true,
			steps: []step{{dir: ".", test: []string{"-count=1", "-timeout=40m", "./test/journeys"}}},
		},
		{
			name: "image", about: "the image, built, unpacked and run: replicas replaced under traffic",
			steps: []step{{dir: ".", test: []string{"-count=1", "-timeout=15m", "./test/image"}}},
		},
		{
			name: "attack", about: "attempts to get past it, and to make it do harm",
			steps: []step{{dir: ".", procs: 2, test: []string{"--timeout=20m", "./test/attack"}}},
		},
		{
			name: "e2e", about: "the manager as a process, killed and raced on purpose",
			steps: []step{{dir: ".", procs: 2, test: []string{"--timeout=25m", "./test/e2e"}}},
		},
		{
			name: "chaos", about: "what a rollout stands on, broken while it is under way", beside: "e2e",
			steps: []step{{dir: ".", procs: 3, test: []string{"--timeout=40m", "./test/chaos"}}},
		},
	}
}

// choose returns the named stages in their usual order, or for no names all that run nothing a second time.
func choose(all []stage, names []string) ([]stage, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(s stage) bool { return s.again }), nil
	}
	var known []string
	var chosen []stage
	for _, s := range all {
		known = append(known, s.name)
		if slices.Contains(names, s.name) {
			chosen = append(chosen, s)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("stage %q doesn't exist: use %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

// groups puts stages that run at the same time together, in the order of the first of each.
func groups(chosen []stage) [][]stage {
	var out [][]stage
	for _, s := range chosen {
		with := func(group []stage) bool { return s.beside != "" && group[0].name == s.beside }
		if i := slices.IndexFunc(out, with); i >= 0 {
			out[i] = append(out[i], s)
			continue
		}
		out = append(out, []stage{s})
	}
	return out
}
