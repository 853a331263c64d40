// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

// options are the flags.
type options struct {
	objects, runs int
	cache, table  string
}

func main() {
	var o options
	flag.IntVar(&o.objects, "objects", 1000, "how many manifests")
	flag.IntVar(&o.runs, "runs", 7, "how often each command is timed")
	flag.StringVar(&o.cache, "cache", defaultCache(), "where built programs are kept")
	flag.StringVar(&o.table, "table", "", "a Markdown file whose table is replaced by the figures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
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

func bench(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "evenkeel-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	manifests := filepath.Join(work, "manifests")
	if err := writeManifests(manifests, o.objects); err != nil {
		return err
	}
	tools, err := build(ctx, o.cache, work, manifests)
	if err != nil {
		return err
	}
	found, err := agree(ctx, tools)
	if err != nil {
		return err
	}
	fmt.Printf("%d manifests; each tool finds the same %d violations\n", o.objects, found)
	results, err := measure(ctx, tools, o.runs)
	if err != nil {
		return err
	}
	text := table(results, o.objects, found)
	fmt.Print("\n", text)
	if o.table == "" {
		return nil
	}
	return replaceTable(o.table, text)
}
