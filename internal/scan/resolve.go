// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// refreshInterval bounds how often discovery is read anew.
const refreshInterval = 2 * time.Second

// resolver finds the resource of a kind in the version that the API server
// prefers. CRDs come and go, so what it knows is read anew now and then.
type resolver struct {
	clock clock.PassiveClock

	mu        sync.Mutex
	mapper    meta.ResettableRESTMapper
	refreshed time.Time
}

func newResolver(d discovery.CachedDiscoveryInterface, c clock.PassiveClock) *resolver {
	return &resolver{clock: c, mapper: restmapper.NewDeferredDiscoveryRESTMapper(d)}
}

func (r *resolver) resolve(gk schema.GroupKind) (*meta.RESTMapping, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mapping, err := r.mapper.RESTMapping(gk)
	if err != nil {
		return nil, &listing.KindError{Kind: gk, Err: err}
	}
	return mapping, nil
}

// refresh makes the next resolve read discovery anew, unless it just did.
func (r *resolver) refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if now.Sub(r.refreshed) < refreshInterval {
		return
	}
	r.refreshed = now
	r.mapper.Reset()
}
