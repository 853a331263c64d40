// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

// readsOf is what the rule deny of package a reads.
func readsOf(t *testing.T, version v1alpha1.RegoVersion, rego string) facts.Reads {
	t.Helper()
	sources := []v1alpha1.RegoLibrary{{Name: "a.rego", Source: "package a\n" + rego}}
	modules, err := compile.Parse(sources, version)
	if err != nil {
		t.Fatal(err)
	}
	built, err := compile.Modules(version, sources, modules)
	if err != nil {
		t.Fatal(err)
	}
	return facts.ReadsOf(built.Compiler, ast.MustParseRef("data.a.deny"))
}

func TestReadsOf(t *testing.T) {
	const yes, no = true, false
	cases := map[string]struct {
		reason string
		rego   string
		// whether it may read the namespace, the old object, the user
		namespace, oldObject, user bool
	}{
		"plainly": {"written as it is",
			`deny contains "x" if input.review.namespaceObject.metadata.labels.team == "a"`, yes, no, no},
		"none of them": {"the object alone",
			`deny contains "x" if input.object.spec.a == 1`, no, no, no},
		"a comment": {"a comment isn't evaluated",
			"# input.review.namespaceObject\ndeny contains \"x\" if input.object.a", no, no, no},
		"a text": {"a text isn't a reference",
			`deny contains "look at namespaceObject, oldObject and userInfo" if input.object.a`, no, no, no},
		"a key of that name elsewhere": {"it is of the object",
			`deny contains "x" if input.object.spec.namespaceObject`, no, no, no},
		"by brackets": {"the same by another spelling",
			`deny contains "x" if input["review"]["namespaceObject"].metadata`, yes, no, no},
		"a key put together": {"no text names it",
			`deny contains "x" if { key := concat("", ["namespace", "Object"]); input.review[key].metadata }`, yes, yes,
			yes},
		"any key of the input": {"it may be any",
			`deny contains "x" if input[_].namespaceObject`, yes, no, no},
		"any key at all": {"it may be any",
			`deny contains "x" if { some key; input[key] == 1 }`, yes, yes, yes},
		"whether there is any key": {"nothing more is asked of it",
			`deny contains "x" if { some key; input[key] }`, no, no, no},
		"any key of the object": {"the object alone",
			`deny contains "x" if { some key; input.object[key] }`, no, no, no},
		"another name of the input": {"an alias, then a part of it",
			`deny contains "x" if { x := input; x.object.a }`, no, no, no},
		"another name, and the namespace": {"an alias, then that part of it",
			`deny contains "x" if { x := input; y := x.review; y.namespaceObject.a }`, yes, no, no},
		"another name of another name": {"an alias of an alias, then a part of it",
			`deny contains "x" if { x := input; y := x; y.review.userInfo.username }`, no, no, yes},
		"object.get that nothing is compared with": {"whether it is there",
			`deny contains "x" if object.get(input.review, "userInfo", false)`, no, no, yes},
		"another name that is kept": {"all of it leaves the rule",
			`deny contains x if { x := input }`, yes, yes, yes},
		"another name that is compared": {"to compare is to read",
			`deny contains "x" if { x := input.review; y := input.object; x == y }`, yes, yes, yes},
		"another name that is gathered": {"what becomes of it isn't followed",
			`deny contains "x" if { x := [input.review]; x[0].object }`, yes, yes, yes},
		"an import": {"an alias of the module's",
			"import input.review.namespaceObject as ns\ndeny contains \"x\" if ns.metadata", yes, no, no},
		"a built-in that is given all": {"it may look at anything",
			`deny contains "x" if { walk(input, [_, v]); v == 1 }`, yes, yes, yes},
		"a built-in that is given a part": {"of the object alone",
			`deny contains "x" if count(input.object.spec) > 1`, no, no, no},
		"a part that is compared with what holds it": {"it is no other name of itself",
			`deny contains "x" if { some k; input.review[k]; k == k.userInfo }`, yes, yes, yes},
		"parts that are compared in a circle": {"they are no other names of each other",
			`deny contains "x" if { some k, l; input.review[k]; input.object[l]; k == l.a; l == k.b }`, yes, yes, yes},
		"object.get": {"it reads what is under its key",
			`deny contains "x" if object.get(input.review, "namespaceObject", {}) == {}`, yes, no, no},
		"object.get of several keys": {"they stand one in the other",
			`deny contains "x" if object.get(input, ["review", "namespaceObject", "metadata"], {}) == {}`, yes, no, no},
		"object.get of other keys": {"the rest isn't read",
			`deny contains "x" if object.get(input, ["parameters", "exempt"], []) == []`, no, no, no},
		"object.get of a key that isn't known": {"it may be any",
			`deny contains "x" if { some key in ["a"]; object.get(input.review, key, {}) == {} }`, yes, yes, yes},
		"object.get of a key after one that isn't known": {"that may be any",
			`deny contains "x" if { some key in ["a"]; object.get(input, [key, "userInfo"], {}) == {} }`, no, no, yes},
		"object.get of no keys": {"it is the object itself",
			`deny contains "x" if object.get(input.review, [], {}) == {}`, yes, yes, yes},
		"object.get by another name": {"an alias, and what is under the key",
			`deny contains "x" if { r := input.review; object.get(r, "userInfo", {}) == {} }`, no, no, yes},
		"object.get with a default that is read": {"it may be the result",
			`deny contains "x" if object.get(input.object, "a", input.review.oldObject) == {}`, no, yes, no},
		"object.get with a key that is read": {"it is looked at",
			`deny contains "x" if object.get(input.object, input.request.userInfo.username, 1) == 1`, no, no, yes},
		"object.get with a key in a list that is read": {"it is looked at",
			`deny contains "x" if object.get(input.object, ["a", input.request.userInfo.username], 1) == 1`, no, no, yes},
		"object.get of what a function is given": {"it is followed with that",
			"of(x) := object.get(x, \"userInfo\", 1)\ndeny contains \"x\" if of(input.request) == 1", no, no, yes},
		"object.get of what isn't known": {"it is read",
			`deny contains "x" if object.get({"a": input.review}, "a", 1).object`, yes, yes, yes},
		"the keys of a part alone": {"what is under them isn't used, but they are there or not",
			`deny contains k if some k, _ in input.review.namespaceObject.metadata.labels`, yes, no, no},
		"a part that isn't used": {"the rule asks whether it is there",
			`deny contains "x" if _ = input.review.oldObject.metadata.labels.team`, no, yes, no},
		"a function that doesn't use what it is given": {"it is asked only if that is there",
			"of(_) := 1\ndeny contains \"x\" if of(input.review.userInfo.username)", no, no, yes},
		"a function that reads": {"it is followed",
			"of(x) := x.review.namespaceObject.a\ndeny contains \"x\" if of(input)", yes, no, no},
		"a function that reads the rest": {"it is followed with what it is given",
			"of(x) := x.review.object.a\ndeny contains \"x\" if of(input)", no, no, no},
		"a function of a function": {"each is followed",
			"inner(r) := r.userInfo.username\nof(x) := inner(x.request)\ndeny contains \"x\" if of(input) == \"a\"", no,
			no, yes},
		"a function that gives what it is given": {"what becomes of it isn't followed",
			"same(x) := x\ndeny contains \"x\" if same(input.review).object", yes, yes, yes},
		"a function with a pattern": {"to match is to read",
			"is([x, _]) if x\nis({\"a\": x}) if x\ndeny contains \"x\" if is(input.review)", yes, yes, yes},
		"a function that reads by itself": {"whatever it is given",
			"old if input.request.oldObject.a\nof(x) if { x; old }\ndeny contains \"x\" if of(1)", no, yes, no},
		"another rule": {"what a rule refers to is followed",
			"ns := input.review.namespaceObject\ndeny contains \"x\" if ns.a", yes, no, no},
		"a rule that nothing refers to": {"it isn't evaluated",
			"ns := input.review.namespaceObject\ndeny contains \"x\" if input.object.a", no, no, no},
		"an else": {"it comes in place of the body",
			"v := 1 if input.object.a\nelse := 2 if input.request.userInfo.groups[_] == \"a\"\ndeny contains \"x\" " +
				"if v == 2", no, no, yes},
		"in every": {"its body is evaluated",
			`deny contains "x" if every c in input.object.spec.containers { c.image == input.review.namespaceObject.image }`, yes, no, no},
		"in a comprehension": {"its body is evaluated",
			`deny contains "x" if count([1 | input.request.userInfo.uid]) == 1`, no, no, yes},
		"not": {"it is evaluated all the same",
			`deny contains "x" if not input.request.oldObject`, no, yes, no},
		"with a part as the input": {"the value is read where it stands",
			"ok if input.a\ndeny contains \"x\" if ok with input as input.review.namespaceObject", yes, no, no},
		"with another function": {"what stands in for it isn't followed",
			"f(_) := 1\ng(x) := x.review.namespaceObject\ndeny contains \"x\" if f(input) == 1 with f as g", yes, yes,
			yes},
		"in a text with values": {"a template is evaluated",
			`deny contains $"in {input.review.namespaceObject.metadata.name}" if input.object.a`, yes, no, no},
		"both objects": {"the request's and the review's",
			`deny contains "x" if input.review.oldObject.a != input.object.a`, no, yes, no},
		"all of the request": {"it holds them",
			`deny contains sprintf("%v", [input.request]) if true`, no, yes, yes},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := readsOf(t, v1alpha1.RegoV1, tc.rego)
			if got.Namespace() != tc.namespace || oldObject(got) != tc.oldObject || user(got) != tc.user {
				t.Errorf("%s: it reads the namespace %t, the old object %t, the user %t; want %t, %t, %t\n%s",
					tc.reason, got.Namespace(), oldObject(got), user(got), tc.namespace, tc.oldObject, tc.user,
					tc.rego)
			}
		})
	}
}

func TestReadsOfTheOldSyntax(t *testing.T) {
	if got := readsOf(t, v1alpha1.RegoV0,
		"deny[msg] { r = input.review; r.namespaceObject.a; msg = \"x\" }"); !got.Namespace() || oldObject(got) {
		t.Errorf("it reads the namespace %t, the old object %t; want the namespace alone", got.Namespace(),
			oldObject(got))
	}
}

func oldObject(r facts.Reads) bool {
	return r.May("request", "oldObject") || r.May("review", "oldObject")
}

func user(r facts.Reads) bool { return r.May("request", "userInfo") || r.May("review", "userInfo") }
