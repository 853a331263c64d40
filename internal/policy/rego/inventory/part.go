// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

// lookedUp is from how many keys on package size asks for what is known of an object's size.
const lookedUp = 4

// part is one namespace of a view, or the cluster. It is immutable, and shared by the views in which it is the same.
type part struct {
	// sources are what each table holds of it; nil for nothing.
	sources []*ast.Term
	leaf    leaf
	sizes   map[ast.Value]int64
}

// build puts the document together. Namespaces in which nothing has changed since the last time are taken over.
func (j *Joined) build() (*View, map[string]*part, []uint64) {
	versions := make([]uint64, len(j.tables))
	held := make([]map[string]leaf, len(j.tables))
	for i, t := range j.tables {
		held[i], versions[i] = t.leaves()
	}
	parts := make(map[string]*part, len(j.parts))
	for i := range held {
		for namespace := range held[i] {
			switch known := j.parts[namespace]; {
			case parts[namespace] != nil:
			case known != nil && known.of(namespace, held):
				parts[namespace] = known
			default:
				parts[namespace] = j.part(namespace, held)
			}
		}
	}
	return viewOf(parts), parts, versions
}

// of says that the part is made of what the tables hold now.
func (p *part) of(namespace string, held []map[string]leaf) bool {
	if len(p.sources) != len(held) {
		return false
	}
	for i := range held {
		if p.sources[i] != held[i][namespace].value {
			return false
		}
	}
	return true
}

// part is one namespace: groupVersion, then kind, then name.
func (j *Joined) part(namespace string, held []map[string]leaf) *part {
	p := &part{sources: make([]*ast.Term, len(held)), sizes: map[ast.Value]int64{}}
	kinds := map[string]map[string]leaf{} // of each version
	for i, t := range j.tables {
		l, found := held[i][namespace]
		if !found {
			continue
		}
		p.sources[i] = l.value
		if kinds[t.groupVersion] == nil {
			kinds[t.groupVersion] = map[string]leaf{}
		}
		if first, found := kinds[t.groupVersion][t.kind]; found {
			l = first.joined(l)
		}
		kinds[t.groupVersion][t.kind] = l
	}
	b := &builder{sizes: p.sizes}
	byVersion := map[string]leaf{}
	for groupVersion, of := range kinds {
		for _, l := range of {
			b.note(l)
		}
		byVersion[groupVersion] = b.object(of)
	}
	p.leaf = b.object(byVersion)
	return p
}

// joined has the objects of both.
func (l leaf) joined(other leaf) leaf {
	merged, _ := other.value.Value.(ast.Object).MergeWith(l.value.Value.(ast.Object),
		func(_, first *ast.Term) (*ast.Term, bool) { return first, false })
	return leaf{value: settled(merged), units: size.Plus(l.units, other.units)}
}

// settled is an object that evaluations may share: its keys are in order, as what they lead to is.
func settled(object ast.Object) *ast.Term {
	size.SettleKeys(object)
	return ast.NewTerm(object)
}

func viewOf(parts map[string]*part) *View {
	b := &builder{sizes: make(map[ast.Value]int64, len(parts))}
	spaces := make(map[string]leaf, len(parts))
	for namespace, p := range parts {
		maps.Copy(b.sizes, p.sizes)
		spaces[namespace] = p.leaf
	}
	cluster, found := spaces[""]
	if !found {
		cluster = b.object(nil)
	}
	delete(spaces, "")
	whole := b.object(map[string]leaf{"cluster": cluster, "namespace": b.object(spaces)})
	data := b.object(map[string]leaf{Root: whole})
	return &View{Data: data.value, Units: data.units, Sizes: b.sizes}
}

// builder puts documents together, and notes how large they are.
type builder struct{ sizes map[ast.Value]int64 }

func (b *builder) object(members map[string]leaf) leaf {
	pairs := make([][2]*ast.Term, 0, len(members))
	units := keysUnits(len(members))
	for key, m := range members {
		pairs = append(pairs, [2]*ast.Term{ast.StringTerm(key), m.value})
		units = size.Plus(units, m.units)
	}
	out := leaf{value: settled(ast.NewObject(pairs...)), units: units}
	b.note(out)
	return out
}

func (b *builder) note(l leaf) {
	if l.value.Value.(ast.Object).Len() >= lookedUp {
		b.sizes[l.value.Value] = l.units
	}
}
