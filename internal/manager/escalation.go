// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"evenkeel.dev/evenkeel/internal/escalate"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/wallclock"
)

// escalationOptions are the flags of the manager that concern alerts.
type escalationOptions struct {
	alertmanagers   []string
	bearerTokenFile string
	caFile          string
	cluster         string
	owner           string
	dashboard       string
	interval        time.Duration
	docsURL         string
}

func (o *escalationOptions) AddFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.alertmanagers, "alertmanager-url", nil, "an Alertmanager to send alerts to, for example "+
		"http://alertmanager.monitoring:9093; give it once for every peer (default: none)")
	f.StringVar(&o.bearerTokenFile, "alertmanager-bearer-token-file", "",
		"a file with the token to reach the Alertmanagers with; re-read on every request")
	f.StringVar(&o.caFile, "alertmanager-ca-file", "",
		"a PEM file of the authorities that sign the Alertmanagers' certificates; re-read on every request "+
			"(default: the system's)")
	f.StringVar(&o.cluster, "cluster-name", "",
		"this cluster's name, the label cluster of every alert; needed with --alertmanager-url")
	f.StringVar(&o.owner, "alert-owner", "",
		"the label owner of alerts that concern no single policy, as the global circuit breaker's")
	f.StringVar(&o.dashboard, "dashboard-url", "", "the link dashboard_url of alerts, a template with .Name, "+
		".Severity, .Cluster, .Namespace, .Policy, .Owner and .Scope, for example "+
		"https://grafana.example.com/d/evenkeel?var-policy={{.Policy}}")
	f.StringVar(&o.docsURL, "docs-url", policy.DefaultDocsURL, "where you publish Evenkeel's documentation: the links "+
		"to runbooks in refusals and alerts lead there, those of policies that name theirs below the default too")
	f.DurationVar(&o.interval, "alert-interval", time.Minute,
		"how often the alerts that fire are sent; one that isn't sent for four intervals ends")
}

func (o *escalationOptions) Validate() error {
	var errs []error
	for _, address := range o.alertmanagers {
		if !webURL(address) {
			errs = append(errs, fmt.Errorf(
				"--alertmanager-url %q must be of the form http://HOST:PORT or https://HOST:PORT", address))
		}
	}
	if len(o.alertmanagers) > 0 && o.cluster == "" {
		errs = append(errs, errors.New("--cluster-name must be set with --alertmanager-url: by it a controller knows "+
			"its own alerts from those of other clusters"))
	}
	if _, err := escalate.Dashboard(o.dashboard); err != nil {
		errs = append(errs, fmt.Errorf("--dashboard-url: %w", err))
	}
	if _, err := policy.NewDocs(o.docsURL); err != nil {
		errs = append(errs, fmt.Errorf("--docs-url: %w", err))
	}
	if o.interval < time.Second {
		errs = append(errs, fmt.Errorf("--alert-interval %s must be at least 1s", o.interval))
	}
	return errors.Join(append(errs, readable("--alertmanager-bearer-token-file", o.bearerTokenFile),
		readable("--alertmanager-ca-file", o.caFile))...)
}

func webURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// readable says why the file that a flag names, if any, can't be read.
func readable(flag, path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return file.Close()
}

// config is what the flags mean. Call Validate first.
func (o *escalationOptions) config(namespace string, metrics prometheus.Registerer) (escalate.Options, error) {
	dashboard, err := escalate.Dashboard(o.dashboard)
	docs, docsErr := policy.NewDocs(o.docsURL)
	return escalate.Options{
		AlertOptions: escalate.AlertOptions{Cluster: o.cluster, Namespace: namespace, Owner: o.owner,
			Dashboard: dashboard,
			Docs:      docs},
		Alertmanagers: o.alertmanagers, BearerTokenFile: o.bearerTokenFile, CAFile: o.caFile,
		Interval: o.interval, Clock: wallclock.New(), Metrics: metrics,
	}, errors.Join(err, docsErr)
}
