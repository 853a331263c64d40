// SPDX-License-Identifier: Apache-2.0

package inventory

import "github.com/open-policy-agent/opa/v1/ast"

// part is one namespace of a view, or the cluster. It is immutable, and shared by the views in which it is the same.
type part struct {
	// sources are what each table holds of it; nil for nothing.
	sources []*ast.Term
	value   *ast.Term
}

// build puts the document together. Namespaces in which nothing has changed since the last time are taken over.
func (j *Joined) build() (*View, map[string]*part, []uint64) {
	versions := make([]uint64, len(j.tables))
	held := make([]map[string]*ast.Term, len(j.tables))
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
func (p *part) of(namespace string, held []map[string]*ast.Term) bool {
	if len(p.sources) != len(held) {
		return false
	}
	for i := range held {
		if p.sources[i] != held[i][namespace] {
			return false
		}
	}
	return true
}

// part is one namespace: groupVersion, then kind, then name.
func (j *Joined) part(namespace string, held []map[string]*ast.Term) *part {
	p := &part{sources: make([]*ast.Term, len(held))}
	kinds := map[string]map[string]*ast.Term{} // of each version
	for i, t := range j.tables {
		value, found := held[i][namespace]
		if !found {
			continue
		}
		p.sources[i] = value
		if kinds[t.groupVersion] == nil {
			kinds[t.groupVersion] = map[string]*ast.Term{}
		}
		if first, found := kinds[t.groupVersion][t.kind]; found {
			value = joined(first, value)
		}
		kinds[t.groupVersion][t.kind] = value
	}
	byVersion := map[string]*ast.Term{}
	for groupVersion, of := range kinds {
		byVersion[groupVersion] = objectOf(of)
	}
	p.value = objectOf(byVersion)
	return p
}

// joined has the objects of both, the first one's where both have one of a name.
func joined(first, second *ast.Term) *ast.Term {
	merged, _ := second.Value.(ast.Object).MergeWith(first.Value.(ast.Object),
		func(_, first *ast.Term) (*ast.Term, bool) { return first, false })
	return settled(merged)
}

// settled is an object that evaluations may share: its keys are in order, as what they lead to is.
func settled(object ast.Object) *ast.Term {
	SettleKeys(object)
	return ast.NewTerm(object)
}

func viewOf(parts map[string]*part) *View {
	spaces := make(map[string]*ast.Term, len(parts))
	for namespace, p := range parts {
		spaces[namespace] = p.value
	}
	cluster, found := spaces[""]
	if !found {
		cluster = objectOf(nil)
	}
	delete(spaces, "")
	whole := objectOf(map[string]*ast.Term{"cluster": cluster, "namespace": objectOf(spaces)})
	return &View{Data: objectOf(map[string]*ast.Term{Root: whole})}
}

func objectOf(members map[string]*ast.Term) *ast.Term {
	pairs := make([][2]*ast.Term, 0, len(members))
	for key, value := range members {
		pairs = append(pairs, [2]*ast.Term{ast.StringTerm(key), value})
	}
	return settled(ast.NewObject(pairs...))
}
