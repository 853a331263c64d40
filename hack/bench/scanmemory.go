// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/evenkeel/hack/bench/internal/apiserver"
)

// changedPolicy is the one that is changed, and how: as a merge patch.
const (
	changedPolicy = "podports"
	policyChange  = `{"spec":{"parameters":{"exemptImages":["registry.example.com/platform/*"]}}}`
)

// benchMemory measures what a scan of many Pods takes of the memory, and what the change of one policy takes.
func benchMemory(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "evenkeel-memory-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	in := func(name string) string { return filepath.Join(work, name) }
	s, rules, err := buildScanner(ctx, in)
	if err != nil {
		return err
	}
	size, err := writePages(in("page"), replicas, 1)
	if err != nil {
		return err
	}
	var reports []*scanReport
	for _, every := range []int{100, 1} {
		report, err := s.scan(ctx, o.pods, every, "--changed", changedPolicy, "--change", policyChange)
		if err != nil {
			return err
		}
		fmt.Printf("each of %d violates: at most %d MB, then %d MB\n", every, report.First.Most>>20,
			report.First.Settled>>20)
		reports = append(reports, report)
	}
	text := fmt.Sprintf("%d Pods of %d bytes, %d rules that match a Pod; one run; %s with %d processors, %s.\n\n%s",
		o.pods, size, rules, processor(), runtime.NumCPU(), runtime.Version(), memoryTable(o.pods, reports))
	fmt.Print("\n", text)
	if o.table == "" {
		return nil
	}
	return replaceTable(o.table, "bench-memory", text)
}

// memoryTable is the figures in Markdown, of Pods of which few violate, and of Pods that all do.
func memoryTable(pods int, reports []*scanReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| | 1 %% of the Pods violate %d rules | every Pod violates %d rules |\n|---|---|---|\n",
		rulesBroken, rulesBroken)
	row := func(what string, of func(r *scanReport) string) {
		fmt.Fprintf(&b, "| %s |", what)
		for _, r := range reports {
			fmt.Fprintf(&b, " %s |", of(r))
		}
		b.WriteByte('\n')
	}
	for _, pass := range []struct {
		name string
		of   func(r *scanReport) *passFigures
	}{
		{"first sync", func(r *scanReport) *passFigures { return &r.First }},
		{"a policy is changed", func(r *scanReport) *passFigures { return &r.Change }},
	} {
		row(pass.name+": most resident", func(r *scanReport) string { return megabytes(pass.of(r).Most) })
		row(pass.name+": resident afterwards", func(r *scanReport) string { return megabytes(pass.of(r).Settled) })
		row(pass.name+": heap in use afterwards", func(r *scanReport) string { return megabytes(pass.of(r).Live) })
		row(pass.name+": time", func(r *scanReport) string { return fmt.Sprintf("%.0f s", pass.of(r).Time.Seconds()) })
		row(pass.name+": CPU", func(r *scanReport) string {
			f := pass.of(r)
			return fmt.Sprintf("%.0f s, %.2f ms a Pod", f.CPU.Seconds(), f.CPU.Seconds()*1000/float64(pods))
		})
		row(pass.name+": asked of the API server", func(r *scanReport) string { return asked(pass.of(r)) })
	}
	return b.String()
}

func megabytes(bytes int64) string { return fmt.Sprintf("%d MB", bytes>>20) }

// asked says what was asked of the API server: how often, and how much it sent. What goes on from before isn't among
// it.
func asked(f *passFigures) string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(f.Asked)) {
		u := f.Asked[what]
		if u.Requests > 0 {
			all = append(all, fmt.Sprintf("%s: %d, %.1f MB", what, u.Requests, float64(u.Bytes)/(1<<20)))
		}
	}
	return strings.Join(all, "; ")
}

// address is where a server of Pods is reached: what the process that serves prints once it does.
type address struct {
	URL string `json:"url"`
	// CA is the authority of its certificate, in PEM.
	CA string `json:"ca"`
}

// serve serves a cluster of Pods until standard input ends.
func serve(count, every int) error {
	pods, err := newClusterPods(count, every)
	if err != nil {
		return err
	}
	kinds := []apiserver.Kind{
		{Version: "v1", Kind: "Namespace", Resource: "namespaces", Objects: clusterNamespaces{}},
		{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true, Objects: pods},
		{Group: "events.k8s.io", Version: "v1", Kind: "Event", Resource: "events", Namespaced: true, Forgets: true},
	}
	for resource, kind := range map[string]string{"clusterregopolicies": "ClusterRegoPolicy",
		"regotemplates": "RegoTemplate", "waivers": "Waiver", "clusterwaivers": "ClusterWaiver",
		"policyoverrides": "PolicyOverride", "remediationstrategies": "RemediationStrategy"} {
		kinds = append(kinds, apiserver.Kind{Group: "evenkeel.dev", Version: "v1alpha1", Kind: kind,
			Resource: resource, Namespaced: kind == "Waiver"})
	}
	server := httptest.NewUnstartedServer(apiserver.New(kinds...))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.CloseClientConnections()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := json.NewEncoder(os.Stdout).Encode(address{server.URL, string(ca)}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// clusterNamespaces are those that the Pods live in.
type clusterNamespaces struct{}

// Len is how many there are.
func (clusterNamespaces) Len() int { return scanNamespaces }

// Append appends the nth one.
func (clusterNamespaces) Append(to []byte, n int) []byte {
	return fmt.Appendf(to, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"pay-%02d",`+
		`"uid":"1f0e2d3c-0000-4000-8000-%012d","resourceVersion":"%d","labels":{"kubernetes.io/metadata.name":`+
		`"pay-%02d"}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`, n, n, n+1, n)
}

// startServer runs this program once more, to serve a cluster of Pods. stop ends it.
func startServer(ctx context.Context, count, every int) (raw []byte, stop func() error, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, program, "--serve", strconv.Itoa(count), "--every", strconv.Itoa(every))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() error { return errors.Join(in.Close(), cmd.Wait()) }
	raw, err = bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("the server of Pods says nothing: %w", err), stop())
	}
	return raw, stop, nil
}
