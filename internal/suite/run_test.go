// SPDX-License-Identifier: Apache-2.0

package suite_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/suite"
)

const (
	hatsRego = `# METADATA
# scope: package
# title: No hats
# organizations: [team-hats]
# related_resources:
#   - https://example.com/hats
# custom:
#   id: no-hats
#   severity: Low
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [ConfigMap]
#     excludedNamespaces: [attic]
package a.hats

import rego.v1

deny contains sprintf("the hat %v is forbidden", [input.object.data.hat]) if {
	not input.object.data.hat in allowed
}

warn contains "a scarf" if input.object.data.scarf

remediation contains {"action": "patch", "ops": [{"op": "remove", "path": "/data/hat"}]} if not input.object.data.scarf

allowed contains hat if some hat in input.parameters.allowed
`
	hatsTest = `package a.hats_test

import data.a.hats
import rego.v1

test_hat if count(hats.deny) == 1 with input.object.data.hat as "top"

test_allowed if count(hats.deny) == 0 with input as {"object": {"data": {"hat": "top"}}, "parameters": {"allowed": ["top"]}}

test_scarf if count(hats.warn) == 1 with input.object.data.scarf as "red"

test_fix if count(hats.remediation) == 1 with input.object.data.hat as "top"
`
	clean = `
- name: clean
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {}}
  expect: {violations: []}
`
	violating = `
- name: violating
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {hat: top, size: "7"}}
  expect: {violations: [hat top]}
  fixed: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {size: "7"}}
`
)

// hats is the policy's directory with changes: old and new texts in turn, in all
// of its files.
func hats(changes ...string) fstest.MapFS {
	replace := strings.NewReplacer(changes...).Replace
	return fstest.MapFS{
		"hats/hats.rego":      {Data: []byte(replace(hatsRego))},
		"hats/hats_test.rego": {Data: []byte(replace(hatsTest))},
		"hats/examples.yaml":  {Data: []byte(replace(clean + violating))},
	}
}

