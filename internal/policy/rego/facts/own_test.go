// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"
)

// own is how most rules name the namespace of the object that they judge.
const own = `input.object.metadata.namespace`

// TestLookupsInTheObjectsOwnNamespace goes through the ways in which rules look Services up. That one is wrongly taken
// to stay in the object's namespace would have the scan miss violations.
func TestLookupsInTheObjectsOwnNamespace(t *testing.T) {
	cases := map[string]struct {
		reason string
		rego   string
		want   bool
	}{
		"by input.object": {"as most rules do",
			`deny contains "x" if data.inventory.namespace[` + own + `].v1.Service[_].spec.a`, true},
		"by input.review.object": {"as rules for Gatekeeper do",
			`deny contains "x" if data.inventory.namespace[input.review.object.metadata.namespace].v1.Service.b`, true},
		"by input.review":  {"the same", `deny contains "x" if data.inventory.namespace[input.review.namespace].v1.Service.b`, true},
		"by input.request": {"the same", `deny contains "x" if data.inventory.namespace[input.request.namespace].v1.Service.b`, true},
		"by input.request.object": {"the same",
			`deny contains "x" if data.inventory.namespace[input.request.object.metadata.namespace].v1.Service.b`, true},
		"by input.pod": {"a template has the namespace of its workload",
			`deny contains "x" if data.inventory.namespace[input.pod.metadata.namespace].v1.Service.b`, true},
		"by another name": {"the name is bound before",
			`deny contains "x" if { ns := ` + own + `; data.inventory.namespace[ns].v1.Service.b }`, true},
		"by a name of the object": {"the name leads to it",
			`deny contains "x" if { o := input.review.object; ns := o.metadata.namespace; data.inventory.namespace[ns].v1.Service.b }`,
			true},
		"by a variable that is unified before": {"it has the value from there on",
			`deny contains "x" if { some ns; ns = ` + own + `; data.inventory.namespace[ns].v1.Service.b }`, true},
		"by a rule": {"it has one definition",
			`ns := ` + own + "\n" + `deny contains "x" if data.inventory.namespace[ns].v1.Service.b`, true},
		"by a rule under a condition": {"it has that value, or none",
			`ns := n if { n := ` + own + `; input.object.a }` + "\n" +
				`deny contains "x" if data.inventory.namespace[ns].v1.Service.b`, true},
		"by a rule for the object": {"what is left of the reference leads on",
			`o := input.review.object` + "\n" +
				`deny contains "x" if data.inventory.namespace[o.metadata.namespace].v1.Service.b`, true},
		"in a negation": {"it is bound outside",
			`deny contains "x" if { ns := ` + own + `; not data.inventory.namespace[ns].v1.Service.b }`, true},
		"in a comprehension": {"it is bound outside",
			`deny contains "x" if { ns := ` + own + `; count([s | s := data.inventory.namespace[ns].v1.Service[_]]) > 1 }`, true},
		"in every": {"it is bound outside",
			`deny contains "x" if { ns := ` + own + `; every n in ["a"] { data.inventory.namespace[ns].v1.Service[n] } }`, true},
		"by a rule that gives them": {"it is followed",
			`all := data.inventory.namespace[` + own + `].v1.Service` + "\n" + `deny contains "x" if all[_].spec.a`, true},
		"handed to a function": {"what is handed is known",
			`f(s) := s.spec.a` + "\n" + `deny contains "x" if f(data.inventory.namespace[` + own + `].v1.Service[_])`, true},
		"of a set": {"its elements are known",
			`all contains s if s := data.inventory.namespace[` + own + `].v1.Service[_]` + "\n" +
				`deny contains "x" if { some s in all; s.spec.a }`, true},
		"of another kind elsewhere": {"Services aren't meant",
			`deny contains "x" if data.inventory.namespace[_].v1.Pod[_].spec.a`, true},
		"not at all":    {"no verdict depends on any", `deny contains "x" if input.object.a`, true},
		"of everything": {"the namespace is its own", `deny contains "x" if count(data.inventory.namespace[` + own + `]) > 1`, true},

		"in a comprehension that is indexed": {"topdown evaluates it once for all namespaces",
			`deny contains "x" if { ns := ` + own + `; count([1 | some n in input.object.spec.all; n == ns
to_number(data.inventory.namespace[n].v1.Service[_].spec.a) > 0]) == 1 }`, false},
		"in one that is indexed, by a rule": {"the same",
			`ns := ` + own + "\n" + `deny contains "x" if { m := ns; count({1 | some n in input.object.spec.all; n == m
to_number(data.inventory.namespace[n].v1.Service[_].spec.a) > 0}) == 1 }`, false},
		"in one that is indexed, by its Namespaces": {"the same",
			`deny contains "x" if { ns := ` + own + `; count([1 | some n; data.inventory.cluster.v1.Namespace[n]; n == ns
to_number(data.inventory.namespace[n].v1.Service[_].spec.a) > 0]) == 1 }`, false},
		"in one that is indexed, by the outer name": {"it isn't bound there until it is compared",
			`deny contains "x" if { ns := ` + own + `; count([1 | some n in input.object.spec.all; n == ns
to_number(data.inventory.namespace[ns].v1.Service[_].spec.a) > 0]) == 1 }`, false},

		"everywhere": {"all namespaces are looked through",
			`deny contains "x" if data.inventory.namespace[_].v1.Service[_].spec.a`, false},
		"in one and everywhere": {"one lookup is enough",
			`deny contains "x" if { data.inventory.namespace[` + own + `].v1.Service.b; data.inventory.namespace[_].v1.Service.c }`,
			false},
		"everywhere, compared afterwards": {"a rule may fail on the way",
			`deny contains "x" if { some ns; s := data.inventory.namespace[ns].v1.Service[_]; to_number(s.spec.a) > 1; ns == ` +
				own + ` }`, false},
		"compared in a negation": {"every other one is meant",
			`deny contains "x" if { some ns; data.inventory.namespace[ns].v1.Service.b; not ns == ` + own + ` }`, false},
		"negated before": {"what isn't so binds nothing",
			`deny contains "x" if { some ns in input.object.list; not ns = ` + own + `; data.inventory.namespace[ns].v1.Service.b }`,
			false},
		"bound in a comprehension": {"outside it is another",
			`deny contains "x" if { some ns in input.object.list; count([1 | ns = ` + own +
				`]) > 0; data.inventory.namespace[ns].v1.Service.b }`, false},
		"bound in every": {"outside it is another",
			`deny contains "x" if { some ns in input.object.list; every n in ["a"] { ns = ` + own +
				`; n }; data.inventory.namespace[ns].v1.Service.b }`, false},
		"by the parameter of a function": {"it may be any",
			`f(ns) if data.inventory.namespace[ns].v1.Service.b` + "\n" + `deny contains "x" if f(` + own + `)`, false},
		"by a part of the object": {"who writes the object chooses it",
			`deny contains "x" if data.inventory.namespace[input.object.spec.namespace].v1.Service.b`, false},
		"by a label": {"the same",
			`deny contains "x" if data.inventory.namespace[input.object.metadata.labels.namespace].v1.Service.b`, false},
		"by the old object": {"a scan has none",
			`deny contains "x" if data.inventory.namespace[input.review.oldObject.metadata.namespace].v1.Service.b`, false},
		"by the object's name": {"only a Namespace is named as itself",
			`deny contains "x" if data.inventory.namespace[input.object.metadata.name].v1.Service.b`, false},
		"by a name": {"all objects look there", `deny contains "x" if data.inventory.namespace.shared.v1.Service.b`, false},
		"by a key of input that is computed": {"it may be any",
			`deny contains "x" if { some k; data.inventory.namespace[input.object.metadata[k]].v1.Service.b }`, false},
		"by a rule with a default": {"it may be the other value",
			"default ns := \"shared\"\nns := " + own + "\n" + `deny contains "x" if data.inventory.namespace[ns].v1.Service.b`, false},
		"by a rule with else": {"the same",
			"ns := " + own + " if { input.object.a } else := \"shared\"\n" +
				`deny contains "x" if data.inventory.namespace[ns].v1.Service.b`, false},
		"by a rule of two definitions": {"the same",
			"ns := " + own + " if { input.object.a }\nns := \"shared\" if { not input.object.a }\n" +
				`deny contains "x" if data.inventory.namespace[ns].v1.Service.b`, false},
		"by an element of a set": {"it may be any",
			"all contains " + own + "\nall contains \"shared\"\n" +
				`deny contains "x" if { some ns in all; data.inventory.namespace[ns].v1.Service.b }`, false},
		"with another input": {"it is another object's namespace",
			`deny contains "x" if g with input as {"object": {"metadata": {"namespace": "shared"}}}` + "\n" +
				`g if data.inventory.namespace[` + own + `].v1.Service.b`, false},
		"with another rule": {"the same",
			`ns := ` + own + "\n" + `deny contains "x" if g with ns as "shared"` + "\n" +
				`g if data.inventory.namespace[ns].v1.Service.b`, false},
		"all of them":          {"nothing tells", `deny contains "x" if count(data.inventory.namespace) > 1`, false},
		"whether there is any": {"one elsewhere is enough", `deny contains "x" if data.inventory.namespace`, false},
		"walked":               {"walk reads all", `deny contains "x" if { walk(data.inventory, [_, "a"]) }`, false},
		"by any data":          {"the place is computed", `deny contains "x" if { some k; data[k].namespace }`, false},
		"in a scope that is computed": {"it may be all",
			`deny contains "x" if { some k; data.inventory[k][` + own + `].v1.Service.b }`, false},
		"by object.get": {"its keys aren't followed",
			`deny contains "x" if object.get(data.inventory.namespace, [` + own + `, "v1"], {}) == {}`, false},
		"of the cluster": {"a kind isn't known to live in namespaces",
			`deny contains "x" if data.inventory.cluster.v1.Service[` + own + `].spec.b`, false},
		"by a key that looks like the sign of it": {"it is a text of the policy",
			`deny contains "x" if data.inventory.namespace["\u0000own"].v1.Service.b`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := lookups(t, strings.ReplaceAll(tc.rego, "; ", "\n"))
			if got := l.InOwnNamespace("", "Service"); got != tc.want {
				t.Errorf("got %v, want %v: %s", got, tc.want, tc.reason)
			}
		})
	}
}

