// SPDX-License-Identifier: Apache-2.0

// Command bench compares Evenkeel with its peers.
//
// It times evenkeel check beside conftest and gator test: the same manifests, the same four rules written for each,
// whole commands, one after the other on the same machine. Before any time is taken the three must find the same
// violations in the same objects. With --templates it does so beside gator test alone, by ConstraintTemplates (pods).
//
// With --engines it times admission instead, from the bytes of an AdmissionReview to the decision: Evenkeel's webhook
// (own) beside Gatekeeper's engine (gator/engine), by the same rules (pods), once they find the same in hundreds of
// reviews.
//
// With --scan it times the scan of a cluster of Pods (own/scan) beside Gatekeeper's audit (gator/engine), and with
// --memory it measures what the scan of a large one takes. The API server (internal/apiserver) is this program, run
// once more with --serve.
//
// With --webhook it times Evenkeel's webhook over TLS beside one of controller-runtime that admits everything
// (own/noop), and with --apiserver a real API server that has Evenkeel's manager, Gatekeeper's, Kyverno's or its own
// ValidatingAdmissionPolicies judge Pods.
//
// With --compare it generates objects instead, and has Gatekeeper's engine and evenkeel check judge them by the same
// ConstraintTemplates and constraints (estate/rules.yaml): all must be the same, word for word.
//
// The folders conftest, gator and kyverno pin the programs.
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"text/template"
)

// options are the flags.
type options struct {
	objects, runs int
	seed          uint64
	compare       bool
	engines       bool
	templates     bool
	scan, memory  bool
	pods          int
	serve, every  int
	webhook       bool
	apiServer     bool
	cache, table  string
}

func main() {
	var o options
	flag.IntVar(&o.objects, "objects", 1000, "how many manifests")
	flag.IntVar(&o.runs, "runs", 7, "how often each command is timed")
	flag.BoolVar(&o.compare, "compare", false, "compare what Gatekeeper and evenkeel find of generated objects, "+
		"instead of timing them")
	flag.BoolVar(&o.engines, "engines", false, "time admission by Evenkeel and by Gatekeeper's engine, not check")
	flag.BoolVar(&o.templates, "templates", false, "time check beside gator test by ConstraintTemplates, over Pods")
	flag.BoolVar(&o.scan, "scan", false, "time the scan beside Gatekeeper's audit, not check")
	flag.BoolVar(&o.memory, "memory", false, "measure the memory of the scan of a large cluster, not check")
	flag.IntVar(&o.pods, "pods", 150_000, "with --memory, how many Pods")
	flag.IntVar(&o.serve, "serve", 0, "serve a cluster of so many Pods to a scan, until standard input ends")
	flag.IntVar(&o.every, "every", 100, "with --serve, each so many of the Pods violates ten rules; 0 for none")
	flag.BoolVar(&o.webhook, "webhook", false, "time Evenkeel's webhook and one that admits everything, not check")
	flag.BoolVar(&o.apiServer, "apiserver", false, "time the API server with those who judge its requests, not check")
	flag.Uint64Var(&o.seed, "seed", 1, "which objects are generated for --compare")
	flag.StringVar(&o.cache, "cache", defaultCache(), "where built programs are kept")
	flag.StringVar(&o.table, "table", "", "a Markdown file whose table is replaced by the figures")
	flag.Parse()
	if o.serve > 0 {
		end(serve(o.serve, o.every))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	do := bench
	switch {
	case o.compare:
		do = compare
	case o.engines:
		do = benchEngines
	case o.templates:
		do = benchTemplates
	case o.scan:
		do = benchScan
	case o.memory:
		do = benchMemory
	case o.webhook:
		do = benchWebhook
	case o.apiServer:
		do = benchAPIServer
	}
	end(do(ctx, o))
}

func end(err error) {
	if err != nil {
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
	text := table(results, fmt.Sprintf("%d manifests, 4 rules, %d violations, found alike by all three", o.objects,
		found))
	fmt.Print("\n", text)
	if o.table == "" {
		return nil
	}
	return replaceTable(o.table, "bench-check", text)
}

//go:embed templates
var templates embed.FS

// object is what a template needs of one manifest.
type object struct {
	Kind, Name, Team, Tag           string
	Minor, User, Replicas           int
	Limits, Privileged, HostNetwork bool
}

// mix is what ten objects of an application are.
func mix() []string {
	return []string{
		"Deployment", "Service", "ConfigMap", "Deployment", "Service",
		"StatefulSet", "ConfigMap", "CronJob", "Deployment", "Pod",
	}
}

// objectOf is the n-th object. Some violate a rule: the same ones in each run.
func objectOf(n int) object {
	kinds := mix()
	o := object{
		Kind:     kinds[n%len(kinds)],
		Name:     fmt.Sprintf("service-%d", n),
		Team:     fmt.Sprintf("team-%d", n/len(kinds)%20),
		Minor:    n % 60,
		User:     1000 + n%500,
		Replicas: 1 + n%5,
		Limits:   n%7 != 0,
	}
	o.Tag = fmt.Sprintf("1.%d.0", o.Minor)
	if n%11 == 0 {
		o.Tag = "latest"
	}
	o.Privileged = n%13 == 0
	o.HostNetwork = n%17 == 0
	return o
}

// writeManifests writes one file for each object, ten to a folder.
func writeManifests(dir string, count int) error {
	parsed, err := parseTemplates()
	if err != nil {
		return err
	}
	for n := range count {
		o := objectOf(n)
		text, err := render(parsed, o.Kind, o)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, fmt.Sprintf("app-%03d", n/len(mix())),
			fmt.Sprintf("%s-%s.yaml", o.Name, strings.ToLower(o.Kind)))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func parseTemplates() (*template.Template, error) {
	t := template.New("")
	t.Funcs(template.FuncMap{
		"indent": func(by int, text string) string {
			return strings.ReplaceAll(strings.Repeat(" ", by)+text, "\n", "\n"+strings.Repeat(" ", by))
		},
		"include": func(name string, o object) (string, error) { return render(t, name, o) },
	})
	return t.ParseFS(templates, "templates/*.tmpl")
}

func render(t *template.Template, name string, o object) (string, error) {
	var text strings.Builder
	err := t.ExecuteTemplate(&text, name, o)
	return text.String(), err
}
