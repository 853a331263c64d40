// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/hack/bench/internal/apiserver"
	"evenkeel.dev/evenkeel/hack/bench/internal/scanning"
)

const (
	// scanned is how many Pods are scanned to time it, and paged how many the lists have that Gatekeeper audits.
	scanned, paged = 20_000, 40
	// compared is how many Pods must have the same verdicts before any time is taken; every third violates.
	compared, comparedEvery = 300, 3
	// smallCluster is how many Pods the cluster has whose memory is the baseline.
	smallCluster = 1000
	// changedPolicy is the policy that is changed, and changedParameters what its parameters become.
	changedPolicy     = "podports"
	changedParameters = `{"exemptImages":["registry.example.com/platform/*"]}`
)

// clusterServer is a question to the worker that serves a cluster of Pods, of which each every-th violates ten rules;
// 0 for none.
type clusterServer struct {
	Pods, Every  int
	Port         int
	Certificates string
}

// serveCluster serves until ctx ends.
func serveCluster(ctx context.Context, c clusterServer) error {
	pods, err := newClusterPods(c.Pods, c.Every)
	if err != nil {
		return err
	}
	kinds := []apiserver.Kind{
		{Version: "v1", Kind: "Namespace", Resource: "namespaces", Objects: namespaces{}},
		{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true, Objects: pods},
		{Group: "events.k8s.io", Version: "v1", Kind: "Event", Resource: "events", Namespaced: true},
	}
	for resource, kind := range map[string]string{"clusterregopolicies": "ClusterRegoPolicy",
		"regotemplates": "RegoTemplate", "waivers": "Waiver", "clusterwaivers": "ClusterWaiver",
		"policyoverrides": "PolicyOverride", "remediationstrategies": "RemediationStrategy"} {
		kinds = append(kinds, apiserver.Kind{Group: "evenkeel.dev", Version: "v1alpha1", Kind: kind,
			Resource: resource, Namespaced: kind == "Waiver"})
	}
	server := &http.Server{Addr: fmt.Sprintf("localhost:%d", c.Port), Handler: apiserver.New(kinds...),
		ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	err = server.ListenAndServeTLS(filepath.Join(c.Certificates, "tls.crt"), filepath.Join(c.Certificates, "tls.key"))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// scanCluster has a cluster of Pods served and scanned.
func (b *bench) scanCluster(ctx context.Context, pods, every int, q scanning.Question) (*scanning.Report, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server, err := worker("apiserver")
	if err != nil {
		return nil, err
	}
	server.env = nil
	s, err := b.serve(ctx, server, func(at serving) any {
		return clusterServer{pods, every, at.Port, at.Certificates}
	})
	if err != nil {
		return nil, err
	}
	scan, err := worker("scan")
	if err != nil {
		return nil, err
	}
	q.URL, q.CA, q.Rules, q.Pods = s.url, b.in("tls.crt"), b.in("rules.yaml"), pods
	report := &scanning.Report{}
	if err := scan.ask(ctx, q, report); err != nil {
		return nil, err
	}
	violating, violated := 0, 0
	if every > 0 {
		violating, violated = pods/every, rulesBroken
	}
	if report.Violating != violating || report.Violated != violated || report.Errors > 0 {
		return nil, fmt.Errorf("%d Pods violate %d rules, and %d can't be evaluated, want %d, %d and none",
			report.Violating, report.Violated, report.Errors, violating, violated)
	}
	return report, nil
}

// scan measures the CPU time of a Pod in the scan beside Gatekeeper's audit, by the same rules: from the bytes of a
// list to the verdicts.
func (b *bench) scan(ctx context.Context) error {
	rules, err := writePodRules(b.in("rules.yaml"))
	if err != nil {
		return err
	}
	engine, err := b.gatekeeper(ctx)
	if err != nil {
		return err
	}
	violations, err := b.auditedAlike(ctx, engine)
	if err != nil {
		return err
	}
	size, err := writeList(b.in("clean"), paged, 0)
	if err != nil {
		return err
	}
	if _, err := writeList(b.in("violating"), paged, 1); err != nil {
		return err
	}
	c := contest{name: "scan", metrics: []metric{{"CPU, a Pod without violations", "ms"},
		{fmt.Sprintf("CPU, a Pod that violates %d rules", rulesBroken), "ms"}}}
	c.contestants = []contestant{
		{"Evenkeel's scan", func(ctx context.Context, _ int) (measured []float64, err error) {
			for _, every := range []int{0, 1} {
				report, err := b.scanCluster(ctx, scanned, every, scanning.Question{})
				if err != nil {
					return nil, err
				}
				measured = append(measured, report.First.CPU.Seconds()*1000/scanned)
			}
			return measured, nil
		}},
		{"Gatekeeper " + gatorVersion + "'s audit", func(ctx context.Context, _ int) (measured []float64, err error) {
			for _, file := range []string{"clean", "violating"} {
				var took time.Duration
				if err := engine.ask(ctx, auditQuestion{b.in("rules.yaml"), b.in(file), timing}, &took); err != nil {
					return nil, err
				}
				measured = append(measured, took.Seconds()*1000)
			}
			return measured, nil
		}},
	}
	if err := c.run(ctx, b.runs); err != nil {
		return err
	}
	return c.report(b.table, fmt.Sprintf("%d rules that match a Pod, Pods of %d bytes; on %d of them both find the "+
		"same %d violations.", rules, size, compared, violations),
		required{"times less than Gatekeeper, a Pod without violations", c.ratios(0, 1), "", 18, true},
		required{"times less than Gatekeeper, a Pod that violates rules", c.ratios(1, 1), "", 18, true})
}

// auditQuestion is what Gatekeeper's engine is asked of a list.
type auditQuestion struct {
	Rules, List string
	Time        time.Duration
}

// audited is a finding of Gatekeeper's audit: one violation of a constraint by an object.
type audited struct{ Object, Constraint, Message string }

// auditedAlike compares the findings of the scan with the audit's: each is a constraint's on the same Pod, with as many
// violations, and its message is that of one of them. It returns how many violations there are.
func (b *bench) auditedAlike(ctx context.Context, engine program) (violations int, err error) {
	if _, err := writeList(b.in("compared"), compared, comparedEvery); err != nil {
		return 0, err
	}
	var theirs []audited
	if err := engine.ask(ctx, auditQuestion{Rules: b.in("rules.yaml"), List: b.in("compared")}, &theirs); err != nil {
		return 0, err
	}
	messages := map[[2]string][]string{}
	for _, a := range theirs {
		key := [2]string{strings.TrimPrefix(a.Object, "Pod "), a.Constraint}
		messages[key] = append(messages[key], a.Message)
	}
	report, err := b.scanCluster(ctx, compared, comparedEvery, scanning.Question{})
	if err != nil {
		return 0, err
	}
	for _, f := range report.Findings {
		key := [2]string{f.Object, f.Policy}
		if len(messages[key]) != f.Violations || !slices.Contains(messages[key], f.Message) {
			return 0, fmt.Errorf("the scan finds of %s %d times: %s; Gatekeeper: %q", key, f.Violations, f.Message,
				messages[key])
		}
		violations += f.Violations
		delete(messages, key)
	}
	if len(messages) > 0 {
		return 0, fmt.Errorf("found by Gatekeeper alone: %q", messages)
	}
	return violations, nil
}

// writeList writes a list of Pods. It returns the average size of a Pod, in bytes.
func writeList(file string, count, every int) (int, error) {
	pods, err := newClusterPods(count, every)
	if err != nil {
		return 0, err
	}
	text := []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`)
	for n := range count {
		if n > 0 {
			text = append(text, ',')
		}
		text = pods.Append(text, n)
	}
	text = append(text, "]}"...)
	if !json.Valid(text) {
		return 0, errors.New("a list of Pods isn't valid JSON")
	}
	return len(text) / count, os.WriteFile(file, text, 0o600)
}

// memory measures the memory that the scan of a large cluster takes, and the change of one policy, beside a small
// cluster's.
func (b *bench) memory(ctx context.Context) error {
	rules, err := writePodRules(b.in("rules.yaml"))
	if err != nil {
		return err
	}
	size, err := writeList(b.in("list"), replicas, 1)
	if err != nil {
		return err
	}
	c := contest{name: "memory", metrics: []metric{{"first sync: peak resident", "MB"}, {"resident afterwards", "MB"},
		{"heap afterwards", "MB"}, {"CPU of a Pod", "ms"}, {"a policy is changed: peak resident", "MB"}}}
	for _, cluster := range []struct {
		name        string
		pods, every int
	}{
		{fmt.Sprintf("%d Pods, 1 %% violate %d rules", smallCluster, rulesBroken), smallCluster, 100},
		{fmt.Sprintf("%d Pods, 1 %% violate %d rules", b.pods, rulesBroken), b.pods, 100},
		{fmt.Sprintf("%d Pods, all violate %d rules", b.pods, rulesBroken), b.pods, 1},
	} {
		measure := func(ctx context.Context, _ int) ([]float64, error) {
			report, err := b.scanCluster(ctx, cluster.pods, cluster.every, scanning.Question{Change: changedPolicy,
				Parameters: changedParameters, Settle: 12 * time.Second})
			if err != nil {
				return nil, err
			}
			const mega = 1 << 20
			first := report.First
			return []float64{float64(first.Peak) / mega, float64(first.Settled) / mega, float64(first.HeapLive) / mega,
				first.CPU.Seconds() * 1000 / float64(cluster.pods), float64(report.Change.Peak) / mega}, nil
		}
		c.contestants = append(c.contestants, contestant{cluster.name, measure})
	}
	// A round takes minutes.
	if err := c.run(ctx, min(b.runs, 3)); err != nil {
		return err
	}
	return c.report(b.table, fmt.Sprintf("Pods of %d bytes, %d rules that match a Pod.", size, rules),
		required{fmt.Sprintf("peak resident of the first sync of %d Pods", b.pods), c.values[1][0], "MB", 250, false})
}
