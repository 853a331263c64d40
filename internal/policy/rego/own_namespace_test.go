// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// lookingUp writes policies that look Services up, by all that may be the namespace of the object judged, or may not.
type lookingUp struct {
	t *rapid.T
	// vars are the variables in scope, and names counts them.
	vars  []string
	names int
}

func (l *lookingUp) of(choices ...string) string {
	return rapid.SampledFrom(choices).Draw(l.t, "choice")
}

func (l *lookingUp) fresh() string {
	l.names++
	return fmt.Sprintf("v%d", l.names)
}

// namespace is some namespace, more often than not the object's own.
func (l *lookingUp) namespace() string {
	return l.of(append([]string{"input.object.metadata.namespace", "input.object.metadata.namespace",
		"input.review.object.metadata.namespace", "input.request.namespace", "own", "own", "object.metadata.namespace",
		"input.object.spec.namespace", "other", `"b"`}, l.vars...)...)
}

// body are some expressions, each of which may bind a variable for those after it.
func (l *lookingUp) body(depth int) string {
	outer := len(l.vars)
	var out []string
	for range rapid.IntRange(1, 3).Draw(l.t, "expressions") {
		out = append(out, l.expression(depth))
	}
	l.vars = l.vars[:outer]
	return strings.Join(out, "\n")
}

func (l *lookingUp) expression(depth int) string {
	choice := rapid.IntRange(0, 13).Draw(l.t, "expression")
	if depth == 0 {
		choice %= 10
	}
	switch choice {
	case 0, 1:
		v, is := l.fresh(), l.namespace()
		l.vars = append(l.vars, v)
		return fmt.Sprintf("%s := %s\n%s != 0", v, is, v) // a variable that nothing uses is an error
	case 2:
		v := l.fresh()
		l.vars = append(l.vars, v)
		return fmt.Sprintf("some %s\ndata.inventory.namespace[%s].v1.Service[_].spec.a", v, v)
	case 3:
		return l.namespace() + l.of(" == ", " = ", " != ") + l.namespace()
	case 4:
		return fmt.Sprintf("to_number(data.inventory.namespace[%s].v1.Service[_].spec.a) > 0", l.namespace())
	case 5:
		return fmt.Sprintf("not data.inventory.namespace[%s].v1.Service.x", l.namespace())
	case 6:
		return fmt.Sprintf("f(%s)", l.namespace())
	case 7:
		return fmt.Sprintf("data.inventory.cluster.v1.Namespace[%s].metadata.labels.a", l.namespace())
	case 8: // it may fail before it is known which namespace is meant
		v := l.fresh()
		return fmt.Sprintf("some %s\nto_number(data.inventory.namespace[%s].v1.Service[_].spec.a) > 0\n%s == %s", v, v,
			v, l.namespace())
	case 9:
		v, is := l.fresh(), l.namespace()
		l.vars = append(l.vars, v)
		return fmt.Sprintf("some %s in [%s, %s]\nnot %s = %s", v, is, l.namespace(), v, l.namespace())
	case 10:
		return fmt.Sprintf("count([1 | %s]) > 0", l.body(depth-1))
	case 11:
		return fmt.Sprintf("every k in [1] {\nk == 1\n%s\n}", l.body(depth-1))
	case 12:
		return fmt.Sprintf("not g%d", rapid.IntRange(0, 1).Draw(l.t, "helper"))
	default:
		return fmt.Sprintf("count({k | some k in [%s]\n%s}) == 0", l.namespace(), l.body(depth-1))
	}
}

