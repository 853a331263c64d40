// SPDX-License-Identifier: Apache-2.0

// Package scanning runs the manager's scan against the benchmark's API server, to measure it: the real scanner and
// status controllers, in a manager of controller-runtime. Start at Answer.
package scanning

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/hack/bench/internal/own"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/scan"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// Question is what Answer is asked.
type Question struct {
	// URL and CA are the API server and the file of the authority of its certificate.
	URL, CA string
	// Rules is a file of ConstraintTemplates and constraints, and Pods how many Pods there are.
	Rules string
	Pods  int
	// Change has the parameters of a policy changed after the first sync: its name, and the parameters in JSON.
	Change, Parameters string
	// Settle is how long after each pass the memory is read again.
	Settle time.Duration
}

// Report is what Answer returns.
type Report struct {
	// Violated is how many policies are violated, Violating how many Pods violate the policy that most do.
	Violated, Violating, Errors int
	Findings                    []Finding
	// First is the first sync, and Change the one after the change of a policy.
	First, Change Figures
}

// Finding is a policy's finding on one Pod: the first of so many messages.
type Finding struct {
	Object, Policy, Message string
	Violations              int
}

// Figures are the cost of one pass: the most memory that was resident, what was resident after Settle and a garbage
// collection, and what the heap then held, in bytes.
type Figures struct {
	CPU, Time               time.Duration
	Peak, Settled, HeapLive int64
}

// scanning is a scan that runs.
type scanning struct {
	Question
	policies []*v1alpha1.ClusterRegoPolicy
	catalog  *catalog.Catalog
	index    *index.Index
}

// Answer scans the cluster of an API server, and once more after the change of a policy.
func Answer(ctx context.Context, q Question) (*Report, error) {
	c, policies, err := own.Policies(ctx, q.Rules, "")
	if err != nil {
		return nil, err
	}
	scheme := kruntime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	ctrl.SetLogger(logr.Discard())
	config := &rest.Config{Host: q.URL, QPS: 100, Burst: 200, // the manager's defaults
		TLSClientConfig: rest.TLSClientConfig{CAFile: q.CA}}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme,
		Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	controllers := scan.NewControllers(scan.Options{Catalog: c, Clock: clock.RealClock{},
		Registerer: prometheus.NewRegistry()})
	if err := controllers.Register(mgr); err != nil {
		return nil, err
	}
	s := &scanning{q, policies, c, controllers.Index()}
	c.MarkComplete()
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	report, err := s.report(ctx)
	stop()
	return report, errors.Join(err, <-ended)
}

func (s *scanning) report(ctx context.Context) (report *Report, err error) {
	report = &Report{}
	if report.First, err = s.pass(ctx, func() error { return nil }, s.synced); err != nil {
		return nil, fmt.Errorf("wait for the first sync: %w", err)
	}
	for _, p := range s.policies {
		summary, _ := s.index.Summary(p.Name, 0)
		if summary.Violating > 0 {
			report.Violated++
		}
		report.Violating = max(report.Violating, summary.Violating)
		report.Errors += summary.Errors
		if s.Settle > 0 {
			continue // the memory is measured: what is found isn't kept
		}
		found, _, _ := s.index.Findings(p.Name)
		for i := range found {
			report.Findings = append(report.Findings, Finding{found[i].Namespace + "/" + found[i].Name, p.Name,
				found[i].Message, found[i].Violations})
		}
	}
	if s.Change == "" {
		return report, nil
	}
	before, _ := s.index.Summary(s.Change, 0)
	report.Change, err = s.pass(ctx, s.change, func() bool {
		now, _ := s.index.Summary(s.Change, 0)
		return now.Revision != before.Revision && s.synced()
	})
	return report, err
}

// change changes the parameters of a policy.
func (s *scanning) change() error {
	for _, p := range s.policies {
		if p.Name == s.Change {
			changed := p.DeepCopy()
			changed.Generation++
			changed.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(s.Parameters)}
			return s.catalog.Set(changed)
		}
	}
	return fmt.Errorf("there is no policy %s", s.Change)
}

// synced reports that all Pods are evaluated by all policies.
func (s *scanning) synced() bool {
	for _, p := range s.policies {
		summary, found := s.index.Summary(p.Name, 0)
		if !found || summary.State != v1alpha1.ScanComplete || summary.Scanned != s.Pods {
			return false
		}
	}
	return true
}

// pass measures from the beginning of a pass until it is done.
func (s *scanning) pass(ctx context.Context, begin func() error, done func() bool) (f Figures, err error) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak starts again
		return f, err
	}
	cpu, began := own.CPU(), time.Now()
	if err := begin(); err != nil {
		return f, err
	}
	if err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true,
		func(context.Context) (bool, error) { return done(), nil }); err != nil {
		return f, err
	}
	f.CPU, f.Time = own.CPU()-cpu, time.Since(began)
	if f.Peak, err = resident("VmHWM"); err != nil {
		return f, err
	}
	runtime.GC()
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	f.HeapLive = int64(heap.HeapAlloc)
	time.Sleep(s.Settle)
	f.Settled, err = resident("VmRSS")
	return f, err
}

// resident is a figure of this process's memory, in bytes.
func resident(figure string) (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), figure+":")
	line, _, _ := strings.Cut(rest, "kB")
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	return kilobytes * 1024, err
}
