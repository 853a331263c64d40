// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// problems are those of a policy that must not compile.
func problems(tb testing.TB, p *v1alpha1.ClusterRegoPolicy) []rego.Problem {
	tb.Helper()
	_, err := rego.Compile(p)
	var refused *rego.CompileError
	if !errors.As(err, &refused) {
		tb.Fatalf("Compile error = %v, want a CompileError", err)
	}
	if len(refused.Problems) == 0 {
		tb.Fatal("a CompileError without problems")
	}
	return refused.Problems
}

// Gatekeeper's templates are v0, and have been compiled without OPA's strict mode for years.
func TestV0IsTakenAsGatekeeperTakesIt(t *testing.T) {
	p := &v1alpha1.ClusterRegoPolicy{}
	p.Name = "estate"
	p.Spec.Rego.Version = v1alpha1.RegoV0
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
	p.Spec.Rego.Main = `package estate

import data.lib.unused

violation[{"msg": msg}] {
	unused := 1
	address := input.review.object.data.address
	any([re_match("^10[.]", address), false])
	net.cidr_contains("10.0.0.0/8", address)
	msg := sprintf("%v is inside", [address])
}
`
	compiled, err := rego.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []rego.Engine{rego.Topdown, rego.CompiledEngine} {
		for address, want := range map[string]int{"10.1.2.3": 1, "192.168.0.1": 0} {
			input, err := rego.NewInput(policy.NewAudit(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": "a", "namespace": "b"},
				"data":     map[string]any{"address": address}}, nil, time.Now()))
			if err != nil {
				t.Fatal(err)
			}
			d := compiled.On(engine).Evaluate(t.Context(), input, time.Minute)
			if d.Err != nil || len(d.Violations) != want {
				t.Errorf("%s by %s: %v, %v", address, engine, d.Violations, d.Err)
			}
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		rego   string
		want   []string
	}{
		"a syntax error": {"it names the place", "package test\n\ndeny contains {{",
			[]string{"test.rego:3:", "rego_parse_error"}},
		"v0 syntax in a v1 policy": {"the version is declared", "package test\n\ndeny[msg] { msg := \"x\" }",
			[]string{"test.rego:3:1:", "`if` keyword is required"}},
		"an empty module": {"there's nothing to judge by", "# nothing\n", []string{"test.rego", "empty"}},
		"a misspelt function": {"types are checked", header + "deny contains \"x\" if no_such_function(1)",
			[]string{"test.rego:5:", "undefined function no_such_function"}},
		"an unused variable": {"strict mode", header + "deny contains \"x\" if { y := 1 }",
			[]string{"test.rego:5:", "assigned var y unused"}},
		"an unused import": {
			"strict mode", "package test\n\nimport rego.v1\nimport data.lib.x\n\ndeny contains \"x\" if true",
			[]string{"test.rego:4:", "unused"}},
		"none of the rules": {"it would judge nothing", header + "helper := 1",
			[]string{"test.rego:1:1:", "none of the rules deny, violation and warn"}},
		"a rule that is nearly deny": {"at the rule, with what was meant", header + "denny contains \"x\" if true",
			[]string{"test.rego:5:1:", "none of the rules deny, violation and warn", "did you mean deny by denny?"}},
		"only a remediation": {"it would judge nothing", header + "remediation contains {} if true",
			[]string{"none of the rules"}},
		"deny as a function": {
			"it isn't a set", header + "deny(x) if x", []string{"test.rego:5:1:", "deny is a function"}},
		"http.send": {
			"it leaves the process", header +
				"deny contains \"x\" if {\n\thttp.send({\"url\": \"http://x\", \"method\": \"get\"})\n}",
			[]string{"test.rego:6:2:", "http.send is forbidden", "leaves the process"}},
		"http.send behind with": {
			"naming it is enough", header + "f(_) := 1\n\ndeny contains \"x\" if f(1) with f as http.send",
			[]string{"test.rego:7:", "http.send is forbidden"}},
		"http.send in a nested term": {
			"each position counts", header + "deny contains x if some x in [y | y := http.send({}).body]",
			[]string{"test.rego:5:", "http.send is forbidden"}},
		"a lookup": {
			"it leaves the process", header + "deny contains x if some x in net.lookup_ip_addr(\"x\")",
			[]string{"net.lookup_ip_addr is forbidden"}},
		"an address range": {
			"a block has more addresses than there is memory",
			header + "deny contains x if some x in net.cidr_expand(\"10.0.0.0/8\")",
			[]string{"net.cidr_expand is forbidden"}},
		"the environment": {
			"it leaves the process", header + "deny contains opa.runtime().env.HOME if true",
			[]string{"opa.runtime is forbidden"}},
		"a random number": {
			"another verdict each time", header + "deny contains \"x\" if rand.intn(\"a\", 2) == 1",
			[]string{"rand.intn is forbidden", "different each time"}},
		"a random name": {
			"another verdict each time", header + "deny contains uuid.rfc4122(\"a\") if true",
			[]string{"uuid.rfc4122 is forbidden"}},
		"a signature": {
			"another result each time", header + "deny contains io.jwt.encode_sign({}, {}, {}) if true",
			[]string{"io.jwt.encode_sign is forbidden"}},
		"a remote schema": {
			"a $ref leaves the process", header + "deny contains \"x\" if json.match_schema({}, {})",
			[]string{"json.match_schema is forbidden"}},
		"a huge shift": {
			"it can't be stopped", header + "deny contains \"x\" if bits.lsh(1, 100000000000) > 0",
			[]string{"bits.lsh is forbidden", "can't be stopped"}},
		"all paths of a graph": {
			"it can't be stopped", header + "deny contains x if some x in graph.reachable_paths({}, {})",
			[]string{"graph.reachable_paths is forbidden"}},
		"a backtracking glob": {
			"it can't be stopped", header + "deny contains \"x\" if glob.match(\"*\", [], \"y\")",
			[]string{"glob.match is forbidden", "use regex.match"}},
		"a template with loops": {
			"it can't be stopped", header + "deny contains strings.render_template(\"\", {}) if true",
			[]string{"strings.render_template is forbidden"}},
		"Rego within Rego": {
			"it can't be stopped", header + "deny contains \"x\" if rego.parse_module(\"a\", \"\")",
			[]string{"rego.parse_module is forbidden"}},
		"a GraphQL query": {
			"it can't be stopped", header + "deny contains \"x\" if graphql.is_valid(\"\", \"\")",
			[]string{"graphql.is_valid is forbidden"}},
		"a library that isn't there": {"it would be undefined for ever, and never deny",
			"package test\n\nimport rego.v1\nimport data.lib.names\n\ndeny contains \"x\" if names.bad == " +
				"input.object.kind", []string{"test.rego:6:", "nothing defines data.lib"}},
		"data that isn't there": {
			"rules see no other data", header + "deny contains \"x\" if data.inventories.cluster[input.object.kind]",
			[]string{"test.rego:5:", "nothing defines data.inventories"}},
		"a misspelt rule": {
			"it would never deny", header + "deny contains \"x\" if data.test.hlper == 1\n\nhelper := 1",
			[]string{"test.rego:5:", "nothing defines data.test.hlper", "did you mean helper?"}},
		"two problems in one module": {
			"all are told at once", header +
				"deny contains \"x\" if http.send({})\n\nwarn contains \"y\" if opa.runtime()",
			[]string{"test.rego:5:", "test.rego:7:"}},
		"a recursion": {"it would never end", header + "deny contains x if some x in deny",
			[]string{"test.rego:5:", "recursive"}},
		"a rule that can't be a set": {"two kinds of deny", header + "deny contains \"x\" if true\n\ndeny := 1",
			[]string{"test.rego:"}},
		"a built-in that doesn't fit": {"types are checked", header + "deny contains \"x\" if startswith(1, \"a\")",
			[]string{"test.rego:5:", "invalid argument"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for _, problem := range problems(t, podPolicy(tc.rego)) {
				lines = append(lines, problem.String())
			}
			for _, part := range tc.want {
				if text := strings.Join(lines, "\n"); !strings.Contains(text, part) {
					t.Errorf("%s: problems lack %q:\n%s", tc.reason, part, text)
				}
			}
		})
	}
}