func (l *lookingUp) policy() *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{}
	p.Name = "own"
	p.Spec.Rego.Main = strings.Join([]string{"package own", "own := input.review.object.metadata.namespace",
		"object := input.object", l.of("other := input.object.spec.namespace", `other := "b"`,
			"other := input.object.metadata.namespace"),
		l.of("f(ns) if data.inventory.namespace[ns].v1.Service.x", "f(ns) if ns == own",
			"f(_) if data.inventory.namespace[own].v1.Service[_].spec.a == \"1\""),
		"g0 if {\n" + (&lookingUp{t: l.t}).body(0) + "\n}", "g1 if {\n" + (&lookingUp{t: l.t}).body(0) + "\n}",
		"deny contains \"x\" if {\n" + l.body(2) + "\n}", "deny contains \"y\" if {\n" + l.body(1) + "\n}"}, "\n\n")
	p.Spec.Match = v1alpha1.Match{References: []v1alpha1.ReferencedKind{{Kind: "Service"}, {Kind: "Namespace"}},
		Resources: []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}}
	return p
}

// surroundings are tables of Services in some namespaces, and of the Namespaces: as own says in "a", and elsewhere in any
// way.
func surroundings(t *rapid.T, references []inventory.Reference, own []string) *inventory.Joined {
	var tables []*inventory.Table
	put := func(table *inventory.Table, kind, namespace, name, value string) {
		item, err := table.Compact(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind,
			"metadata": map[string]any{"namespace": namespace, "name": name, "labels": map[string]any{"a": value}},
			"spec":     map[string]any{"a": value}}})
		if err != nil {
			t.Fatal(err)
		}
		table.Put(item)
	}
	values := rapid.SampledFrom([]string{"", "1", "2", "no number"})
	for _, r := range references {
		table := inventory.NewTable(r, "v1")
		for _, namespace := range []string{"a", "b", "c"} {
			for i, name := range []string{"x", "y"} {
				value := own[i]
				if namespace != "a" {
					value = values.Draw(t, "value")
				}
				switch {
				case value == "":
				case r.Kind == "Service":
					put(table, r.Kind, namespace, name, value)
				case name == "x":
					put(table, r.Kind, "", namespace, value)
				}
			}
		}
		tables = append(tables, table)
	}
	return inventory.Join(tables...)
}

// TestWhatIsElsewhereChangesNoVerdictOfRulesThatLookUpInTheirOwnNamespace judges one object twice, by both engines, with
// all that is in other namespaces changed between. A policy whose verdict differs must not be said to look no further.
func TestWhatIsElsewhereChangesNoVerdictOfRulesThatLookUpInTheirOwnNamespace(t *testing.T) {
	narrow, found, wide := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		compiled, err := Compile((&lookingUp{t: t}).policy())
		if err != nil {
			t.Skip(err)
		}
		references := compiled.References()
		own := compiled.LooksUpInOwnNamespace(&references[0]) && compiled.LooksUpInOwnNamespace(&references[1])
		in, err := NewInput(policy.NewAudit(map[string]any{"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"namespace": "a", "name": "p"}, "spec": map[string]any{"namespace": "c"}}, nil,
			time.Unix(1_000_000, 0)))
		if err != nil {
			t.Fatal(err)
		}
		here := []string{rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "x"),
			rapid.SampledFrom([]string{"", "1", "no number"}).Draw(t, "y")}
		before, after := surroundings(t, references, here), surroundings(t, references, here)
		for _, engine := range []Engine{Topdown, CompiledEngine} {
			verdict := func(of *inventory.Joined) string {
				d := compiled.On(engine).Evaluate(t.Context(), in.WithInventory(of.View()), time.Minute)
				return fmt.Sprintf("%v, failed %t", d.Violations, d.Err != nil)
			}
			one, other := verdict(before), verdict(after)
			if own && one != other {
				t.Fatalf("by %s: %s, and then %s, of\n%s", engine, one, other, compiled.Policy().Spec.Rego.Main)
			}
			switch {
			case one != other:
				wide++
			case own:
				narrow++
				if strings.Contains(one, "{") {
					found++
				}
			}
		}
	})
	t.Logf("%d verdicts of rules that look no further, %d of them violations; %d depended on what is elsewhere", narrow,
		found, wide)
	if narrow == 0 || found == 0 || wide == 0 {
		t.Error("that proves nothing")
	}
}
