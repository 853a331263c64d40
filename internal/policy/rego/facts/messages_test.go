// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

// verdictReads is what decides whether deny finds anything, of a module of package p.
func verdictReads(t *testing.T, module string) facts.Reads {
	t.Helper()
	compiler, err := ast.CompileModules(map[string]string{"p.rego": "package p\n\nimport rego.v1\n\n" + module})
	if err != nil {
		t.Fatal(err)
	}
	return facts.VerdictReadsOf(compiler, [][][]string{{{"object"}}, {{"pod"}}}, ast.MustParseRef("data.p.deny"))
}

// TestWhatAMessageTellsDecidesNothing holds which of the fields name, bad and other of the object decide, and which are
// only asked to be there, in brackets.
func TestWhatAMessageTellsDecidesNothing(t *testing.T) {
	for name, tc := range map[string]struct{ reason, rego, want string }{
		"a message": {"the name is told",
			`deny contains sprintf("%v", [input.object.name]) if input.object.bad == 1`, "[name] bad"},
		"a message by name": {"the same",
			`deny contains m if { input.object.bad == 1; m := sprintf("%v", [input.object.name]) }`, "[name] bad"},
		"as old rules say it": {"the same",
			`deny contains {"msg": m} if { input.object.bad == 1; m = sprintf("%v", [input.object.name]) }`, "[name] bad"},
		"details": {"all of an element is told",
			`deny contains {"msg": "x", "details": {"n": [input.object.name]}} if input.object.bad == 1`, "[name] bad"},
		"a part by another name": {"it is told alone",
			`deny contains m if { o := input.object; o.bad == 1; n := o.name; m := sprintf("%v", [n]) }`, "[name] bad"},
		"a message of a message": {"both are told", `deny contains m if { input.object.bad == 1; ` +
			`n := sprintf("%v", [input.object.name]); m := sprintf("%v", [n]) }`, "[name] bad"},
		"what is there":      {"no more is asked of it", `deny contains "x" if input.object.bad`, "[bad]"},
		"what isn't there":   {"the same", `deny contains "x" if not input.object.bad`, "[bad]"},
		"the element itself": {"it is told", `deny contains input.object.name if input.object.bad == 1`, "[name] bad"},

		"a message that is compared": {"it decides", `deny contains m if { input.object.bad == 1; ` +
			`m := sprintf("%v", [input.object.name]); m != "x" }`, "name bad"},
		"a part of a message that is compared": {"the name decides", `deny contains m if { n := input.object.name; ` +
			`n != "x"; m := sprintf("%v", [n, input.object.bad]) }`, "name [bad]"},
		"a message that is measured": {"it decides", `deny contains m if { input.object.bad == 1; ` +
			`m := sprintf("%v", [input.object.name]); count(m) > 3 }`, "name bad"},
		"what is given": {"it may be no list", `deny contains m if { input.object.bad == 1; ` +
			`m := sprintf("%v", input.object.name) }`, "name bad"},
		"a format of the object": {"it may be no text", `deny contains m if { input.object.bad == 1; ` +
			`m := sprintf(input.object.name, [1]) }`, "name bad"},
		"what is made of it": {"it may fail",
			`deny contains sprintf("%v", [count(input.object.name)]) if input.object.bad == 1`, "name bad"},
		"another function": {"it may fail", `deny contains concat("", [input.object.name]) if input.object.bad == 1`,
			"name bad"},
		"a message within another": {"the array has as many elements as its body has results",
			`deny contains m if { input.object.bad == 1; ` +
				`m := sprintf("%v", [[n | n := sprintf("%v", [input.object.name])]]) }`, "name bad"},
		"a pattern": {"it compares",
			`deny contains m if { input.object.bad == 1; [m, "x"] = [1, input.object.name] }`, "name bad"},
		"a message that two make": {"it is compared", `deny contains m if { m := sprintf("%v", [input.object.name]); ` +
			`m = sprintf("%v", [input.object.bad]) }`, "name bad"},
		"a rule that is asked by another": {"what it finds isn't told",
			"bad contains sprintf(\"%v\", [input.object.name]) if input.object.bad == 1\n" +
				`deny contains "x" if bad["y"]`, "name bad"},
		"no set": {"its value is a verdict", `deny := sprintf("%v", [input.object.name]) if input.object.bad == 1`,
			"name bad"},
	} {
		t.Run(name, func(t *testing.T) {
			object := verdictReads(t, tc.rego).Below([]string{"object"})
			var got []string
			for _, field := range []string{"name", "bad", "other"} {
				switch of := object.Of(field); {
				case of.AsksOnly():
					got = append(got, "["+field+"]")
				case of != nil:
					got = append(got, field)
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("%s: decided by %v, want %s:\n%s", tc.reason, got, tc.want, tc.rego)
			}
		})
	}
}

// TestTheOrderOfElementsIsRead holds which lists' order decides, where their elements are gathered in turn.
func TestTheOrderOfElementsIsRead(t *testing.T) {
	const sets = "all contains c if some c in input.object.a\nall contains c if some c in input.object.b\n" +
		"pods contains c if some c in input.pod.a\nboth contains c if some c in input.object.a\n" +
		"both contains c if some c in input.pod.a\nparts contains c if c := input.object.a[_].x\n"
	for name, tc := range map[string]struct {
		reason, rego string
		// lists are those whose order is read, and whole says that all of the elements is.
		lists, pods int
		whole       bool
	}{
		"an array": {reason: "of each the image", rego: `deny contains "x" if [c.image | some c in all][0] == "a"`,
			lists: 1},
		"an array of a Pod's":     {reason: "the same", rego: `deny contains "x" if [c.image | some c in pods] == []`, pods: 1},
		"a set":                   {reason: "it has no order", rego: `deny contains "x" if count({c.image | some c in all}) > 1`},
		"two documents":           {reason: "no order of both is known", rego: `deny contains "x" if [c.image | some c in both] == []`, whole: true},
		"parts of elements":       {reason: "no list holds them", rego: `deny contains "x" if [c.image | some c in parts] == []`},
		"an array that holds all": {reason: "each is used whole", rego: `deny contains "x" if [c | some c in all] == []`, lists: 1, whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			reads := verdictReads(t, sets+tc.rego)
			lists, pods := len(reads.Orders([]string{"object"})), len(reads.Orders([]string{"pod"}))
			whole := reads.Below([]string{"object"}).Of("a").OfElement().Whole()
			if lists != tc.lists || pods != tc.pods || whole != tc.whole {
				t.Errorf("%s: the order of %d of the object, %d of the Pod; whole %v; want %d, %d, %v:\n%s", tc.reason,
					lists, pods, whole, tc.lists, tc.pods, tc.whole, tc.rego)
			}
		})
	}
}
