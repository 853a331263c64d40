// SPDX-License-Identifier: Apache-2.0

// Command bench compares Evenkeel with its peers: make bench. Its arguments are the benchmarks to run, all by default:
//
//   - check: evenkeel check beside conftest and gator test, as whole commands;
//   - engines: an AdmissionReview evaluated by Evenkeel's webhook and by Gatekeeper's engine;
//   - webhook: Evenkeel's webhook over TLS beside one that admits everything;
//   - scan: the scan of a cluster of Pods beside Gatekeeper's audit;
//   - memory: the memory that the scan of a large cluster takes.
//
// Before any time is taken, all contestants must find the same violations. A missed bound of a required figure is an
// error.
//
// The folders conftest and gator pin the peers. What runs Evenkeel's code is this program in a process of its own, as a
// worker.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"evenkeel.dev/evenkeel/hack/bench/internal/own"
	"evenkeel.dev/evenkeel/hack/bench/internal/scanning"
)

// options are the flags.
type options struct {
	objects, runs, pods int
	seed                uint64
	cache, table        string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2) // 1 reports violations, for the tools that are run
	}
}

func run(ctx context.Context) error {
	if len(os.Args) == 4 && os.Args[1] == "worker" {
		return work(ctx, os.Args[2], []byte(os.Args[3]))
	}
	var o options
	flag.IntVar(&o.objects, "objects", 1000, "how many manifests are checked")
	flag.IntVar(&o.runs, "runs", 7, "how many rounds are measured")
	flag.IntVar(&o.pods, "pods", 150_000, "how many Pods the cluster of the memory benchmark has")
	flag.Uint64Var(&o.seed, "seed", 1, "which reviews are generated")
	flag.StringVar(&o.cache, "cache", defaultCache(), "where the peers are kept once they are built")
	flag.StringVar(&o.table, "table", "", "a Markdown file whose tables are replaced")
	flag.Parse()
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	if _, err := os.Stat("gator"); err != nil {
		return errors.New("run it in hack/bench, or by make bench")
	}
	temporary, err := os.MkdirTemp("", "evenkeel-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	b := &bench{o, here, temporary}
	return b.run(ctx, flag.Args())
}

// run runs some of the benchmarks, all if none is named. One that fails doesn't keep the others from being run.
func (b *bench) run(ctx context.Context, names []string) error {
	benchmarks := map[string]func(context.Context) error{"check": b.check, "engines": b.engines, "webhook": b.webhook,
		"scan": b.scan, "memory": b.memory}
	if len(names) == 0 {
		names = []string{"check", "engines", "webhook", "scan", "memory"}
	}
	var failed error
	for _, name := range names {
		benchmark := benchmarks[name]
		if benchmark == nil {
			return fmt.Errorf("there is no benchmark %q: see go doc ./hack/bench", name)
		}
		if err := benchmark(ctx); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func defaultCache() string {
	if dir := os.Getenv("EVENKEEL_CACHE"); dir != "" {
		return filepath.Join(dir, "bench")
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "evenkeel", "bench")
}

// work does what a worker is asked.
func work(ctx context.Context, worker string, question []byte) error {
	switch worker {
	case "judge":
		return answer(ctx, question, own.Answer)
	case "scan":
		return answer(ctx, question, scanning.Answer)
	case "webhook":
		return answer(ctx, question, served(own.Serve))
	case "noop":
		return answer(ctx, question, served(own.ServeNoop))
	case "apiserver":
		return answer(ctx, question, served(serveCluster))
	default:
		return fmt.Errorf("there is no worker %q", worker)
	}
}

// answer prints the answer to a question.
func answer[Q, A any](ctx context.Context, raw []byte, to func(context.Context, Q) (A, error)) error {
	var question Q
	if err := json.Unmarshal(raw, &question); err != nil {
		return err
	}
	result, err := to(ctx, question)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func served[Q any](serve func(context.Context, Q) error) func(context.Context, Q) (any, error) {
	return func(ctx context.Context, question Q) (any, error) { return nil, serve(ctx, question) }
}
