// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"evenkeel.dev/evenkeel/internal/inventory"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// engineOptions are the flags that say what evaluates rules.
type engineOptions struct {
	engine string
}

func (o *engineOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.engine, "engine", string(rego.CompiledEngine),
		"what evaluates rules: topdown (OPA's own engine) or compiled (rules are compiled, and topdown is asked "+
			"where anything goes wrong); the verdicts are the same")
}

func (o *engineOptions) Validate() error {
	switch rego.Engine(o.engine) {
	case rego.Topdown, rego.CompiledEngine:
	default:
		return fmt.Errorf("--engine %q must be %s or %s", o.engine, rego.Topdown, rego.CompiledEngine)
	}
	return nil
}

func (o *Options) policies(mgr ctrl.Manager) (*catalog.Catalog, *inventory.Store, error) {
	referred, err := o.inventory(mgr)
	if err != nil {
		return nil, nil, err
	}
	policies := catalog.New(catalog.Options{TimeLimit: o.policyTimeLimit, Engine: rego.Engine(o.engines.engine),
		Inventory: referred})
	runner := &inventory.Runner{Store: referred, Policies: policies}
	if err := errors.Join(mgr.Add(runner), mgr.AddReadyzCheck("references", runner.Check),
		inventory.RegisterMetrics(ctrlmetrics.Registry, referred, policies),
		policies.RegisterMetrics(ctrlmetrics.Registry)); err != nil {
		return nil, nil, fmt.Errorf("register what follows the objects that policies refer to: %w", err)
	}
	return policies, referred, catalog.NewController(policies).Register(mgr)
}
