// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	// anyKey stands for a key that is known only when a rule is evaluated.
	anyKey = "*"
	// present ends a path to what is read of only whether it is there: all that a rule asks of x := input.a.b where x
	// isn't used.
	present = "\x00present"
	// longestPath is how many keys of what is read are kept: the rest is taken to be read whole.
	// Of what is looked up, five lead to an object.
	longestPath       = 9
	longestLookedPath = 5 + longestPath
	// maxWork bounds what is looked at: expressions, terms and paths, each as often as a rule or function is followed.
	// It takes a processor some tenths of a second. Beyond it all is taken to be read.
	maxWork = 1_000_000
	// ruleWork is what following a definition takes besides.
	ruleWork = 10
)

// Reads is what of the input the rules of a policy may read. What can't be told is read.
type Reads struct {
	paths []path
}

// path are keys from the input's root down to what is read, with all that it holds unless it ends with present.
type path []string

// String tells it apart from others.
func (p path) String() string { return fmt.Sprintf("%q", []string(p)) }

// keys are those of a path, and whether it is only asked if something is there.
func (p path) keys() (keys path, isPresence bool) {
	if last := len(p) - 1; last >= 0 && p[last] == present {
		return p[:last], true
	}
	return p, false
}

// May says that rules may read what stands under some keys, or a part of it, or what holds it:
// May("review", "namespaceObject").
func (r Reads) May(keys ...string) bool {
	return slices.ContainsFunc(r.paths, func(p path) bool {
		for i := range min(len(p), len(keys)) {
			if p[i] != anyKey && p[i] != keys[i] {
				return false
			}
		}
		return true
	})
}

// Namespace says that rules may read the Namespace of the object.
func (r Reads) Namespace() bool { return r.May("review", "namespaceObject") }

// ReadsOf follows some rules of compiled modules through all rules and functions that they
// refer to.
func ReadsOf(compiler *ast.Compiler, rules ...ast.Ref) Reads {
	return newReader(ast.InputRootRef, longestPath, compiler).follow(rules)
}

func newReader(root ast.Ref, longest int, compiler *ast.Compiler) *reader {
	return &reader{root: root, longest: longest, compiler: compiler, found: map[string]path{},
		followed: map[string]bool{}, left: maxWork}
}

// follow follows rules, and says what they read.
func (r *reader) follow(rules []ast.Ref) Reads {
	for _, ref := range rules {
		r.rules(ref)
	}
	if r.left < 0 {
		return Reads{paths: []path{{}}}
	}
	out := Reads{}
	for _, key := range slices.Sorted(maps.Keys(r.found)) {
		out.paths = append(out.paths, r.found[key])
	}
	return out
}

// reader gathers what is read.
type reader struct {
	// root is the document that is looked at, input for one, and longest how many keys of a path
	// below it are kept.
	root     ast.Ref
	longest  int
	compiler *ast.Compiler
	found    map[string]path
	// followed are the rules that were, with what their arguments stand for.
	followed map[string]bool
	// left is how much more may be looked at.
	left int
}

// spend takes work from what is left, and says whether there was enough.
func (r *reader) spend(work int) bool {
	r.left -= work
	return r.left >= 0
}

// read notes what is read, with all that it holds.
func (r *reader) read(paths ...path) {
	for _, p := range paths {
		if !r.spend(2 + len(p)) {
			return
		}
		r.found[p.String()] = p
	}
}

// there notes that it is read whether something is there.
func (r *reader) there(paths ...path) {
	for _, p := range paths {
		if len(p) > 0 {
			p = append(slices.Clone(p), present)
			r.read(p[:min(len(p), r.longest)])
		}
	}
}

func (r *reader) all() { r.read(path{}) }

// rules follows those that a reference may lead to. Functions are followed where they are called.
func (r *reader) rules(ref ast.Ref) {
	for _, rule := range r.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true}) {
		if !r.spend(1) {
			return
		}
		if len(rule.Head.Args) == 0 {
			r.rule(rule, nil)
		}
	}
}

// argument is what a function is given.
type argument struct {
	// paths are the parts of the document that it is another name of.
	paths []path
	// text is what it is where isText says that it is a text that the policy itself has.
	text   string
	isText bool
}

// String tells it apart from others.
func (a argument) String() string { return fmt.Sprintf("%v, %q, %t", a.paths, a.text, a.isText) }

// rule follows one definition, with what its arguments stand for. Rego has no recursion.
func (r *reader) rule(rule *ast.Rule, arguments []argument) {
	key := fmt.Sprintf("%p%v", rule, arguments)
	if r.followed[key] || !r.spend(ruleWork+len(key)/ruleWork) {
		return
	}
	r.followed[key] = true
	newBody(r, rule, arguments).definition(rule, arguments)
}

func (r *reader) function(rules []*ast.Rule, arguments []argument) {
	for _, rule := range rules {
		if !r.spend(1) {
			return
		}
		r.rule(rule, arguments[:min(len(arguments), len(rule.Head.Args))])
	}
}
