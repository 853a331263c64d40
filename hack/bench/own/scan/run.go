// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/pprof"
	"slices"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/hack/bench/own/internal/rules"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/scan"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// bench is a scan that runs.
type bench struct {
	options
	config   *rest.Config
	http     *http.Client
	policies []string
	catalog  *catalog.Catalog
	index    *index.Index
}

// run puts the policies on the server, scans, and changes a policy.
func run(ctx context.Context, o options) (*report, error) {
	b, err := newBench(o)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	direct, err := client.New(b.config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	if err := b.apply(ctx, direct); err != nil {
		return nil, err
	}
	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(b.config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	b.catalog = catalog.New(catalog.Options{})
	if err := catalog.NewController(b.catalog).Register(mgr); err != nil {
		return nil, err
	}
	scanning := scan.NewControllers(scan.Options{Catalog: b.catalog, Clock: clock.RealClock{},
		Registerer: prometheus.NewRegistry()})
	if err := scanning.Register(mgr); err != nil {
		return nil, err
	}
	b.index = scanning.Index()
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	out, err := b.measure(ctx, direct)
	stop()
	return out, errors.Join(err, <-ended)
}

func newBench(o options) (*bench, error) {
	var at struct{ URL, CA string }
	if err := json.Unmarshal([]byte(o.server), &at); err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	b := &bench{options: o, config: &rest.Config{Host: at.URL, QPS: 100, Burst: 200, // the manager's defaults
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte(at.CA)}}}
	var err error
	b.http, err = rest.HTTPClientFor(b.config)
	return b, err
}

// apply creates the templates and the policies.
func (b *bench) apply(ctx context.Context, direct client.Client) error {
	templates, policies, err := rules.Read(ctx, b.rules)
	if err != nil {
		return err
	}
	var objects []client.Object
	for _, t := range templates {
		objects = append(objects, t)
	}
	for _, p := range policies {
		p.SetDefaults()
		objects = append(objects, p)
		b.policies = append(b.policies, p.Name)
	}
	for _, o := range objects {
		if err := direct.Create(ctx, o); err != nil {
			return fmt.Errorf("create %s: %w", o.GetName(), err)
		}
	}
	if b.changed != "" && !slices.Contains(b.policies, b.changed) {
		return fmt.Errorf("no policy is called %s; there are %v", b.changed, b.policies)
	}
	return nil
}

// measure waits for the first sync, and then for that of a changed policy.
func (b *bench) measure(ctx context.Context, direct client.Client) (*report, error) {
	out := &report{}
	if err := poll(ctx, b.catalog.Complete); err != nil {
		return nil, fmt.Errorf("the policies don't come into force: %w", err)
	}
	began, err := b.begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.first(ctx); err != nil {
		return nil, fmt.Errorf("the first sync doesn't end: %w", err)
	}
	if out.First, err = b.end(ctx, began); err != nil {
		return nil, err
	}
	b.count(out)
	if b.heap != "" {
		if err := writeHeap(b.heap); err != nil {
			return nil, err
		}
	}
	if b.changed == "" {
		return out, nil
	}
	out.Change, err = b.afterChange(ctx, direct)
	return out, err
}

// afterChange changes the policy, and waits until all Pods are judged by it.
func (b *bench) afterChange(ctx context.Context, direct client.Client) (figures, error) {
	before, _ := b.index.Summary(b.changed, 0)
	began, err := b.begin(ctx)
	if err != nil {
		return figures{}, err
	}
	changed := &v1alpha1.ClusterRegoPolicy{}
	changed.Name = b.changed
	if err := direct.Patch(ctx, changed, client.RawPatch(types.MergePatchType, []byte(b.change))); err != nil {
		return figures{}, fmt.Errorf("change %s: %w", b.changed, err)
	}
	err = poll(ctx, func() bool {
		now, _ := b.index.Summary(b.changed, 0)
		return now.Revision != before.Revision && b.synced()
	})
	if err != nil {
		return figures{}, fmt.Errorf("the scan by the changed policy doesn't end: %w", err)
	}
	return b.end(ctx, began)
}

// first waits for the first sync, and profiles it where that is asked for.
func (b *bench) first(ctx context.Context) error {
	if b.profile == "" {
		return poll(ctx, b.synced)
	}
	file, err := os.Create(b.profile)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	err = poll(ctx, b.synced)
	pprof.StopCPUProfile()
	return errors.Join(err, file.Close())
}

// synced says that all Pods are judged by all policies.
func (b *bench) synced() bool {
	for _, name := range b.policies {
		s, ok := b.index.Summary(name, 0)
		if !ok || s.State != v1alpha1.ScanComplete || s.Scanned != b.pods {
			return false
		}
	}
	return true
}

// count says what is found.
func (b *bench) count(out *report) {
	for _, name := range b.policies {
		s, _ := b.index.Summary(name, 0)
		if s.Violating > 0 {
			out.Violated++
		}
		out.Violating, out.Errors = max(out.Violating, s.Violating), out.Errors+s.Errors
		if !b.findings {
			continue
		}
		found, _, _ := b.index.Findings(name)
		for i := range found {
			out.Findings = append(out.Findings, finding{found[i].Namespace + "/" + found[i].Name, found[i].Message,
				found[i].Violations})
		}
	}
}

// asked is what was asked of the server until now.
func (b *bench) asked(ctx context.Context) (map[string]use, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.config.Host+"/use", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := b.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	var asked map[string]use
	return asked, json.Unmarshal(text, &asked)
}

func writeHeap(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.WriteHeapProfile(file), file.Close())
}