func TestCompileAllowsTheTime(t *testing.T) {
	compile(t, podPolicy(header+`deny contains "x" if time.now_ns() > 0`))
}

func TestCompileReadsLibraries(t *testing.T) {
	p := podPolicy(
		"package test\n\nimport rego.v1\n\nimport data.lib.names\n\ndeny contains names.of(input.object) if true")
	p.Spec.Rego.Libraries = append(p.Spec.Rego.Libraries, v1alpha1.RegoLibrary{
		Name: "names.rego", Source: "package lib.names\n\nimport rego.v1\n\nof(object) := object.metadata.name",
	})
	if got := judge(t, p, podRequest()); got.Err != nil || len(got.Violations) != 1 ||
		got.Violations[0].Message != "web" {
		t.Errorf("decision = %+v, want one violation: web", got)
	}
	p.Spec.Rego.Libraries[0].Source = "package lib.names\n\nimport rego.v1\n\nof(object) := http.send(object)"
	want := rego.Problem{File: "names.rego", Row: 5, Col: 15}
	got := problems(t, p)[0]
	got.Message = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a forbidden call in a library (-want +got):\n%s", diff)
	}
}

func TestCompileRefusesOtherFields(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.ClusterRegoPolicy)
		want   string
	}{
		"no module": {
			"there's nothing to judge by",
			func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Rego.Main = "" }, "spec.rego.main is empty",
		},
		"two modules of one name": {
			"one would hide the other",
			func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Rego.Libraries = []v1alpha1.RegoLibrary{{Name: p.Spec.Rego.File, Source: p.Spec.Rego.Main}}
			}, "same name",
		},
		"parameters that aren't JSON": {
			"files may hold anything",
			func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte("{")}
			}, "spec.parameters isn't JSON",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := podPolicy(header + `deny contains "x" if true`)
			tc.change(p)
			if got := problems(t, p)[0].String(); !strings.Contains(got, tc.want) {
				t.Errorf("%s: problem %q lacks %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestCompileCopiesTheDefinition(t *testing.T) {
	p := podPolicy(header + `deny contains "x" if true`)
	c := compile(t, p)
	p.Name, p.Spec.Match.Kinds[0].Kinds[0] = "other", "Other"
	if c.Name() != "test" || c.Policy().Spec.Match.Kinds[0].Kinds[0] != "Pod" {
		t.Errorf("the caller's later change reached the compiled policy: %+v", c.Policy())
	}
}

func TestRevision(t *testing.T) {
	base := func() *v1alpha1.ClusterRegoPolicy {
		p := podPolicy(header + `deny contains "x" if true`)
		p.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(`{"a": 1, "b": [2]}`)}
		return p
	}
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.ClusterRegoPolicy)
		same   bool
	}{
		"another title": {"it is for people", func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Title = "t" }, true},
		"another enforcement": {"the verdict is the same", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Admission.Action = "Deny"
		}, true},
		"another strategy": {"the fix is the same", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Remediation.StrategyRef = &v1alpha1.StrategyReference{Name: "careful"}
		}, true},
		"defaults written": {"they mean the same", func(p *v1alpha1.ClusterRegoPolicy) { p.SetDefaults() }, true},
		"severity written": {"it means the same", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Severity = v1alpha1.SeverityMedium
		}, true},
		"podTemplates written": {"it means the same", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.PodTemplates = ptr.To(true)
		}, true},
		"operations written": {"they mean the same", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Admission.Operations = []v1alpha1.Operation{v1alpha1.OperationCreate, v1alpha1.OperationUpdate}
		}, true},
		"parameters rewritten": {"order and blanks mean nothing", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Parameters.Raw = []byte(`{"b":[2],"a":1}`)
		}, true},
		"another name": {"the name is in the decision", func(p *v1alpha1.ClusterRegoPolicy) { p.Name = "n" },
			false},
		"another version": {"it is another language", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Version = "v0"
		}, false},
		"another module": {"it is another rule", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Main += "\n"
		}, false},
		"another parameter": {"it is another rule", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Parameters.Raw = []byte(`{"a": 2}`)
		}, false},
		"a condition": {"it judges other requests", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Admission.MatchConditions = []v1alpha1.MatchCondition{{Name: "a", Expression: "true"}}
		}, false},
		"another match": {"it concerns others", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.Namespaces = []string{"x"}
		}, false},
	}
	want := rego.Revision(base())
	if len(want) != 16 {
		t.Errorf("revision %q isn't 16 characters long", want)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := base()
			tc.change(p)
			if same := rego.Revision(p) == want; same != tc.same {
				t.Errorf("%s: same revision = %t, want %t", tc.reason, same, tc.same)
			}
		})
	}
}

