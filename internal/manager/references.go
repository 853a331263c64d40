// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"

	"evenkeel.dev/evenkeel/internal/inventory"
	"evenkeel.dev/evenkeel/internal/scan/listing"
	"evenkeel.dev/evenkeel/internal/wallclock"
)

// minReferenceMemory is the least that is worth keeping objects for.
const minReferenceMemory = 1 << 20

// referenceOptions are the flags about the objects that policies refer to.
type referenceOptions struct {
	maxStaleness time.Duration
	maxMemory    string
}

func (o *referenceOptions) AddFlags(f *pflag.FlagSet) {
	f.DurationVar(&o.maxStaleness, "reference-max-staleness", inventory.DefaultMaxStaleness, "how long the watch of a "+
		"kind that policies refer to may be broken before the rules that look its objects up count as not evaluated")
	f.StringVar(&o.maxMemory, "reference-max-memory",
		resource.NewQuantity(inventory.DefaultMaxMemory, resource.BinarySI).String(), "what is kept of all objects "+
			"that policies refer to may take of this replica's memory, by estimate, at least 1Mi; the rules that "+
			"look up a kind that doesn't fit count as not evaluated")
}

func (o *referenceOptions) Validate() error {
	if o.memory() >= minReferenceMemory {
		return nil
	}
	return fmt.Errorf("--reference-max-memory %q must be a quantity of bytes of at least %d MiB, for example 256Mi",
		o.maxMemory, minReferenceMemory>>20)
}

// memory is what may be kept in bytes, or 0 when that isn't a quantity.
func (o *referenceOptions) memory() int64 {
	q, err := resource.ParseQuantity(o.maxMemory)
	if err != nil {
		return 0
	}
	return q.Value()
}

func (o *Options) inventory(mgr ctrl.Manager) (*inventory.Store, error) {
	client, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the client that reads what policies refer to: %w", err)
	}
	served, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the client that finds what policies refer to: %w", err)
	}
	return inventory.New(inventory.Options{Client: client, ResyncPeriod: o.resync,
		Resolver:     listing.NewResolver(served, wallclock.New()),
		MaxStaleness: o.references.maxStaleness, MaxMemory: o.references.memory(), Clock: wallclock.New(),
		Log: ctrl.Log.WithName("inventory")}), nil
}
