// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"evenkeel.dev/evenkeel/test/process"
)

// NewDaemon prepares one of the fetched programs (see cluster.Tool) without
// starting it; it ends with the spec, or with the suite. The files, by name, and
// the program's data get a folder of their own. args is asked for the flags, of
// the folder and of two free ports; the program answers at ready, a path on the
// first port, once it works.
func (r *Rig) NewDaemon(ctx context.Context, program, ready string, files map[string]string,
	args func(dir string, port, second int) []string) (daemon *process.Daemon, url string) {
	GinkgoHelper()
	path, err := r.Tool(ctx, program)
	Expect(err).NotTo(HaveOccurred())
	ports, err := process.FreePorts(2)
	Expect(err).NotTo(HaveOccurred())
	dir := filepath.Join(r.dir, fmt.Sprintf("%s-%d", program, r.numbered.Add(1)))
	Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	for name, text := range files {
		Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)).To(Succeed())
	}
	url = fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	daemon = process.NewDaemon(process.DaemonConfig{Name: program, Path: path, Args: args(dir, ports[0], ports[1]),
		Log: filepath.Join(dir, "log"), ReadyURL: url + ready})
	DeferCleanup(func() {
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Printf("The log of %s:\n%s\n", program, tail(daemon.Log(), 0, loggedLines))
		}
		Expect(daemon.Stop()).To(Succeed())
	})
	return daemon, url
}

// Prometheus is a real Prometheus.
type Prometheus struct {
	*process.Daemon
	// URL is where it is asked, the same after each start.
	URL string
}

// StartPrometheus starts a Prometheus with the given configuration file and
// waits until it is ready; it ends with the spec, or with the suite.
func (r *Rig) StartPrometheus(ctx context.Context, config string) *Prometheus {
	GinkgoHelper()
	daemon, url := r.NewDaemon(ctx, "prometheus", "/-/ready", map[string]string{"prometheus.yml": config},
		func(dir string, port, _ int) []string {
			return []string{
				"--config.file=" + filepath.Join(dir, "prometheus.yml"),
				"--storage.tsdb.path=" + filepath.Join(dir, "data"),
				fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port),
			}
		})
	Expect(daemon.Start(ctx)).To(Succeed())
	return &Prometheus{Daemon: daemon, URL: url}
}

// Series is how many series a query answers with now.
func (p *Prometheus) Series(ctx context.Context, query string) (int, error) {
	client, err := api.NewClient(api.Config{Address: p.URL})
	if err != nil {
		return 0, err
	}
	value, _, err := promv1.NewAPI(client).Query(ctx, query, time.Time{})
	if err != nil {
		return 0, fmt.Errorf("ask Prometheus: %w", err)
	}
	vector, ok := value.(model.Vector)
	if !ok {
		return 0, fmt.Errorf("%s answers with a %s", query, value.Type())
	}
	return len(vector), nil
}

// StartScraping starts a Prometheus that scrapes an Exporter five times a second.
func (r *Rig) StartScraping(ctx context.Context) (*Prometheus, *Exporter) {
	GinkgoHelper()
	exporter := &Exporter{}
	server := httptest.NewServer(exporter)
	DeferCleanup(server.Close)
	return r.StartPrometheus(ctx, fmt.Sprintf(scrapeConfig, strings.TrimPrefix(server.URL, "http://"))), exporter
}

const scrapeConfig = `global: {scrape_interval: 200ms, scrape_timeout: 200ms}
scrape_configs:
- job_name: spec
  static_configs: [{targets: [%q]}]
`

// Exporter serves metrics in Prometheus' text format.
type Exporter struct {
	mu   sync.Mutex
	page func() string
}

// Serve makes it serve what page gives at each scrape.
func (e *Exporter) Serve(page func() string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.page = page
}

// Set makes it serve the text.
func (e *Exporter) Set(text string) { e.Serve(func() string { return text }) }

// ServeHTTP serves the metrics; none before anything was set.
func (e *Exporter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	page := e.page
	e.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	if page != nil {
		_, _ = fmt.Fprint(w, page()) // a scraper that hangs up asks again
	}
}
