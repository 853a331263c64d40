// SPDX-License-Identifier: Apache-2.0

package compiled

import "github.com/open-policy-agent/opa/v1/ast"

// kept is what a function gave for its arguments.
type kept struct {
	function *function
	args     []*ast.Term
	value    *ast.Term
	more     *kept
}

// recall finds what a function gave for the arguments in its frame before: stopped, where the evaluation ends
// before they are compared.
func (m *machine) recall(to *function, f frame) (hash int, found *kept) {
	hash = to.index + 1
	for _, param := range to.params[2:] {
		hash *= 31
		t := f[param]
		if t == nil {
			continue
		}
		if m.beforeHash(t) == failed {
			return hash, &kept{value: stopped}
		}
		hash += t.Hash()
	}
	for k := m.level.calls[hash]; k != nil; k = k.more {
		if k.function != to {
			continue
		}
		o := m.matches(k, f)
		if o == next {
			return hash, k
		}
		if o == failed {
			return hash, &kept{value: stopped}
		}
	}
	return hash, nil
}

// matches compares arguments as same does.
func (m *machine) matches(k *kept, f frame) outcome {
	for i, param := range k.function.params[2:] {
		if o := m.same(k.args[i], f[param]); o != next {
			return o
		}
	}
	return next
}

// remember begins to keep what a function will give for the arguments in its frame.
func (m *machine) remember(to *function, f frame) *kept {
	if m.keptUsed == len(m.kept) {
		m.kept = append(m.kept, &kept{})
	}
	k := m.kept[m.keptUsed]
	m.keptUsed++
	k.function = to
	for _, param := range to.params[2:] {
		k.args = append(k.args, f[param])
	}
	return k
}

// forget makes it ready for another evaluation.
func (k *kept) forget() {
	clear(k.args)
	*k = kept{args: k.args[:0]}
}

func (m *machine) keep(hash int, k *kept) {
	if m.level.calls == nil {
		m.level.calls = map[int]*kept{}
	}
	k.more = m.level.calls[hash]
	m.level.calls[hash] = k
	m.cells++
}