func TestLookupsOfTheObjectsOwnNamespace(t *testing.T) {
	cases := map[string]struct {
		reason string
		rego   string
		want   bool
	}{
		"itself": {"as most rules do",
			`deny contains "x" if data.inventory.cluster.v1.Namespace[` + own + `].metadata.labels.a`, true},
		"of any kind": {"a Namespace among them has that name",
			`deny contains "x" if { some kind; data.inventory.cluster.v1[kind][` + own + `].metadata.labels.a }`, true},
		"any": {"all are looked through", `deny contains "x" if data.inventory.cluster.v1.Namespace[_].metadata.labels.a`, false},
		"one by name": {"all objects look there",
			`deny contains "x" if data.inventory.cluster.v1.Namespace.shared.metadata.labels.a`, false},
		"whether there are any": {"one of another name is enough", `deny contains "x" if data.inventory.cluster.v1.Namespace`, false},
		"by the object's name": {"another object's verdict depends on it",
			`deny contains "x" if data.inventory.cluster.v1.Namespace[input.object.metadata.name]`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := lookups(t, strings.ReplaceAll(tc.rego, "; ", "\n"))
			if got := l.InOwnNamespace("", "Namespace"); got != tc.want {
				t.Errorf("got %v, want %v: %s", got, tc.want, tc.reason)
			}
		})
	}
}
