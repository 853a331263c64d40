// SPDX-License-Identifier: Apache-2.0

package compiled_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// library is where Evenkeel's policies are, read as files: this package knows nothing of
// what loads them.
const library = "../../../policies"

// libraryPolicies are the modules of each policy, by package, with those that all import.
func libraryPolicies(t testing.TB) map[string][]string {
	t.Helper()
	shared := modulesOf(t, filepath.Join(library, "lib", "*.rego"))
	out := map[string][]string{}
	for _, module := range modulesOf(t, filepath.Join(library, "*", "*", "*.rego")) {
		parsed := ast.MustParseModule(module)
		out[parsed.Package.Path.String()] = append([]string{module}, shared...)
	}
	if len(out) < 9 {
		t.Fatalf("only %d policies in %s", len(out), library)
	}
	return out
}

// modulesOf are the texts of modules that are no tests.
func modulesOf(t testing.TB, pattern string) (modules []string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.rego") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, string(text))
	}
	return modules
}

// podInput is what rules see of a Pod with so many containers, of which one in four breaks
// most rules where it violates at all.
func podInput(containers int, violates bool) *ast.Term {
	var list []any
	for i := range containers {
		var env []any
		for j := range 16 {
			env = append(env, map[string]any{
				"name": fmt.Sprintf("VARIABLE_%d_%d", i, j), "value": strings.Repeat("v", 24)})
		}
		container := map[string]any{
			"name": fmt.Sprintf("container-%d", i), "image": "registry.example.com/team/app:1.2.3", "env": env,
			"resources": map[string]any{"limits": map[string]any{"cpu": "1", "memory": "1Gi"},
				"requests": map[string]any{"cpu": "1", "memory": "1Gi"}},
			"securityContext": map[string]any{"privileged": false, "runAsUser": 1000, "runAsNonRoot": true,
				"readOnlyRootFilesystem": true},
		}
		if violates && i%4 == 0 {
			container["image"], container["securityContext"] = "elsewhere.io/app:latest",
				map[string]any{"privileged": true}
			delete(container, "resources")
		}
		list = append(list, container)
	}
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "app", "namespace": "shop",
			"labels": map[string]any{"app": "shop", "team": "payments"}},
		"spec": map[string]any{"containers": list, "securityContext": map[string]any{"runAsNonRoot": true}}}
	request := map[string]any{"operation": "CREATE", "object": pod, "namespace": "shop", "name": "app",
		"kind": map[string]any{"group": "", "version": "v1", "kind": "Pod"}}
	return ast.NewTerm(ast.MustInterfaceToValue(map[string]any{
		"object": pod, "pod": pod, "request": request, "review": request,
		"parameters": map[string]any{"registries": []any{"registry.example.com/"},
			"labels":       map[string]any{"team": "[a-z]+"},
			"floatingTags": []any{"latest", "main"}, "groups": []any{"sre"}, "scratchPaths": []any{"/tmp"},
			"prefixes": []any{"registry.one/", "registry.two/", "registry.example.com/"}},
	}))
}

// TestTheLibraryAgrees asks both engines for all that the rules of each policy of the library
// give.
func TestTheLibraryAgrees(t *testing.T) {
	for name, modules := range libraryPolicies(t) {
		t.Run(name, func(t *testing.T) {
			for _, rule := range []string{"deny", "violation", "warn", "remediation"} {
				query := fmt.Sprintf("x = %s.%s", name, rule)
				if !strings.Contains(modules[0], "\n"+rule+" ") {
					continue
				}
				q := ask(t, query, modules...)
				for _, violates := range []bool{false, true} {
					o := options(podInput(8, violates))
					got, want := q.compiledAnswers(t.Context(), o), q.topdownAnswers(t.Context(), o)
					if got.err != nil || want.err != nil || got.set.Compare(want.set) != 0 {
						t.Errorf("%s, violates %v: compiled %v\n topdown %v", rule, violates, got, want)
					}
				}
			}
		})
	}
}