// TestRevisionsAreKept holds the revision of a policy through later versions: another one
// makes every plan stale. A change of this value is a change for the changelog.
func TestRevisionsAreKept(t *testing.T) {
	const kept = "ae772282f72cab60"
	if got := rego.Revision(podPolicy(header + `deny contains "x" if true`)); got != kept {
		t.Errorf("the revision is %s and was %s: leave new fields out of it while they are empty", got, kept)
	}
}

func TestRedefine(t *testing.T) {
	p := podPolicy(header + `deny contains "x" if true`)
	c := compile(t, p)
	p.Spec.Title = "new"
	redefined, err := c.Redefine(p)
	if err != nil || redefined.Policy().Spec.Title != "new" || c.Policy().Spec.Title != "" {
		t.Errorf("Redefine: %v, title %q, title before %q", err, redefined.Policy().Spec.Title, c.Policy().Spec.Title)
	}
	p.Spec.Rego.Main += "\n"
	if _, err := c.Redefine(p); err == nil {
		t.Error("another revision was taken without compiling it")
	}
}

// TestARuleThatNothingAsksIsTold guesses what was meant, and leaves alone what the policy itself asks.
func TestARuleThatNothingAsksIsTold(t *testing.T) {
	const deny = "deny contains \"x\" if input.object.a\n"
	for name, tc := range map[string]struct{ rules, want string }{
		"the right names":             {deny + "warn contains \"y\" if input.object.b\n", ""},
		"an absent rule's, nearly":    {deny + "wran contains \"y\" if input.object.b\n", "there is no rule warn"},
		"a present rule's, nearly":    {deny + "denny contains \"y\" if input.object.b\n", "did you mean deny?"},
		"one that the policy asks":    {deny + "denny if input.object.b\nwarn contains \"y\" if denny\n", ""},
		"one that it asks as a place": {deny + "denny if input.object.b\nwarn contains \"y\" if data.test.denny\n", ""},
		"another name":                {deny + "privileged if input.object.b\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, problem := range rego.Misnamed(podPolicy(header + tc.rules)) {
				got = append(got, problem.Message)
			}
			if text := strings.Join(got, "\n"); (tc.want == "") != (text == "") || !strings.Contains(text, tc.want) {
				t.Errorf("got %q, want %q", text, tc.want)
			}
		})
	}
}