func run(t *testing.T, fsys fstest.MapFS, root string) *suite.Report {
	t.Helper()
	report, err := suite.Run(context.Background(), fsys, root, suite.Options{MinCoverage: 100})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestAGoodPolicyPasses(t *testing.T) {
	more := `
- name: another operation, parameters of its own, and a warning
  operation: DELETE
  parameters: {allowed: [top]}
  oldObject: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {hat: top, scarf: red}}
  expect: {warnings: [scarf]}
- name: left out
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: attic}, data: {hat: top}}
  expect: {matched: false}
`
	fsys := hats("excludedNamespaces: [attic]",
		"excludedNamespaces: [attic]\n#   admission: {operations: [CREATE, DELETE]}")
	fsys["hats/examples.yaml"].Data = append(fsys["hats/examples.yaml"].Data, more...)
	for _, root := range []string{".", "hats"} {
		report := run(t, fsys, root)
		for _, failure := range report.Failures {
			t.Errorf("root %s: %s", root, failure)
		}
		if !report.OK() || report.Passed != 8 || report.Coverage != 100 {
			t.Errorf("root %s: OK %t, %d passed, coverage %.1f, want true, 8, 100", root, report.OK(), report.Passed,
				report.Coverage)
		}
	}
}

func TestWhatDoesNotHoldIsReported(t *testing.T) {
	const examples, unit = "hats/examples.yaml", "hats/hats_test.rego"
	tests := map[string]struct {
		reason  string
		changes []string
		file    string
		parts   []string // of the one failure
	}{
		"a violation that isn't found": {
			"the list is complete, both ways", []string{"[hat top]", "[hat top, coat]"}, examples,
			[]string{"violating", "coat", "the hat top is forbidden"},
		},
		"a violation that isn't expected": {
			"a clean example must be clean", []string{"data: {}", "data: {hat: top}"}, examples,
			[]string{"clean", "expected: violations:\n", "nothing", "the hat top is forbidden"},
		},
		"a warning that isn't expected": {
			"warnings count as violations do", []string{"data: {}", "data: {scarf: red}"}, examples,
			[]string{"expected: warnings:", "a scarf"},
		},
		"an object that the policy leaves out": {
			"it would pass for the wrong reason",
			[]string{"name: a, namespace: b}, data: {}", "name: a, namespace: attic}, data: {}"}, examples,
			[]string{"the policy to concern the object"},
		},
		"an object that it should leave out": {
			"matched: false is held too", []string{"violations: []", "matched: false"}, examples,
			[]string{"one example that passes"},
		},
		"a fix that doesn't resolve the violation": {
			"the object is judged again",
			[]string{`"remove", "path": "/data/hat"`, `"replace", "path": "/data/hat", "value": "cap"`,
				"fixed: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {size: \"7\"}}",
				"fixed: true"}, examples,
			[]string{"a fix that resolves the violation", "the hat cap is forbidden"},
		},
		"a fix of a path that isn't there": {
			"RFC 6902 to the letter", []string{"/data/hat", "/data/cap"}, examples,
			[]string{"a fix that can be applied", "/data/cap"},
		},
		"a fix that changes more than shown": {
			"the fixed manifest is compared whole", []string{`data: {size: "7"}}`, `data: {size: "8"}}`}, examples,
			[]string{"the fixed object to be", `"size": "8"`, `"size": "7"`},
		},
		"a fix that nobody expects": {
			"false is the default", []string{"fixed: {", "oldObject: {"}, examples,
			[]string{"no fix (say fixed: true", "remove"},
		},
		"no fix where one is expected": {
			"the policy is silent", []string{"if not input.object.data.scarf", "if input.object.data.scarf",
				"test_fix if count(hats.remediation) == 1", "test_fix if count(hats.remediation) == 0",
				"test_scarf if count(hats.warn) == 1", "test_scarf if count(hats.remediation) + count(hats.warn) == 2"},
			examples,
			[]string{"expected: a fix", "offers none"},
		},
		"an evaluation error": {
			"it is never a verdict", []string{"data: {}", "data: {scarf: red}", "if input.object.data.scarf\n",
				"if to_number(input.object.data.scarf) > 0\n", `scarf as "red"`, `scarf as "5"`}, examples,
			[]string{"expected: a verdict", "red"},
		},
		"a unit test that fails": {
			"with its line", []string{"count(hats.warn) == 1", "count(hats.warn) == 2"}, unit,
			[]string{"hats_test.rego:10: a.hats_test.test_scarf", "false or undefined"},
		},
		"a unit test that is skipped": {
			"it proves nothing", []string{"test_hat if", "todo_test_more if false\n\ntest_hat if"}, unit,
			[]string{"skipped"},
		},
		"tests that don't compile": {
			"with the compiler's line", []string{"import data.a.hats", "import data.a.hats\nimport data.other"}, unit,
			[]string{"compile the tests"},
		},
		"lines that no test reaches": {
			"coverage is held", []string{"allowed contains hat if", "warn contains \"fur\" if " +
				"{\n\tinput.object.data.fur\n\tinput.object.data.mink\n}\n\nallowed contains hat if"}, "hats/hats.rego",
			[]string{"no test reaches line 27, 28, 29", "100 % of the lines"},
		},
		"an unknown key in the examples": {
			"a misspelt expectation would pass", []string{"fixed:", "fixxed:"}, examples,
			[]string{"hats/examples.yaml:9: ", "unknown field [1].fixxed", "did you mean [1].fixed?"},
		},
		"no violating example": {
			"an untested rule", []string{violating, ""}, examples, []string{"one that violates"},
		},
		"two examples of one name": {
			"a failure must be found again", []string{"name: violating", "name: clean"}, examples,
			[]string{`two examples are named "clean"`},
		},
		"an example without object": {
			"nothing would be judged",
			[]string{"object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {}}",
				"operation: CREATE"}, examples,
			[]string{`example "clean" has no object`},
		},
		"fixed is neither manifest nor boolean": {
			"yes is text in YAML 1.2",
			[]string{"fixed: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {size: \"7\"}}",
				"fixed: 7"}, examples,
			[]string{"fixed must be true, false or a manifest"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			report := run(t, hats(tc.changes...), ".")
			if report.OK() || len(report.Failures) != 1 {
				t.Fatalf("%s\n%d failures, want one: %v", tc.reason, len(report.Failures), report.Failures)
			}
			got := report.Failures[0].String()
			if report.Failures[0].File != tc.file {
				t.Errorf("%s\nthe failure is of %s, want %s", tc.reason, report.Failures[0].File, tc.file)
			}
			for _, part := range tc.parts {
				if !strings.Contains(got, part) {
					t.Errorf("%s\nthe failure is\n%s\nwant it to hold %q", tc.reason, got, part)
				}
			}
		})
	}
}

func TestMissingTestFilesAreFailures(t *testing.T) {
	fsys := hats()
	delete(fsys, "hats/hats_test.rego")
	delete(fsys, "hats/examples.yaml")
	var files []string
	for _, failure := range run(t, fsys, ".").Failures {
		files = append(files, failure.File)
	}
	want := "hats/examples.yaml hats/hats.rego hats/hats_test.rego"
	if got := strings.Join(files, " "); got != want {
		t.Errorf("failures are of %q, want %q", got, want)
	}
}

func TestPoliciesThatDoNotLoadAreAnError(t *testing.T) {
	_, err := suite.Run(context.Background(), hats("# title: No hats\n", ""), ".", suite.Options{})
	var wrong *directory.Error
	if !errors.As(err, &wrong) {
		t.Errorf("error is %v, want a *source.Error", err)
	}
}

func TestEachPartNeedsAMessageOfItsOwn(t *testing.T) {
	// "hat" is in both messages and "the hat top" in one: only one way of
	// giving them out works, and taking the first that fits doesn't find it.
	two := strings.Replace(hatsRego, "warn contains", `deny contains "a red hat" if input.object.data.red

warn contains`, 1)
	fsys := hats("data: {hat: top, size", "data: {red: x, hat: top, size", "[hat top]", "[hat, the hat top]",
		"fixed: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {size: \"7\"}}",
		"fixed: true")
	fsys["hats/hats.rego"].Data = []byte(
		strings.Replace(two, `"ops": [`, `"ops": [{"op": "remove", "path": "/data/red"}, `, 1))
	for _, failure := range run(t, fsys, ".").Failures {
		if failure.Subject == "violating" {
			t.Error(failure)
		}
	}
}

// TestAFixThatBreaksAnotherPolicyFails: each is right alone, and no rollout would make the fix.
func TestAFixThatBreaksAnotherPolicyFails(t *testing.T) {
	const other = `# METADATA
# title: A hat or a scarf
# custom:
#   id: dressed
#   match: {kinds: [{apiGroups: [""], kinds: [ConfigMap]}]}
package a.dressed

import rego.v1

deny contains "nothing is worn" if {
	not input.object.data.hat
	input.object.metadata.name == "worn"
}
`
	const examples = clean + `
- name: hat
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: worn, namespace: b}, data: {hat: top}}
  expect: {violations: [hat top]}
  fixed: true
`
	files := fstest.MapFS{
		"hats/hats.rego":       {Data: []byte(hatsRego)},
		"hats/hats_test.rego":  {Data: []byte(hatsTest)},
		"hats/examples.yaml":   {Data: []byte(examples)},
		"dressed/dressed.rego": {Data: []byte(other)},
	}
	failures := func(root string, opts suite.Options) string {
		report, err := suite.Run(t.Context(), files, root, opts)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, failure := range report.Failures {
			text.WriteString(failure.String() + "\n")
		}
		return text.String()
	}
	const want = "the fixed object violates policy dressed: nothing is worn"
	if got := failures(".", suite.Options{}); !strings.Contains(got, want) {
		t.Errorf("nothing says %q:\n%s", want, got)
	}
	if got := failures("hats", suite.Options{}); got != "" {
		t.Errorf("alone the policy is right, and yet\n%s", got)
	}
	if got := failures(".", suite.Options{
		MinCoverage: 100, Run: regexp.MustCompile("no-hats/clean")}); strings.Contains(got, want) ||
		strings.Contains(got, "coverage") {
		t.Errorf("with one example chosen it still says\n%s", got)
	}
	if got := failures(".", suite.Options{Run: regexp.MustCompile("no-hats/h")}); !strings.Contains(got, want) {
		t.Errorf("the example that is chosen isn't run:\n%s", got)
	}
}
