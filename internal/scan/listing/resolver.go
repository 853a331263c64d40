// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/clock"
)

// refreshInterval bounds how often discovery is read anew.
const refreshInterval = 2 * time.Second

// errServedSince means that a kind was found just after it hadn't been.
var errServedSince = errors.New("it has begun to be served just now")

// Resolver finds the resource of a kind in the version that the API server
// prefers. CRDs come and go, so what it knows is read anew now and then. It is safe for concurrent use.
type Resolver struct {
	clock     clock.PassiveClock
	discovery discovery.DiscoveryInterface

	mu        sync.Mutex
	mapper    meta.ResettableRESTMapper
	refreshed time.Time
	// served is what was found when a kind was missing; nil until then.
	served *served
}

// served is what the API server serves, whole: what keeps discovery in memory drops the groups that couldn't be read.
type served struct {
	kinds  map[schema.GroupKind]bool
	unread map[string]error
}

// NewResolver makes a Resolver that reads discovery when it is asked first.
func NewResolver(d discovery.DiscoveryInterface, c clock.PassiveClock) *Resolver {
	return &Resolver{clock: c, discovery: d,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))}
}

// Resolve finds the resource, in one of the versions if there are any. The error is as the mapper gives it: see
// KindError. That there is no such kind it says only where the kind's group could be read: the server of an aggregated
// API may not answer, and have objects all the same.
func (r *Resolver) Resolve(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mapping, err := r.mapper.RESTMapping(gk, versions...)
	if !meta.IsNoMatchError(err) {
		return mapping, err
	}
	if r.served == nil {
		found, failed := r.readServed()
		if failed != nil {
			return nil, failed
		}
		r.served = found
	}
	switch {
	case r.served.unread[gk.Group] != nil:
		return nil, fmt.Errorf("whether it is served isn't known: %w", r.served.unread[gk.Group])
	case len(versions) == 0 && r.served.kinds[gk]:
		r.reset()
		return nil, errServedSince
	}
	return nil, err
}

func (r *Resolver) readServed() (*served, error) {
	_, lists, err := r.discovery.ServerGroupsAndResources()
	out := &served{kinds: map[schema.GroupKind]bool{}, unread: map[string]error{}}
	var partial *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &partial):
		for gv, why := range partial.Groups {
			out.unread[gv.Group] = why
		}
	case err != nil:
		return nil, fmt.Errorf("ask the API server which kinds it serves: %w", err)
	}
	for _, list := range lists {
		out.add(list)
	}
	return out, nil
}

func (s *served) add(list *metav1.APIResourceList) {
	gv, err := schema.ParseGroupVersion(list.GroupVersion)
	if err != nil {
		return // no group has such a version: nobody asks for it
	}
	for i := range list.APIResources {
		s.kinds[gv.WithKind(list.APIResources[i].Kind).GroupKind()] = true
	}
}

// Refresh makes the next Resolve read discovery anew, unless it just did.
func (r *Resolver) Refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clock.Now().Sub(r.refreshed) >= refreshInterval {
		r.reset()
	}
}

// reset is called under the lock.
func (r *Resolver) reset() {
	r.refreshed, r.served = r.clock.Now(), nil
	r.mapper.Reset()
}
