// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
)

var update = flag.Bool("update", false, "write docs/reference/builtins.md")

//go:generate go test . -run ^TestEveryBuiltinIsInTheTable$ -update

const builtinsPage = "../../../../docs/reference/builtins.md"

const builtinsHead = `# Built-in functions

Which of OPA's built-in functions a policy may call. Generated from the code (` + "`TestEveryBuiltinIsInTheTable`" + `).

An evaluation ends by its deadline, by the steps and values of the compiled engine, or when the heap grows by more than
128 MiB. Nothing stops one call of a built-in function, so those that make or take much are capped: a call beyond its
bound is an evaluation error, never a pass. Sizes are those of values written out as JSON.

## Capped

| functions | bound of one call |
|---|---|
`

// TestEveryBuiltinIsInTheTable proves that the page has every function of OPA's, and that no name in the code is wrong.
func TestEveryBuiltinIsInTheTable(t *testing.T) {
	var page strings.Builder
	page.WriteString(builtinsHead)
	seen := map[string]bool{}
	quoted := func(names []string) string {
		for _, name := range names {
			if seen[name] || ast.BuiltinMap[name] == nil {
				t.Errorf("%q is there twice, or OPA has no such function", name)
			}
			seen[name] = true
		}
		return "`" + strings.Join(names, "`, `") + "`"
	}
	for _, l := range limits() {
		fmt.Fprintf(&page, "| %s | %s |\n", quoted(strings.Fields(l.names)), l.text)
	}
	page.WriteString("\n## Refused\n\nA policy that calls one of these doesn't compile.\n\n" +
		"| function | why |\n|---|---|\n")
	refusals := Refusals()
	for _, name := range slices.Sorted(maps.Keys(refusals)) {
		fmt.Fprintf(&page, "| %s | %s |\n", quoted([]string{name}), refusals[name])
	}
	page.WriteString("\n## Allowed\n\n" + quoted(slices.Sorted(slices.Values(strings.Fields(allowed)))) + "\n")
	for _, b := range ast.Builtins {
		if !seen[b.Name] {
			t.Errorf("the page lacks %s", b.Name)
		}
	}
	if *update {
		if err := os.WriteFile(builtinsPage, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(builtinsPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page.String(), string(text)); diff != "" {
		t.Errorf("docs/reference/builtins.md is stale, run go generate: -want +page\n%s", diff)
	}
}
