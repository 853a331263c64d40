// SPDX-License-Identifier: Apache-2.0

package compiled_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/pkg/rego/compiled"
	"evenkeel.dev/evenkeel/pkg/rego/compiled/planner"
)

func options(input *ast.Term) compiled.Options {
	return compiled.Options{Input: input, Data: ast.ObjectTerm(), Strict: true}
}

const allowedImages = `package bench%d

containers contains c if some c in input.pod.spec.containers

containers contains c if some c in input.pod.spec.initContainers

allowed(image) if {
	some prefix in input.parameters.prefixes
	startswith(image, prefix)
}

deny contains {"msg": sprintf("container %%s uses %%s", [c.name, c.image]), "path": "/spec/containers"} if {
	some c in containers
	not allowed(c.image)
}

deny contains {"msg": sprintf("container %%s is privileged", [c.name])} if {
	some c in containers
	c.securityContext.privileged
}
`

const gathered = `package bench%d

names := {c.name | some c in input.review.object.spec.containers}

variables := {c.name: [v.name | some v in c.env] | some c in input.review.object.spec.containers}

deny contains {"msg": sprintf("%%s: too many variables", [name])} if {
	some name, list in variables
	count(list) > 100
}

deny contains {"msg": sprintf("probe %%s is missing", [probe])} if {
	some c in input.review.object.spec.containers
	some probe in ["livenessProbe", "readinessProbe"]
	input.review.object.kind != "Pod"
	not c[probe]
	not c.name in names
}
`

// benched are the questions of a benchmark: the deny rules of the policies.
type benched struct {
	question
	rule  compiled.Rule
	bound ast.Var
	body  ast.Body
	by    ast.QueryCompiler
}

func benchedOf(b *testing.B, pkg string, modules ...string) benched {
	b.Helper()
	q := ask(b, "x = "+pkg+".deny", modules...)
	rule, ok := q.program.Rule(append(strings.Split(strings.TrimPrefix(pkg, "data."), "."), "deny")...)
	if !ok {
		b.Fatalf("%s has no rule deny", pkg)
	}
	by := q.compiler.QueryCompiler()
	body, err := by.Compile(q.query)
	if err != nil {
		b.Fatal(err)
	}
	return benched{question: q, rule: rule, bound: "x", body: body, by: by}
}

func (q benched) compiled(b *testing.B, o *compiled.Options) {
	e := q.program.Begin(b.Context(), o)
	if _, err := e.Rule(q.rule); err != nil {
		b.Fatal(err)
	}
	e.End()
}

func (q benched) topdown(b *testing.B, o *compiled.Options) {
	_, err := topdown.NewQuery(q.body).WithCompiler(q.compiler).WithQueryCompiler(q.by).WithInput(o.Input).WithTime(
		now()).
		WithMetrics(metrics.NoOp()).WithStrictBuiltinErrors(true).WithVirtualCache(topdown.NewVirtualCache()).Run(
		b.Context())
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkEngines judges a Pod of eight containers by both engines: by the library's policies,
// and by many that look at images and gather names. The input is made before.
func BenchmarkEngines(b *testing.B) {
	sets := map[string][]benched{}
	for pkg, modules := range libraryPolicies(b) {
		if strings.Contains(modules[0], "\ndeny contains") {
			sets["library"] = append(sets["library"], benchedOf(b, pkg, modules...))
		}
	}
	for i := range 13 {
		pkg := fmt.Sprintf("data.bench%d", i)
		sets["images"] = append(sets["images"], benchedOf(b, pkg, fmt.Sprintf(allowedImages, i)))
		sets["gathered"] = append(sets["gathered"], benchedOf(b, pkg, fmt.Sprintf(gathered, i)))
	}
	for _, name := range []string{"library", "images", "gathered"} {
		for _, violates := range []bool{false, true} {
			o := options(podInput(8, violates))
			o.Context.Time = ast.IntNumberTerm(int(now().UnixNano()))
			for engine, run := range map[string]func(benched, *testing.B, *compiled.Options){
				"compiled": benched.compiled, "topdown": benched.topdown} {
				b.Run(fmt.Sprintf("%s/violates=%v/%s", name, violates, engine), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						for _, q := range sets[name] {
							run(q, b, &o)
						}
					}
				})
			}
		}
	}
}

// BenchmarkComparisons compares each of a hundred values with one.
func BenchmarkComparisons(b *testing.B) {
	for name, value := range map[string]string{"texts": `"a text of a few words"`, "numbers": `7000`, "truths": `true`,
		"objects": `{"name": "a", "value": "b"}`, "lists": `["a", "b"]`} {
		list := ast.MustParseTerm("[" + strings.Repeat(value+", ", 99) + value + "]")
		o := options(ast.ObjectTerm(ast.Item(ast.StringTerm("list"), list), ast.Item(ast.StringTerm("one"),
			ast.MustParseTerm(value))))
		for how, rule := range map[string]string{"==": `some v in input.list; v == input.one; false`,
			"!=": `some v in input.list; v != input.one`, "set": `count({v | some v in input.list}) == 0`} {
			q := benchedOf(b, "data.bench", "package bench\n\ndeny if { "+rule+" }\n")
			b.Run(how+"/"+name, func(b *testing.B) {
				for b.Loop() {
					q.compiled(b, &o)
				}
			})
		}
	}
}

// BenchmarkCompile compiles a policy of the library, of which OPA's compiler has had its part.
func BenchmarkCompile(b *testing.B) {
	modules := map[string]string{}
	for i, m := range libraryPolicies(b)["data.evenkeel.security.privileged_containers"] {
		modules[fmt.Sprintf("m%d.rego", i)] = m
	}
	compiler := ast.MustCompileModules(modules)
	query := ast.MustParseBody("x = data.evenkeel.security.privileged_containers.deny")
	b.ReportAllocs()
	for b.Loop() {
		planned, err := planner.Plan(b.Context(), compiler, query, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := compiled.Compile(planned); err != nil {
			b.Fatal(err)
		}
	}
}
