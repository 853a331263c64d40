// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/policy"
)

// Root is what the objects stand under in data.
const Root = "inventory"

// View is what the tables of a policy held at one moment, as Rego sees it. It is immutable and safe
// for concurrent use.
type View struct {
	// Data is the document data.
	Data *ast.Term
}

// Joined are the tables of one policy's references. It is safe for concurrent use.
type Joined struct {
	tables []*Table
	// written are references whose objects are seen in the version in which they are written, so that one
	// may be of a version that no table is for.
	written []Reference

	mu sync.Mutex
	// versions are the tables' states that the view is made of, and parts its namespaces.
	versions []uint64
	parts    map[string]*part
	view     *View
}

// Join puts tables together. Tables of one kind and version join their objects, the first
// one's where both have one of a name.
func Join(tables ...*Table) *Joined { return &Joined{tables: tables} }

// View is what the tables hold now: the same as before while nothing has changed.
func (j *Joined) View() *View {
	j.mu.Lock()
	defer j.mu.Unlock()
	current := make([]uint64, len(j.tables))
	for i, t := range j.tables {
		current[i] = t.current()
	}
	if j.view == nil || !slices.Equal(current, j.versions) {
		j.view, j.parts, j.versions = j.build()
	}
	return j.view
}

// Holds says whether rules find an object of a kind by its namespace and name, in any version.
func (j *Joined) Holds(kind schema.GroupKind, namespace, name string) bool {
	return slices.ContainsFunc(j.tables, func(t *Table) bool {
		if t.reference.Group != kind.Group || t.kind != kind.Kind {
			return false
		}
		_, known := t.entry(namespace, name)
		return known
	})
}

// With is a view in which some objects stand in place of those of the same names, and others are left out, for judging
// what isn't so in the cluster. Objects that nothing refers to don't count. The error is a policy.UnknownReferenceError
// for one of another version than the cluster's objects of its kind are kept in: in theirs, it isn't known.
func (j *Joined) With(present, absent []map[string]any) (*View, error) {
	if err := j.sameVersions(slices.Concat(present, absent)); err != nil {
		return nil, err
	}
	tables := slices.Clone(j.tables)
	own := func(i int) *Table {
		if i < len(j.tables) && tables[i] == j.tables[i] {
			tables[i] = tables[i].clone()
		}
		return tables[i]
	}
	for _, content := range present {
		object := &unstructured.Unstructured{Object: content}
		if !slices.ContainsFunc(tables, func(t *Table) bool { return t.holds(object) }) {
			tables = append(tables, j.tablesFor(object)...)
		}
		if err := place(object, tables, own); err != nil {
			return nil, err
		}
	}
	for _, content := range absent {
		object := &unstructured.Unstructured{Object: content}
		for i, t := range tables {
			if t.holds(object) {
				own(i).Delete(object.GetNamespace(), object.GetName())
			}
		}
	}
	all := Join(tables...)
	j.mu.Lock()
	all.parts = j.parts
	j.mu.Unlock()
	return all.View(), nil
}

func (t *Table) holds(object *unstructured.Unstructured) bool {
	return t.kind == object.GetKind() && t.groupVersion == object.GetAPIVersion()
}

// place puts an object into the tables that hold its kind and version; own is what may be changed of each.
func place(object *unstructured.Unstructured, tables []*Table, own func(int) *Table) error {
	for i, t := range tables {
		if !t.holds(object) {
			continue
		}
		item, err := t.Compact(object)
		if err != nil {
			return err
		}
		own(i).Put(item)
	}
	return nil
}

// sameVersions says with an error that an object is kept in another version, so that it would stand beside itself.
func (j *Joined) sameVersions(objects []map[string]any) error {
	if j.written != nil {
		return nil // what is written in files is seen as it is written
	}
	for _, content := range objects {
		object := &unstructured.Unstructured{Object: content}
		gvk := object.GroupVersionKind()
		for _, t := range j.tables {
			if t.reference.Group != gvk.Group || t.kind != gvk.Kind || t.holds(object) {
				continue
			}
			return &policy.UnknownReferenceError{Kind: t.reference.String(), Err: fmt.Errorf(
				"%s %s is of %s, and rules look its kind up as %s: use one version in the fix, in match.kinds "+
					"and in match.references", gvk.Kind, object.GetName(), object.GetAPIVersion(), t.groupVersion)}
		}
	}
	return nil
}

// tablesFor are new tables for an object of a version that none has been seen of.
func (j *Joined) tablesFor(object *unstructured.Unstructured) (tables []*Table) {
	gvk := object.GroupVersionKind()
	for _, r := range j.written {
		if r.Group == gvk.Group && r.Kind == gvk.Kind && (r.Version == "" || r.Version == gvk.Version) {
			tables = append(tables, NewTable(r, object.GetAPIVersion()))
		}
	}
	return tables
}

func (t *Table) clone() *Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := &Table{groupVersion: t.groupVersion, kind: t.kind, reference: t.reference, shape: t.shape,
		objects: t.objects, bytes: t.bytes, spaces: make(map[string]*space, len(t.spaces))}
	for namespace, in := range t.spaces {
		copied := &space{objects: make(map[string]entry, len(in.objects)), value: in.value}
		for name, e := range in.objects {
			copied.objects[name] = e
		}
		own.spaces[namespace] = copied
	}
	return own
}
