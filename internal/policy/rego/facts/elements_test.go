// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// TestElementsOfSetsAreReadInPart holds what is read of each element of a set that a rule makes. Each rule is asked of
// elements with the fields name, image and rest.
func TestElementsOfSetsAreReadInPart(t *testing.T) {
	const containers = "containers contains c if c := input.object.containers[_]\n" +
		"containers contains c if c := input.object.initContainers[_]\n"
	for name, tc := range map[string]struct {
		reason, rego string
		// read are those of the fields that are read.
		read string
	}{
		"each by another name": {"a part of each is used",
			`deny contains "x" if { c := containers[_]; c.image == "a" }`, "image"},
		"each in turn": {"the same in other words",
			`deny contains "x" if { some c in containers; c.image == "a" }`, "image"},
		"by the variable of the reference": {"the same, as old rules say it",
			`deny contains "x" if { some c; containers[c]; c.image == "a" }`, "image"},
		"a part at once": {"without another name", `deny contains "x" if containers[_].image == "a"`, "image"},
		"a message": {"what it names is read",
			`deny contains sprintf("%v", [c.name]) if { c := containers[_]; c.image == "a" }`, "name image"},
		"in a function": {"it is followed with each",
			"bad(c) if c.image == \"a\"\ndeny contains \"x\" if { c := containers[_]; bad(c) }", "image"},
		"in a function, at once": {"it is followed with each",
			"bad(c) if c.image == \"a\"\ndeny contains \"x\" if bad(containers[_])", "image"},
		"a function of a key": {"the key is known where it is called",
			"has(c, key) if c[key]\ndeny contains \"x\" if { c := containers[_]; not has(c, \"image\") }", "image"},
		"a function of a key, called by another": {"the key is handed on",
			"has(c, key) if c[key]\nlacks(c, key) if not has(c, key)\n" +
				"deny contains \"x\" if { c := containers[_]; lacks(c, \"image\") }", "image"},
		"object.get in a function of a key": {"the key is known where it is called",
			"value(c, key) := object.get(c, key, \"\")\ndeny contains \"x\" if { c := containers[_]; " +
				"value(c, \"image\") == \"\" }", "image"},
		"a function of a key that isn't known": {"it may be any",
			"has(c, key) if c[key]\ndeny contains \"x\" if { c := containers[_]; has(c, input.object.key) }",
			"name image rest"},
		"a function of one key, called with two": {"both",
			"has(c, key) if c[key]\ndeny contains \"x\" if { c := containers[_]; has(c, \"image\"); " +
				"not has(c, \"name\") }",
			"name image"},
		"a function that compares the key with another argument": {"it isn't known to be that one",
			"has(c, key, key) if c[key]\ndeny contains \"x\" if { c := containers[_]; has(c, \"image\", \"image\") }",
			"name image rest"},
		"a key that a rule names": {"it may be another where it is compared",
			`deny contains "x" if { c := containers[_]; some key; c[key]; not key == "image" }`, "name image rest"},
		"a set of a set": {"each of each",
			"bad contains c if { c := containers[_]; c.name }\n" +
				"deny contains \"x\" if { c := bad[_]; c.image == \"a\" }",
			"name image"},
		"a set of parts": {"what is put into it is used whole",
			"images contains i if i := containers[_].image\ndeny contains i if i := images[_]", "image"},
		"a set of what is made of parts": {"what it is made of is read",
			"pairs contains {\"i\": c.image} if c := containers[_]\n" +
				"deny contains \"x\" if pairs[_].i == \"a\"", "image"},
		"in a set comprehension": {"equal elements give the same",
			`deny contains "x" if count({c.image | c := containers[_]}) > 1`, "image"},
		"not in an object": {"equal elements give the same",
			`deny contains "x" if { c := containers[_]; not {"a": 1}[c.image] }`, "image"},

		"all of it": {"it leaves the rule", `deny contains c if c := containers[_]`, "name image rest"},
		"how many": {"those that differ in the rest are more", `deny contains "x" if count(containers) > 1`,
			"name image rest"},
		"how many in an array": {"the same", `deny contains "x" if count([1 | containers[_]]) > 1`, "name image rest"},
		"how many in an array, by name": {"the same",
			`deny contains "x" if count([c.image | c := containers[_]]) > 1`, "name image rest"},
		"how many in an array within": {"the same",
			`deny contains "x" if { a := [n | n := count({c.image | c := containers[_]; c.name})]; a == [1] }`,
			"name image rest"},
		"an element that is compared": {"to compare is to read",
			`deny contains "x" if { c := containers[_]; d := containers[_]; c != d; c.image == "a" }`, "name image rest"},
		"an element that is known already": {"it is compared with those in the set",
			`deny contains "x" if { c := input.object.containers[_]; not containers[c]; c.image }`, "name image rest"},
		"an element of two sets": {"they are compared",
			"others contains c if c := input.object.others[_]\n" +
				`deny contains "x" if { some c; containers[c]; others[c]; c.image }`, "name image rest"},
		"an element that an equality gives, too": {"they are compared",
			`deny contains "x" if { some c; containers[c]; c = input.object.containers[0]; c.image }`, "name image rest"},
		"an element that is an argument": {"it is looked for",
			"is(c) if containers[c]\ndeny contains \"x\" if is(input.object.containers[0])", "name image rest"},
		"an element that every gives": {"it is looked for",
			`deny contains "x" if every c in input.object.containers { containers[c] }`, "name image rest"},
		"an element that a function gives": {"it is looked for",
			`deny contains "x" if { walk(input.object, [_, c]); containers[c]; c.image }`, "name image rest"},
		"an element of a pattern": {"it is looked for",
			`deny contains "x" if { [c, _] = [input.object.containers[0], 1]; containers[c]; c.image }`, "name image rest"},
		"every element": {"what every gives isn't followed",
			`deny contains "x" if every c in containers { c.image }`, "name image rest"},
		"the set by another name": {"what becomes of it isn't followed",
			`deny contains "x" if { s := containers; s[_].image }`, "name image rest"},
		"another set stands in": {"what comes of it isn't followed",
			"ok if containers[_].image\nothers contains 1\ndeny contains \"x\" if ok with data.a.containers as others",
			"name image rest"},
	} {
		t.Run(name, func(t *testing.T) {
			reads := readsOf(t, v1alpha1.RegoV1, containers+tc.rego)
			var read []string
			for _, field := range []string{"name", "image", "rest"} {
				if reads.May("object", "containers", "0", field) {
					read = append(read, field)
				}
			}
			if diff := cmp.Diff(tc.read, strings.Join(read, " ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestARuleThatMakesSeveralSetsIsNoSet: what a reference to it leads to isn't an element.
func TestARuleThatMakesSeveralSetsIsNoSet(t *testing.T) {
	reads := readsOf(t, v1alpha1.RegoV1,
		"s[key] contains c if { some key in [\"a\"]; c := input.object.containers[_] }\n"+
			"deny contains \"x\" if { some k; c := s[k]; c[_].image }")
	if !reads.May("object", "containers", "0", "rest") {
		t.Error("it doesn't read all of each")
	}
}
