// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// What the objects stand under: those without a namespace, and those in one.
const (
	inCluster   = "cluster"
	inNamespace = "namespace"
)

// inventoryRef is where the objects stand that rules may look up.
func inventoryRef(root string) ast.Ref {
	return ast.Ref{ast.DefaultRootDocument, ast.StringTerm(root)}
}

// Lookups is what of the objects that can be looked up, under data.<root>, the rules of a policy may
// read. What can't be told is read.
type Lookups struct {
	paths []path
	// superseded lead into kinds that Kubernetes has removed, where others of the same name are looked up too.
	superseded []path
}

// LookupsOf follows some rules of compiled modules through all rules and functions that they
// refer to.
func LookupsOf(compiler *ast.Compiler, root string, rules ...ast.Ref) Lookups {
	served, superseded := divided(newReader(inventoryRef(root), longestLookedPath, compiler).follow(rules).paths)
	return Lookups{paths: served, superseded: superseded}
}

// Any says that rules may look something up.
func (l Lookups) Any() bool { return len(l.paths) > 0 }

// Fields are the fields of the objects of a kind that rules may read, sorted, with dots between
// their names: spec.rules. None, with whole, means that they may read all of an object.
func (l Lookups) Fields(group, kind string) (fields []string, whole bool) {
	for _, p := range slices.Concat(l.paths, l.superseded) {
		field, concerned := p.field(group, kind)
		if !concerned {
			continue
		}
		if len(field) == 0 {
			return nil, true
		}
		fields = append(fields, strings.Join(field, "."))
	}
	slices.Sort(fields)
	return slices.Compact(fields), false
}

// Versions are the versions in which rules look the objects of a kind up by name, sorted: v1 of
// data.inventory.namespace[ns]["apps/v1"]. One that is computed isn't among them.
func (l Lookups) Versions(group, kind string) (versions []string) {
	for _, p := range l.paths {
		if len(p) == 0 {
			continue
		}
		p, _ := p.keys()
		at, known := versionAt(p[0])
		if _, concerned := p.field(group, kind); !known || !concerned || at >= len(p) || p[at] == anyKey {
			continue
		}
		versions = append(versions, p[at][strings.Index(p[at], "/")+1:])
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

// field is what a path names of an object: cluster, version, kind and name come before it, or
// namespace, its name, version, kind and name.
func (p path) field(group, kind string) (field []string, concerned bool) {
	p, isPresence := p.keys()
	for _, scope := range []string{inCluster, inNamespace} {
		if len(p) > 0 && p[0] != anyKey && p[0] != scope {
			continue
		}
		at, _ := versionAt(scope)
		if p.elsewhere(at, group, kind) || isPresence && len(p) <= at+3 {
			continue // an object is, or isn't there: what it holds isn't read
		}
		rest := p[min(len(p), at+3):]
		if end := slices.IndexFunc(rest, notAField); end >= 0 {
			rest = rest[:end]
		}
		if !concerned || len(rest) < len(field) {
			field = rest
		}
		concerned = true
	}
	return field, concerned
}

// elsewhere says that a path leads to objects of another kind; its version is at a place.
func (p path) elsewhere(at int, group, kind string) bool {
	return p.differs(at, func(version string) bool { return groupOf(version) == group }) ||
		p.differs(at+1, func(k string) bool { return k == kind })
}

// versionAt is how many keys come before the version in a path that begins with one of cluster and namespace.
func versionAt(scope string) (at int, known bool) {
	switch scope {
	case inCluster:
		return 1, true
	case inNamespace:
		return 2, true
	default:
		return 0, false
	}
}

// differs says that a key is known and isn't what is meant.
func (p path) differs(at int, meant func(string) bool) bool {
	return at < len(p) && p[at] != anyKey && !meant(p[at])
}

func groupOf(version string) string {
	group, _, grouped := strings.Cut(version, "/")
	if !grouped {
		return ""
	}
	return group
}

// notAField says that a key isn't known, or can't be written as a part of a field's name.
func notAField(key string) bool {
	return key == anyKey || key == "" || strings.ContainsAny(key, ".,\x00")
}
