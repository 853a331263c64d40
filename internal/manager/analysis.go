// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"evenkeel.dev/evenkeel/internal/analysis"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/wallclock"
)

// analysisOptions are the flags of the manager that concern metric analysis.
type analysisOptions struct {
	url             string
	bearerTokenFile string
	caFile          string
}

func (o *analysisOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.url, "prometheus-url", "", "the Prometheus that strategies' metrics are asked of, for example "+
		"http://prometheus.monitoring:9090; without it a plan whose strategy names metrics is held")
	f.StringVar(&o.bearerTokenFile, "prometheus-bearer-token-file", "",
		"a file with the token to ask Prometheus with; re-read on every request")
	f.StringVar(&o.caFile, "prometheus-ca-file", "", "a PEM file of the authorities that sign Prometheus' "+
		"certificate; re-read on every request (default: the system's)")
}

func (o *analysisOptions) Validate() error {
	if o.url == "" {
		if o.bearerTokenFile != "" || o.caFile != "" {
			return errors.New(
				"--prometheus-url must be set with --prometheus-bearer-token-file and --prometheus-ca-file")
		}
		return nil
	}
	var errs []error
	if err := analysis.CheckURL(o.url); err != nil {
		errs = append(errs, fmt.Errorf("--prometheus-url %w", err))
	}
	return errors.Join(append(errs, readable("--prometheus-bearer-token-file", o.bearerTokenFile),
		readable("--prometheus-ca-file", o.caFile))...)
}

// analyzer asks the Prometheus that the flags name; nil if they name none.
func (o *analysisOptions) analyzer(metrics prometheus.Registerer) (breaker.Analyzer, error) {
	if o.url == "" {
		return nil, nil
	}
	client, err := analysis.NewClient(analysis.Options{URL: o.url, BearerTokenFile: o.bearerTokenFile, CAFile: o.caFile,
		Clock: wallclock.New(), Registerer: metrics})
	if err != nil {
		return nil, fmt.Errorf("set up metric analysis: %w", err)
	}
	return client, nil
}
