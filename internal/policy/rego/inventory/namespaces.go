// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"maps"
	"slices"
)

// MostNamespaces is how many namespaces are told apart: of more it is only known that they are many, so that a change
// of all objects in a large cluster takes no more memory than that of some.
const MostNamespaces = 64

// Namespaces are those in which objects have changed. It is immutable; the zero value is none.
type Namespaces struct {
	all   bool
	names map[string]struct{}
}

// AllNamespaces is any of them, and none.
func AllNamespaces() Namespaces { return Namespaces{all: true} }

// InNamespaces are those of these names.
func InNamespaces(names ...string) Namespaces {
	n := Namespaces{names: make(map[string]struct{}, len(names))}
	for _, name := range names {
		n.names[name] = struct{}{}
	}
	return n.bounded()
}

// With is both.
func (n Namespaces) With(other Namespaces) Namespaces {
	if n.all || other.all {
		return AllNamespaces()
	}
	both := Namespaces{names: make(map[string]struct{}, len(n.names)+len(other.names))}
	maps.Copy(both.names, n.names)
	maps.Copy(both.names, other.names)
	return both.bounded()
}

func (n Namespaces) bounded() Namespaces {
	if len(n.names) > MostNamespaces {
		return AllNamespaces()
	}
	return n
}

// All says that it may be any.
func (n Namespaces) All() bool { return n.all }

// None says that there is none.
func (n Namespaces) None() bool { return !n.all && len(n.names) == 0 }

// Names are their names, sorted, if not All.
func (n Namespaces) Names() []string { return slices.Sorted(maps.Keys(n.names)) }
