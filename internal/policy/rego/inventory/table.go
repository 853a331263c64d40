// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Table holds the objects of one reference in one version. It is safe for concurrent use.
type Table struct {
	groupVersion, kind string
	reference          Reference
	shape              shape

	mu sync.Mutex
	// spaces are the objects by namespace; those of a cluster-scoped kind are under "".
	spaces map[string]*space
	// version is another one after each change.
	version uint64
	objects int
	// bytes is about how much memory all of it takes.
	bytes int64
}

// space is what one namespace holds.
type space struct {
	objects map[string]entry
	// value is all of them as Rego sees them; nil when it has to be made anew.
	value *ast.Term
}

// entry is one object with its size in memory.
type entry struct {
	object *ast.Term
	bytes  int64
}

// NewTable is an empty table for a reference whose objects are of a version such as apps/v1.
func NewTable(r Reference, groupVersion string) *Table {
	return &Table{groupVersion: groupVersion, kind: r.Kind, reference: r, shape: shapeOf(r.Fields),
		spaces: map[string]*space{}}
}

// GroupVersion is the version of the objects.
func (t *Table) GroupVersion() string { return t.groupVersion }

// Item is an object as a table keeps it.
type Item struct {
	namespace, name string
	entry           entry
	// selected says that the reference's selector chooses it, and shared that the table keeps the same already.
	selected, shared bool
}

// Compact is what the table keeps of an object; the object itself isn't kept. One that is as the table keeps it
// already takes no memory of its own, so that a list of all objects doesn't take it twice.
func (t *Table) Compact(object *unstructured.Unstructured) (Item, error) {
	item := Item{namespace: object.GetNamespace(), name: object.GetName()}
	if item.selected = t.reference.Selects(object.GetLabels()); !item.selected {
		return item, nil
	}
	term, err := t.shape.of(object.Object)
	if err != nil {
		return Item{}, err
	}
	if was, known := t.entry(item.namespace, item.name); known && was.equal(entry{object: term}) {
		item.entry, item.shared = was, true
		return item, nil
	}
	Settle(term.Value)
	item.entry = entry{object: term, bytes: heapOf(term)}
	return item, nil
}

func (t *Table) entry(namespace, name string) (e entry, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if in := t.spaces[namespace]; in != nil {
		e, known = in.objects[name]
	}
	return e, known
}

func (e entry) equal(other entry) bool {
	return e.object == other.object || e.object.Value.Compare(other.object.Value) == 0
}

// Put keeps an object, in place of what was there, and says whether that changes what rules may see.
func (t *Table) Put(item Item) (changed bool) {
	if !item.selected {
		return t.Delete(item.namespace, item.name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.put(item)
}

func (t *Table) put(item Item) bool {
	in := t.spaces[item.namespace]
	if in == nil {
		in = &space{objects: map[string]entry{}}
		t.spaces[item.namespace] = in
		t.bytes += perNamespace
	}
	before, known := in.objects[item.name]
	if known && before.equal(item.entry) {
		return false
	}
	if !known {
		t.objects++
	}
	in.objects[item.name], in.value = item.entry, nil
	t.bytes += item.entry.bytes - before.bytes
	t.version++
	return true
}

// Delete drops an object, and says whether there was one.
func (t *Table) Delete(namespace, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	in := t.spaces[namespace]
	if in == nil {
		return false
	}
	was, known := in.objects[name]
	if !known {
		return false
	}
	delete(in.objects, name)
	in.value = nil
	t.bytes -= was.bytes
	if len(in.objects) == 0 {
		delete(t.spaces, namespace)
		t.bytes -= perNamespace
	}
	t.objects--
	t.version++
	return true
}

// Replace keeps these objects and no others, and says whether that changes what rules may see.
func (t *Table) Replace(items []Item) (changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.spaces
	version, objects, bytes := t.version, t.objects, t.bytes
	t.spaces, t.objects, t.bytes = map[string]*space{}, 0, 0
	same := 0
	for _, item := range items {
		if !item.selected {
			continue
		}
		t.put(item)
		if in := before[item.namespace]; in != nil {
			if was, known := in.objects[item.name]; known && was.equal(item.entry) {
				same++
			}
		}
	}
	if same == objects && same == t.objects {
		t.spaces, t.version, t.bytes = before, version, bytes
		return false
	}
	t.version++
	return true
}

// Len is how many objects it keeps.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.objects
}

// current is the number of the table's present state.
func (t *Table) current() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

// leaves are what each namespace holds, as Rego sees it, in the state of the number.
func (t *Table) leaves() (out map[string]*ast.Term, version uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out = make(map[string]*ast.Term, len(t.spaces))
	for namespace, in := range t.spaces {
		if in.value == nil {
			in.build()
		}
		out[namespace] = in.value
	}
	return out, t.version
}

func (s *space) build() {
	pairs := make([][2]*ast.Term, 0, len(s.objects))
	for name, e := range s.objects {
		pairs = append(pairs, [2]*ast.Term{ast.StringTerm(name), e.object})
	}
	s.value = settled(ast.NewObject(pairs...))
}
