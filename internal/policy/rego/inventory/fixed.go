// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/policy"
)

// Fixed are objects that are all there are: those of files, of an example, or of one look at a cluster. It is
// safe for concurrent use.
type Fixed struct {
	objects map[schema.GroupKind][]*unstructured.Unstructured
	unknown map[schema.GroupKind]error
	// preferred are the versions that references without one see.
	preferred map[schema.GroupKind]string

	mu     sync.Mutex
	joined map[string]*Joined
}

// NewFixed are some objects; an object without kind or name is left out, since nothing can look it up.
// unknown says of which kinds the objects aren't known, and why.
func NewFixed(objects []map[string]any, unknown map[schema.GroupKind]error) *Fixed {
	f := &Fixed{objects: map[schema.GroupKind][]*unstructured.Unstructured{}, unknown: unknown,
		preferred: map[schema.GroupKind]string{}, joined: map[string]*Joined{}}
	for _, object := range objects {
		u := &unstructured.Unstructured{Object: object}
		if gk := u.GroupVersionKind().GroupKind(); gk.Kind != "" && u.GetName() != "" {
			f.objects[gk] = append(f.objects[gk], u)
		}
	}
	return f
}

// Prefer has references to a kind without a version see its objects in one alone, as a cluster prefers it: they may be
// there in others too, where a reference names one. It must be called before Tables.
func (f *Fixed) Prefer(gvk schema.GroupVersionKind) { f.preferred[gvk.GroupKind()] = gvk.Version }

// Put has an object stand in place of the one of its kind and name, or beside the others, from now on.
func (f *Fixed) Put(object map[string]any) error {
	u := &unstructured.Unstructured{Object: object}
	gk := u.GroupVersionKind().GroupKind()
	if gk.Kind == "" || u.GetName() == "" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	same := func(other *unstructured.Unstructured) bool {
		return other.GetName() == u.GetName() && other.GetNamespace() == u.GetNamespace()
	}
	i := slices.IndexFunc(f.objects[gk], same)
	if i < 0 || f.objects[gk][i].GetAPIVersion() != u.GetAPIVersion() {
		f.objects[gk] = append(slices.DeleteFunc(f.objects[gk], same), u)
		clear(f.joined) // to be put together anew
		return nil
	}
	f.objects[gk][i] = u
	for _, joined := range f.joined {
		for _, t := range joined.tables {
			if !t.holds(u) {
				continue
			}
			item, err := t.Compact(u)
			if err != nil {
				return fmt.Errorf("%s %s: %w", gk.Kind, u.GetName(), err)
			}
			t.Put(item)
		}
	}
	return nil
}

// Tables are those of some references. An object is seen in the version in which it is written.
func (f *Fixed) Tables(references []Reference) (*Joined, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var keys []string
	for i := range references {
		gk := schema.GroupKind{Group: references[i].Group, Kind: references[i].Kind}
		if err := f.unknown[gk]; err != nil {
			return nil, &policy.UnknownReferenceError{Kind: references[i].String(), Err: err}
		}
		keys = append(keys, references[i].Key())
	}
	key := strings.Join(keys, "\x01")
	if known := f.joined[key]; known != nil {
		return known, nil
	}
	var tables []*Table
	for i := range references {
		own, err := f.tables(references[i])
		if err != nil {
			return nil, err
		}
		tables = append(tables, own...)
	}
	f.joined[key] = Join(tables...)
	f.joined[key].written = references
	return f.joined[key], nil
}

// Unknown are those that NewFixed was told to be.
func (f *Fixed) Unknown(references []Reference) (out []Unknown) {
	for i := range references {
		if err := f.unknown[schema.GroupKind{Group: references[i].Group, Kind: references[i].Kind}]; err != nil {
			out = append(out, Unknown{Reference: references[i], Err: err})
		}
	}
	return out
}

// Shows is always content: there is nothing newer.
func (*Fixed) Shows(Reference, string) error { return nil }

// tables are those of one reference, one for each version.
func (f *Fixed) tables(r Reference) ([]*Table, error) {
	byVersion := map[string]*Table{}
	var out []*Table
	gk := schema.GroupKind{Group: r.Group, Kind: r.Kind}
	only := cmp.Or(r.Version, f.preferred[gk])
	for _, object := range f.objects[gk] {
		version := object.GroupVersionKind().GroupVersion()
		if only != "" && version.Version != only {
			continue
		}
		t := byVersion[version.String()]
		if t == nil {
			t = NewTable(r, version.String())
			byVersion[version.String()] = t
			out = append(out, t)
		}
		item, err := t.Compact(object)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.Kind, object.GetName(), err)
		}
		t.Put(item)
	}
	return out, nil
}
