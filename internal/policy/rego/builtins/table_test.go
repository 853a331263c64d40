// SPDX-License-Identifier: Apache-2.0

package builtins_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy/rego/builtins"
)

var update = flag.Bool("update", false, "write docs/reference/builtins.md anew")

//go:generate go test . -run ^TestEveryBuiltinIsInTheTable$ -update

const builtinsPage = "../../../../docs/reference/builtins.md"

const builtinsHead = `# Built-in functions

What becomes of a policy that calls one of OPA's built-in functions. Generated from the code;
a test fails when OPA has one that isn't here (TestEveryBuiltinIsInTheTable).

- **allowed**: as OPA has it.
- **capped**: each call may make at most 16 MiB or 250,000 elements, and those of one evaluation
  128 MiB together; numbers have at most 400 digits, JSON and YAML that is parsed 1 MiB, keys and
  certificates 64 KiB. What takes longer than what it is given grows (sorting, looking for one
  text or pattern in another, unions of keys that share a hash, patches of lists) may take about
  67 million steps, a third of a second. A call that would exceed this is an evaluation error.
- **refused**: the policy doesn't compile.

What rules hold without any built-in is bounded too: an evaluation that lets the heap grow by more
than 128 MiB is stopped, and so is one that makes a value which, with all its copies written out,
holds more than 16,777,216 parts: to compare or sort it takes long, and can't be stopped. A policy
whose values hold one part n times may make values of an n-th of that.

| function | treatment | why |
|---|---|---|
`

// TestEveryBuiltinIsInTheTable holds that each of OPA's built-ins has been looked
// at, and that the page says what became of it.
func TestEveryBuiltinIsInTheTable(t *testing.T) {
	var page strings.Builder
	page.WriteString(builtinsHead)
	for _, b := range builtins.All() {
		if b.Treatment == "" {
			t.Errorf("OPA has the built-in function %s: decide whether it is allowed, capped or refused (builtins.go)",
				b.Name)
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", b.Name, b.Treatment, b.Why)
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
