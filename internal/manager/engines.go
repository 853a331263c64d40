// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"evenkeel.dev/evenkeel/internal/inventory"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/engines"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// engineOptions are the flags that say what evaluates rules.
type engineOptions struct {
	engine  string
	compare float64
}

// AddFlags adds the flags with their defaults.
func (o *engineOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.engine, "engine", string(rego.CompiledEngine),
		"what evaluates rules: topdown (OPA's own engine) or compiled (rules are compiled, and topdown is asked "+
			"where anything goes wrong); the verdicts are the same")
	f.Float64Var(&o.compare, "engine-compare", 0.01, "the share of the compiled engine's verdicts, from 0 to 1, "+
		"that topdown gives again in the background, to compare them; a revision of a policy is topdown's in this "+
		"process once they differ")
}

// Validate says what is wrong with them.
func (o *engineOptions) Validate() error {
	switch rego.Engine(o.engine) {
	case rego.Topdown, rego.CompiledEngine:
	default:
		return fmt.Errorf("--engine %q must be %s or %s", o.engine, rego.Topdown, rego.CompiledEngine)
	}
	if o.compare < 0 || o.compare > 1 || math.IsNaN(o.compare) {
		return fmt.Errorf("--engine-compare %v must be from 0 to 1", o.compare)
	}
	return nil
}

// policies makes the catalog of the policies in force, with what compares the engines, and with the objects that
// policies refer to.
func (o *Options) policies(mgr ctrl.Manager) (*catalog.Catalog, *inventory.Store, error) {
	compared, err := engines.New(engines.Options{Share: o.engines.compare, Registerer: ctrlmetrics.Registry,
		Log: ctrl.Log.WithName("engines")})
	if err != nil {
		return nil, nil, err
	}
	compared.RecordTo(mgr.GetEventRecorder("evenkeel-engines"))
	if err := mgr.Add(compared); err != nil {
		return nil, nil, fmt.Errorf("register the comparison of engines: %w", err)
	}
	referred, err := o.inventory(mgr)
	if err != nil {
		return nil, nil, err
	}
	policies := catalog.New(catalog.Options{TimeLimit: o.policyTimeLimit, Engine: rego.Engine(o.engines.engine),
		Engines: compared, Inventory: referred})
	runner := &inventory.Runner{Store: referred, Policies: policies}
	if err := errors.Join(mgr.Add(runner), mgr.AddReadyzCheck("references", runner.Check),
		inventory.RegisterMetrics(ctrlmetrics.Registry, referred, policies)); err != nil {
		return nil, nil, fmt.Errorf("register what follows the objects that policies refer to: %w", err)
	}
	return policies, referred, catalog.NewController(policies).Register(mgr)
}
