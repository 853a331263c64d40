// SPDX-License-Identifier: Apache-2.0

// Command own answers admission reviews by Evenkeel's webhook, to be measured. It goes from the bytes of an
// AdmissionReview to those of the answer without a network, as hack/bench/gator/engine does by Gatekeeper's
// engine; with --serve it answers over TLS by Evenkeel's server, and with --known it says whole verdicts. The
// policies are what migrate makes of ConstraintTemplates and constraints.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime/pprof"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/hack/bench/own/internal/rules"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/webhook/review"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

func main() {
	file := flag.String("rules", "", "ConstraintTemplates and constraints")
	reviews := flag.String("reviews", "", "the AdmissionReviews to answer, one a line")
	known := flag.String("known", "", "with --reviews, the objects of the cluster: prints verdicts whole")
	limit := flag.Duration("time", 0, "print what a review takes, measured for this long")
	profile := flag.String("profile", "", "where the processors' profile of the measurement is written")
	engine := flag.String("engine", "compiled", "compiled or topdown")
	allocations := flag.Bool("allocations", false, "print how many allocations a review takes")
	decoded := flag.Bool("decoded", false, "with --time, measure the judging alone, of requests that are decoded")
	port := flag.Int("serve", 0, "serve the webhook over TLS at this port of the loopback address")
	certificates := flag.String("certificates", "", "with --serve, the directory of tls.crt and tls.key")
	flag.Parse()
	if *profile != "" {
		file, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "own:", err)
			os.Exit(2)
		}
		defer pprof.StopCPUProfile()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	do := func() error {
		if *known != "" {
			return tell(ctx, *file, *reviews, *known, *engine)
		}
		return run(ctx, *file, *reviews, *engine,
			asked{allocations: *allocations, decoded: *decoded, limit: *limit})
	}
	if *port != 0 {
		do = func() error { return serve(ctx, *file, *engine, *port, *certificates) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "own:", err)
		os.Exit(2)
	}
}

// asked is what is to be measured: the verdicts are printed where nothing is.
type asked struct {
	allocations, decoded bool
	limit                time.Duration
}

func run(ctx context.Context, file, reviews string, engine string, ask asked) error {
	snapshot, err := policies(ctx, file, engine)
	if err != nil {
		return err
	}
	bodies, err := lines(reviews)
	if err != nil {
		return err
	}
	var answer any
	switch {
	case ask.allocations:
		answer, err = allocations(snapshot, bodies)
	case ask.limit > 0 && ask.decoded:
		answer, err = measureDecoded(ctx, snapshot, bodies, ask.limit)
	case ask.limit > 0:
		answer, err = measure(snapshot, bodies, ask.limit)
	default:
		answer, err = verdicts(snapshot, bodies)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

// policies are those that the rules become, compiled; none without a file of rules.
func policies(ctx context.Context, file string, engine string) (*catalog.Snapshot, error) {
	if file == "" {
		return catalog.New(catalog.Options{}).Snapshot(), nil
	}
	templates, definitions, err := rules.Read(ctx, file)
	if err != nil {
		return nil, err
	}
	opts := catalog.Options{TimeLimit: 5 * time.Second}
	if engine == "topdown" {
		opts.Engine = rego.Topdown
	}
	c := catalog.New(opts)
	for _, t := range templates {
		if err := c.SetTemplate(t); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	for _, p := range definitions {
		if err := c.Set(p); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return c.Snapshot(), nil
}

// handler is the webhook's endpoint of the policies, which judge as judge does, in a cluster that has every
// namespace.
func handler(judge review.Judge) (http.Handler, error) { return handlerIn(namespaces{}, judge) }

// handlerIn is the same in a cluster of some namespaces.
func handlerIn(known review.Namespaces, judge review.Judge) (http.Handler, error) {
	metrics, err := serving.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		return nil, err
	}
	counts, err := review.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		return nil, err
	}
	return &review.Handler{
		Base: serving.Base{Reviews: serving.NewReader(1 << 30), Metrics: metrics,
			Clock: clock.RealClock{}, Log: logr.Discard()},
		Class:      v1alpha1.FailurePolicyIgnore, // that of Gatekeeper's webhook
		Judge:      func() review.Judge { return judge },
		Namespaces: known,
		Verdicts:   counts,
	}, nil
}

// namespaces knows every namespace, as a cache of them does.
type namespaces struct{}

func (namespaces) Get(_ context.Context, name string) (map[string]any, error) {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}, nil
}
