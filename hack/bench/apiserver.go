// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"
)

// The load of the API server: so many clients, for so long in each round.
const (
	apiClients = 4
	apiLoad    = 4 * time.Second
	// apiPods is of how many Pods the clients send one after the other.
	apiPods = 2000
)

// admission is one way in which the API server has Pods judged: those of one namespace.
type admission struct {
	name, namespace string
	// judge is the process that judges; nil where the API server does so itself, or nobody.
	judge   *child
	clients []*poster
	// pods are those that the clients send: of as many workloads as in bench-webhook, none of which violates anything.
	pods [][]byte
}

// created is what Pods took in one round.
type created struct {
	// rate is how many were admitted a second.
	rate     float64
	p50, p99 time.Duration
	// judge and server are the time of the processors for each, of the process that judges and of the API server.
	judge, server time.Duration
}

// benchAPIServer times the API server that makes Pods which are only tried, with nobody who judges them, with Evenkeel,
// with Gatekeeper, with Kyverno and with ValidatingAdmissionPolicies.
func benchAPIServer(ctx context.Context, o options) (err error) {
	work, err := os.MkdirTemp("", "evenkeel-apiserver-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	here, err := root()
	if err != nil {
		return err
	}
	c, err := startCluster(ctx, here, filepath.Join(work, "controlplane"), filepath.Join(work, "cluster"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	admissions, rules, err := startAdmissions(ctx, c, here, work, o.cache)
	if err != nil {
		return err
	}
	found, err := agreeOnPods(ctx, admissions)
	if err != nil {
		return err
	}
	fmt.Printf("%d rules and 5: %s\n", rules, found)
	results, err := timeAnswered(ctx, c, admissions, o.runs)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d rules, and 5 that a CEL expression says as well; %s. %d clients for %s a round; medians "+
		"of %d rounds in random order, with the least and the most; %s with %d processors, %s.\n\n%s\n%s", rules, found,
		apiClients, apiLoad, o.runs, processor(), runtime.NumCPU(), runtime.Version(),
		admissionsTable(admissions, results), admissionsAdded(admissions, results))
	fmt.Print("\n", text)
	if o.table == "" {
		return nil
	}
	return replaceTable(o.table, "bench-apiserver", text)
}

// The places of the admissions in their list.
const (
	nobody = iota
	evenkeelAll
	gatekeeperAll
	expressionsFive
	evenkeelFive
	kyvernoFive
)

// startAdmissions starts all that judge. It says how many rules those of Gatekeeper are.
func startAdmissions(ctx context.Context, c *cluster, here, work, cache string) ([]*admission, int, error) {
	root, in := filepath.Join(here, "..", ".."), func(name string) string { return filepath.Join(work, name) }
	if err := goBuild(ctx, root, in("evenkeel"), "./cmd/evenkeel"); err != nil {
		return nil, 0, err
	}
	program, err := cached(ctx, filepath.Join(root, "hack", "components", "gatekeeper"),
		filepath.Join(cache, "gatekeeper-"+gatorVersion), "github.com/open-policy-agent/gatekeeper/v3")
	if err != nil {
		return nil, 0, err
	}
	kyverno, err := cached(ctx, filepath.Join(here, "kyverno"), filepath.Join(cache, "kyverno-"+kyvernoVersion),
		"github.com/kyverno/kyverno/cmd/kyverno")
	if err != nil {
		return nil, 0, err
	}
	rules, err := writeAdmissionRules(in)
	if err != nil {
		return nil, 0, err
	}
	if err := prepareCluster(ctx, c); err != nil {
		return nil, 0, err
	}
	theirs, err := startGatekeeper(ctx, c, root, program, work, in("gatekeeper.yaml"))
	if err != nil {
		return nil, 0, err
	}
	others, err := startKyverno(ctx, c, here, kyverno, work)
	if err != nil {
		return nil, 0, err
	}
	ours, err := startEvenkeel(ctx, c, root, in("evenkeel"), work, in("rules.yaml"), in("five.yaml"))
	if err != nil {
		return nil, 0, err
	}
	all := []*admission{
		nobody:          {name: "nobody", namespace: ofNobody},
		evenkeelAll:     {name: fmt.Sprintf("Evenkeel, %d rules", rules), namespace: ofEvenkeel, judge: ours},
		gatekeeperAll:   {name: fmt.Sprintf("Gatekeeper, %d rules", rules), namespace: ofGatekeeper, judge: theirs},
		expressionsFive: {name: "ValidatingAdmissionPolicies, 5 rules", namespace: ofExpressions},
		evenkeelFive:    {name: "Evenkeel, 5 rules", namespace: ofEvenkeelFive, judge: ours},
		kyvernoFive:     {name: "Kyverno, 5 rules", namespace: ofKyverno, judge: others},
	}
	return all, rules, errors.Join(bindExpressions(ctx, c), connect(c, all))
}

// writeAdmissionRules writes the rules of each namespace. It says how many those of Gatekeeper are.
func writeAdmissionRules(in func(name string) string) (int, error) {
	rules, err := writePodRules(in("gatekeeper.yaml"), ofGatekeeper)
	if err != nil {
		return 0, err
	}
	if _, err := writePodRules(in("rules.yaml"), ofEvenkeel); err != nil {
		return 0, err
	}
	_, err = writeRules(in("five.yaml"), expressionRules, "pairs", nil, ofEvenkeelFive)
	return rules, err
}

// connect gives each admission its clients, and what they send.
func connect(c *cluster, admissions []*admission) error {
	for _, a := range admissions {
		for range apiClients {
			client, err := c.podsOf(a.namespace)
			if err != nil {
				return err
			}
			a.clients = append(a.clients, client)
		}
		for n := range apiPods {
			pod, err := asController(a.namespace, workloadPod(n%workloads, n))
			if err != nil {
				return err
			}
			a.pods = append(a.pods, pod)
		}
	}
	return nil
}

// timeAnswered times each admission, and errs where a webhook didn't answer, which isn't one that judges.
func timeAnswered(ctx context.Context, c *cluster, admissions []*admission, rounds int) ([][]created, error) {
	before, err := c.failedOpen(ctx)
	if err != nil {
		return nil, err
	}
	results, err := timeAdmissions(ctx, c, admissions, rounds)
	if err != nil {
		return nil, err
	}
	after, err := c.failedOpen(ctx)
	if err == nil && after > before {
		err = fmt.Errorf("%.0f Pods were admitted because a webhook didn't answer: the figures say nothing of it",
			after-before)
	}
	return results, err
}

// timeAdmissions times each admission once a round, in another order in each, with Pods that violate nothing.
func timeAdmissions(ctx context.Context, c *cluster, admissions []*admission, rounds int) ([][]created, error) {
	results := make([][]created, len(admissions))
	for round := range rounds {
		for _, i := range rand.Perm(len(admissions)) {
			m, err := admissions[i].time(ctx, c.server)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", admissions[i].name, err)
			}
			results[i] = append(results[i], m)
		}
		fmt.Printf("round %d of %d:", round+1, rounds)
		for i, a := range admissions {
			fmt.Printf("  %s %.0f/s", a.name, results[i][round].rate)
		}
		fmt.Println()
	}
	return results, nil
}

func (a *admission) time(ctx context.Context, server int) (created, error) {
	processes := []int{server}
	if a.judge != nil {
		processes = append(processes, a.judge.pid)
	}
	before, err := cpuOfEach(processes)
	if err != nil {
		return created{}, err
	}
	var sent atomic.Int64
	took, lasted, err := inTurn(ctx, apiClients, apiLoad, func(ctx context.Context, client int) error {
		_, err := a.clients[client].answer(ctx, a.pods[int(sent.Add(1))%len(a.pods)])
		return err
	})
	if err != nil {
		return created{}, err
	}
	after, err := cpuOfEach(processes)
	if err != nil {
		return created{}, err
	}
	count := time.Duration(len(took))
	m := created{rate: float64(len(took)) / lasted.Seconds(), p50: percentile(took, 50), p99: percentile(took, 99),
		server: (after[0] - before[0]) / count}
	if a.judge != nil {
		m.judge = (after[1] - before[1]) / count
	}
	return m, nil
}
