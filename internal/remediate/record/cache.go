// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Cache reads the slices of plans at work without fetching those again that
// haven't changed: a plan of 10,000 targets has a hundred, and a step changes one or
// two. Which have changed the API server says anew each time, by their resource
// versions, so a copy is never older than what a fetch would bring. Should it be
// all the same, the first write to it conflicts, and nothing is stored or sent. What is
// kept is lent, not copied: Records never change what they were given.
type Cache struct {
	reader client.Reader

	mu    sync.Mutex
	plans map[string]map[string]*v1alpha1.RemediationSlice
}

// NewCache makes an empty cache over a reader that asks the API server.
func NewCache(reader client.Reader) *Cache {
	return &Cache{reader: reader, plans: map[string]map[string]*v1alpha1.RemediationSlice{}}
}

// Read is a plan's records as they are now.
func (s *Cache) Read(ctx context.Context, rem *v1alpha1.Remediation) (*Records, error) {
	if len(rem.Spec.Plan.Slices) == 1 {
		return Read(ctx, s.reader, rem) // one fetch is as cheap as one question
	}
	current, err := s.versions(ctx, rem)
	if err != nil {
		return nil, err
	}
	b, kept := &Records{}, map[string]*v1alpha1.RemediationSlice{}
	for _, name := range rem.Spec.Plan.Slices {
		slice := s.kept(rem.Name, name, current[name])
		if slice == nil {
			slice, err = readSlice(ctx, s.reader, rem, name)
		} else {
			err = checkOwner(slice, rem) // the plan may be another one of that name by now
		}
		if err != nil {
			return nil, err
		}
		kept[name] = slice
		b.Add(slice)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans[rem.Name] = kept
	return b, nil
}

// version is what a slice is known by.
type version struct{ uid, resourceVersion string }

func (s *Cache) versions(ctx context.Context, rem *v1alpha1.Remediation) (map[string]version, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("RemediationSliceList"))
	if err := s.reader.List(ctx, list, client.MatchingLabels{v1alpha1.LabelRemediation: rem.Name}); err != nil {
		return nil, fmt.Errorf("list the slices of plan %s: %w", rem.Name, err)
	}
	current := map[string]version{}
	for _, m := range list.Items {
		current[m.Name] = version{string(m.UID), m.ResourceVersion}
	}
	return current, nil
}

// kept is the slice that is kept, when it is the current one; nil otherwise.
func (s *Cache) kept(plan, name string, current version) *v1alpha1.RemediationSlice {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.plans[plan][name]
	if kept == nil || (version{string(kept.UID), kept.ResourceVersion}) != current {
		return nil
	}
	return kept
}

// Drop forgets a plan's slices.
func (s *Cache) Drop(plan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.plans, plan)
}
