// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// List is what a full pass finds of one kind, on its way into an Index. It takes as much memory as the records that it
// replaces.
type List struct{ clean, faulty map[string]*Record }

// NewList makes an empty one.
func NewList() *List { return &List{clean: map[string]*Record{}, faulty: map[string]*Record{}} }

// Put takes up the verdict on one object in place of the one before.
func (l *List) Put(j *Judged) {
	l.Remove(j.Key)
	switch {
	case j.Record == nil:
	case len(j.Record.faults) > 0:
		l.faulty[j.Key] = j.Record
	default:
		l.clean[j.Key] = j.Record
	}
}

// Remove forgets one object.
func (l *List) Remove(key string) { l.take(key) }

func (l *List) take(key string) *Record {
	for _, m := range []map[string]*Record{l.clean, l.faulty} {
		if r := m[key]; r != nil {
			delete(m, key)
			return r
		}
	}
	return nil
}

func (l *List) each(visit func(key string, r *Record)) {
	for _, m := range []map[string]*Record{l.clean, l.faulty} {
		for key, r := range m {
			visit(key, r)
		}
	}
}

// Put records the verdict on one object in place of the one before. It does
// nothing for a kind that isn't scanned any more.
func (x *Index) Put(gk schema.GroupKind, j *Judged) {
	x.mu.Lock()
	k := x.kinds[gk]
	if k == nil {
		x.mu.Unlock()
		return
	}
	was := k.take(j.Key)
	k.List.Put(j)
	count(gk, was, j.Record)
	found, changed := x.compare(gk, k, j.Key, was, j.Record)
	x.changes.notify(changed...)
	x.mu.Unlock()
	x.began(found)
}

// Remove forgets one object.
func (x *Index) Remove(gk schema.GroupKind, key string) { x.Put(gk, &Judged{Key: key}) }

// Replace records the result of a full pass: objects not in the list are gone. The list is the Index's from then on.
func (x *Index) Replace(gk schema.GroupKind, apiVersion string, list *List) {
	x.mu.Lock()
	k := x.kind(gk)
	before := k.List
	k.apiVersion, k.List = apiVersion, *list
	touched := map[string]bool{}
	var found []Transition
	record := func(key string, was, now *Record) {
		count(gk, was, now)
		f, changed := x.compare(gk, k, key, was, now)
		found = append(found, f...)
		for _, name := range changed {
			touched[name] = true
		}
	}
	k.each(func(key string, now *Record) { record(key, before.take(key), now) })
	before.each(func(key string, was *Record) { record(key, was, nil) })
	for name := range touched {
		x.changes.notify(name)
	}
	x.mu.Unlock()
	slices.SortStableFunc(found, func(a, b Transition) int { return cmp.Compare(a.Key, b.Key) })
	x.began(found)
}

// count keeps the counts in step when a record takes the place of another one.
func count(gk schema.GroupKind, was, now *Record) {
	was.add(-1)
	now.recall(gk, was)
	now.add(1)
}
