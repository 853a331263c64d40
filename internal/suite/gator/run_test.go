// SPDX-License-Identifier: Apache-2.0

package gator_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/suite"
	"evenkeel.dev/evenkeel/internal/suite/gator"
)

// files are a template whose rule wants labels, a constraint of it, and objects.
func files() fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range map[string]string{
		"template.yaml": `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: mustlabel}
spec:
  crd:
    spec:
      names: {kind: MustLabel}
      validation:
        openAPIV3Schema:
          type: object
          properties: {labels: {type: array, items: {type: string}}}
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package mustlabel
        violation[{"msg": msg}] {
          label := input.parameters.labels[_]
          not input.review.object.metadata.labels[label]
          msg := sprintf("label %v is missing", [label])
        }
        violation[{"msg": "nobody deletes it"}] {
          input.review.operation == "DELETE"
          input.review.userInfo.username == "mallory"
        }
`,
		"anywhere.yaml": strings.ReplaceAll(constraint, "rest: x",
			"match: {kinds: [{apiGroups: [\"\"], kinds: [Pod]}], namespaceSelector: {}}"),
		"inventory.yaml": strings.ReplaceAll(constraint, "rest: x",
			"match: {kinds: [{apiGroups: [\"\"], kinds: [Pod]}], "+
				"namespaceSelector: {matchLabels: {held: \"true\"}}}\n  parameters: {labels: [team, app]}"),
		"constraint.yaml": strings.ReplaceAll(constraint, "rest: x",
			"match: {kinds: [{apiGroups: [\"\"], kinds: [Pod]}]}\n  parameters: {labels: [team, app]}"),
		"unfit.yaml": strings.ReplaceAll(constraint, "rest: x",
			"match: {kinds: [{apiGroups: [\"\"], kinds: [Pod]}]}\n  parameters: {labels: 3}"),
		"shop.yaml":    matching("kinds: [{apiGroups: [\"\"], kinds: [Pod]}], namespaces: [shop]"),
		"outside.yaml": matching("kinds: [{apiGroups: [\"\"], kinds: [Pod]}], excludedNamespaces: [shop]"),
		"elsewhere.yaml": matching("kinds: [{apiGroups: [\"\"], kinds: [Pod, Namespace]}], namespaces: [elsewhere], " +
			"scope: \"*\""),
		"placed.yaml":  matching("kinds: [{apiGroups: [\"\"], kinds: [Pod]}], scope: Namespaced"),
		"things.yaml":  matching("kinds: [{apiGroups: [example.org], kinds: [Thing]}], namespaces: [shop]"),
		"cluster.yaml": matching("scope: Cluster"),
		"thing.yaml":   "{apiVersion: example.org/v1, kind: Thing, metadata: {name: a}}",
		"generated.yaml": strings.ReplaceAll(constraint, "rest: x",
			"match: {source: Generated, kinds: [{apiGroups: [\"\"], kinds: [Pod]}]}"),
		"every.yaml": strings.ReplaceAll(constraint, "rest: x", "parameters: {labels: [team]}"),
		"bare.yaml":  "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}}",
		"loose.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
		"good.yaml":  "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {team: x, app: y}}}",
		"two.yaml":   "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Pod}",
		"free.yaml":  "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
		"namesake.yaml": "{apiVersion: example.org/v1, kind: Namespace, metadata: {name: shop, " +
			"labels: {held: \"true\"}}}",
		"held.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {held: \"true\"}}}",
		"delete.yaml": `apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  operation: DELETE
  kind: {group: "", version: v1, kind: Pod}
  namespace: shop
  name: a
  userInfo: {username: mallory}
  oldObject: {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop, labels: {team: x, app: y}}}
`,
		"kindless.yaml": `apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  operation: UPDATE
  object: {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop, labels: {team: x}}}
`,
		"empty.yaml": "{apiVersion: admission.k8s.io/v1, kind: AdmissionReview, request: {operation: CREATE}}",
	} {
		fsys["suites/labels/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	renamed := func(file, old, name string) *fstest.MapFile {
		return &fstest.MapFile{Data: bytes.Replace(fsys["suites/labels/"+file].Data, []byte("{name: "+old+"}"),
			[]byte("{name: "+name+"}"), 1)}
	}
	for name, from := range map[string][2]string{
		"unsaid":   {"operation: UPDATE", "name: a"},
		"connect":  {"operation: UPDATE", "operation: CONNECT"},
		"odd":      {"operation: UPDATE", "operation: PATCH"},
		"unplaced": {"name: a, namespace: shop, labels", "name: a, labels"},
	} {
		text := strings.Replace(string(fsys["suites/labels/kindless.yaml"].Data), from[0], from[1], 1)
		if name == "unplaced" {
			text += "  namespace: shop\n"
		}
		fsys["suites/labels/"+name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	fsys["suites/labels/dotted/template.yaml"] = renamed("template.yaml", "mustlabel", "must.label")
	fsys["suites/labels/dotted.yaml"] = renamed("constraint.yaml", "labels", strings.Repeat("labels.", 9)+"team")
	return fsys
}

const constraint = `apiVersion: constraints.gatekeeper.sh/v1beta1
kind: MustLabel
metadata: {name: labels}
spec:
  rest: x
`

// matching is a constraint of two labels with a match.
func matching(match string) string {
	return strings.ReplaceAll(constraint, "rest: x", "match: {"+match+"}\n  parameters: {labels: [team, app]}")
}

const head = "apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Suite\ntests:\n"

// run runs one suite, and gives what it printed of each failure.
func run(t *testing.T, text string, opts suite.Options) (*suite.Report, []string) {
	t.Helper()
	fsys := files()
	fsys["suites/labels/suite.yaml"] = &fstest.MapFile{Data: []byte(text)}
	report := &suite.Report{}
	n, err := gator.Run(t.Context(), fsys, "suites", opts, report)
	if err != nil || n != 1 {
		t.Fatalf("%d suites, %v", n, err)
	}
	var failed []string
	for _, f := range report.Failures {
		failed = append(failed, fmt.Sprintf("%s: want %s, got %s", f.Subject, f.Expected, f.Got))
	}
	return report, failed
}

func TestACaseHoldsAsItDoesInGator(t *testing.T) {
	for name, tc := range map[string]struct{ object, inventory, assertion, fails string }{
		"violations by default":        {"bare", "", "{}", ""},
		"yes":                          {"bare", "", "{violations: yes}", ""},
		"a number":                     {"bare", "", "{violations: 2}", ""},
		"no":                           {"good", "", "{violations: no}", ""},
		"none as a number":             {"good", "", "{violations: 0}", ""},
		"a message":                    {"bare", "", "{violations: 1, message: 'label (team|x) is'}", ""},
		"another message":              {"bare", "", "{violations: no, message: nowhere}", ""},
		"a request":                    {"delete", "", "{violations: 1, message: ^nobody}", ""},
		"object is what is deleted":    {"delete", "", "{violations: 1}", ""},
		"a request without its kind":   {"kindless", "", "{violations: 1, message: label app is}", ""},
		"yes and none":                 {"good", "", "{}", "want at least one violation, got no violation"},
		"no and some":                  {"bare", "", "{violations: no}", "want no violation, got 2: "},
		"another number":               {"bare", "", "{violations: 3}", "want 3 violations, got 2"},
		"a message that isn't":         {"bare", "", "{message: nowhere}", `matches "nowhere", got 2`},
		"a message that is no pattern": {"bare", "", "{message: '('}", "missing closing )"},
		"no assertion":                 {"bare", "", "", "it has no assertions"},
		"no object":                    {"nowhere", "", "{}", "paths are relative to the suite's"},
		"two objects":                  {"two", "", "{}", "two.yaml holds 2 objects"},
		"a request of nothing":         {"empty", "", "{}", "has no object"},
		"an unknown namespace":         {"bare", "inventory", "{violations: 1, message: missing Namespace}", ""},
		"a namespace of the inventory": {"bare", "inventory, inventory: [held.yaml]",
			"{violations: 1, message: label team}", ""},
		"another namespace": {"bare", "inventory, inventory: [free.yaml]", "{violations: no}", ""},
		"a namesake Namespace": {"bare", "inventory, inventory: [namesake.yaml]",
			"{message: missing Namespace}", ""},
		"an unknown namespace of another kind":          {"thing", "inventory", "{violations: no}", ""},
		"no namespace, where some are named":            {"loose", "shop", "{violations: 2}", ""},
		"no namespace, where some are selected":         {"loose", "inventory", "{violations: 2}", ""},
		"no namespace, where some are excluded":         {"loose", "outside", "{violations: 2}", ""},
		"no namespace, where objects must be in one":    {"loose", "placed", "{violations: no}", ""},
		"no namespace, where objects mustn't be in one": {"loose", "cluster", "{violations: 2}", ""},
		"no namespace, where another is in the inventory": {"loose", "inventory, inventory: [free.yaml]",
			"{violations: 2}", ""},
		"no namespace, as of a kind that lives in none": {"thing", "things", "{violations: 2}", ""},
		"a namespace that isn't named":                  {"bare", "elsewhere", "{violations: no}", ""},
		"a Namespace that isn't named":                  {"free", "elsewhere", "{violations: no}", ""},
		"a request names a namespace, its object none":  {"unplaced", "elsewhere", "{violations: 1}", ""},
		"a request names a namespace, its object none, where some are selected": {
			"unplaced", "inventory", "{violations: 1}", ""},
		"a request names a namespace that is excluded, its object none": {
			"unplaced", "outside", "{violations: 1}", ""},
		"a request names a namespace of the inventory that is excluded, its object none": {
			"unplaced", "outside, inventory: [free.yaml]", "{violations: no}", ""},
		"a request names a namespace of the inventory that isn't named, its object none": {
			"unplaced", "elsewhere, inventory: [free.yaml]", "{violations: no}", ""},
		"a request that names no namespace": {"kindless", "inventory, inventory: [held.yaml]",
			"{violations: 1, message: missing Namespace}", ""},
		"every namespace, one that is unknown": {"bare", "anywhere", "{violations: 1, message: missing Namespace}", ""},
		"a request of no operation":            {"unsaid", "", "{violations: 1, message: label app is}", ""},
		"a request of no operation that must pass": {
			"unsaid", "", "{violations: no}", "want no violation, got 1"},
		"a request to connect":                  {"connect", "", "{violations: 1, message: label app is}", ""},
		"a request of an operation of nobody's": {"odd", "", "{violations: 1, message: label app is}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			by, inventory := "constraint", ""
			if tc.inventory != "" {
				by, inventory, _ = strings.Cut(tc.inventory, ",")
			}
			text := head + "- {name: t, template: template.yaml, constraint: " + by + ".yaml, " +
				"cases: [{name: c, object: " + tc.object + ".yaml, assertions: [" + tc.assertion + "]"
			if inventory != "" {
				text += "," + inventory
			}
			report, failed := run(t, text+"}]}\n", suite.Options{Engine: rego.CompiledEngine})
			if tc.fails == "" && (report.Passed != 1 || len(failed) > 0) ||
				tc.fails != "" && (len(failed) != 1 || !strings.Contains(failed[0], tc.fails)) {
				t.Errorf("%d passed, failed: %q; want %q", report.Passed, failed, tc.fails)
			}
		})
	}
}

func TestATestOfAConstraint(t *testing.T) {
	one := ", cases: [{name: c, object: bare.yaml, assertions: [{}]}]"
	for name, tc := range map[string]struct {
		test, chosen            string
		passed, skipped, failed int
		says                    string
	}{
		"a constraint that doesn't fit": {test: "constraint: unfit.yaml, invalid: true", passed: 1},
		"names with dots, too long for a policy": {
			test: "template: dotted/template.yaml, constraint: dotted.yaml" + one, passed: 1},
		"one that fits": {test: "constraint: constraint.yaml, invalid: true", failed: 1,
			says: "got it fits"},
		"one that can't be expressed doesn't count as unfit": {test: "constraint: generated.yaml, invalid: true",
			failed: 1, says: "match.source Generated"},
		"one that can't be expressed": {test: "constraint: generated.yaml" + one, failed: 1,
			says: "match.source Generated"},
		"every kind": {test: "constraint: every.yaml" + one, passed: 1},
		"every kind, one that nobody knows among them": {test: "constraint: every.yaml, " +
			"cases: [{name: c, object: thing.yaml, assertions: [{violations: 1}]}]", passed: 1},
		"no constraint": {test: "template: template.yaml" + one, failed: 1,
			says: "constraint is missing"},
		"a file of no constraint": {test: "constraint: bare.yaml" + one, failed: 1,
			says: "bare.yaml holds no constraint"},
		"an expansion": {test: "constraint: constraint.yaml, expansion: e.yaml" + one, failed: 1,
			says: "expansion: "},
		"no case, and no constraint": {test: "template: template.yaml", failed: 1, says: "t: want a constraint that"},
		"cases misspelt, and a constraint that doesn't fit": {
			test: "constraint: unfit.yaml, case: [{name: c}]", failed: 1, says: "labels"},
		"cases misspelt": {test: "constraint: constraint.yaml, case: [{name: c}]"},
		"every case skipped, and a template that isn't there": {test: "template: nowhere.yaml, " +
			"constraint: constraint.yaml, cases: [{name: c, skip: true}]", skipped: 1, failed: 1,
			says: "nowhere.yaml"},
		"a broken constraint fails a test once": {test: "constraint: unfit.yaml, " +
			"cases: [{name: c, object: bare.yaml}, {name: d, object: bare.yaml}]", failed: 1, says: "t: want"},
		"an inventory of a case that is skipped": {test: "constraint: constraint.yaml, cases: [{name: c, " +
			"object: bare.yaml, assertions: [{}]}, {name: d, skip: true, inventory: [nowhere.yaml]}]",
			passed: 1, skipped: 1},
		"an inventory that isn't there": {test: "constraint: constraint.yaml, cases: [{name: c, " +
			"object: bare.yaml, assertions: [{}], inventory: [nowhere.yaml]}]", failed: 1, says: "t/c: "},
		"a skipped test of no constraint":           {test: "skip: true"},
		"a test of no constraint that isn't chosen": {test: "cases: [{name: c}]", chosen: "elsewhere"},
		"a test of no constraint that is chosen": {test: "cases: [{name: c, skip: true}]", chosen: "^t$", failed: 1,
			skipped: 1, says: "constraint is missing"},
		"a test that is skipped":   {test: "constraint: constraint.yaml, skip: true" + one, skipped: 1},
		"a test that isn't chosen": {test: "constraint: constraint.yaml" + one, chosen: "elsewhere"},
		"a test that is chosen":    {test: "constraint: constraint.yaml" + one, chosen: "^t/c$", passed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			opts := suite.Options{}
			if tc.chosen != "" {
				opts.Run = regexp.MustCompile(tc.chosen)
			}
			text := head + "- {name: t, " + tc.test
			if !strings.Contains(tc.test, "template:") {
				text += ", template: template.yaml"
			}
			report, failed := run(t, text+"}\n", opts)
			got := []int{report.Passed, report.Skipped, len(failed)}
			if diff := cmp.Diff([]int{tc.passed, tc.skipped, tc.failed}, got); diff != "" {
				t.Errorf("passed, skipped, failed (-want +got):\n%s%q", diff, failed)
			}
			if tc.says != "" && !strings.Contains(strings.Join(failed, "\n"), tc.says) {
				t.Errorf("got %q, want %q", failed, tc.says)
			}
		})
	}
}

// TestTextIsTextAsInGator: of YAML 1.2 on, off, yes and no are texts.
func TestTextIsTextAsInGator(t *testing.T) {
	text := head + "- {name: t, template: template.yaml, constraint: constraint.yaml, cases: [" +
		"{name: on, object: bare.yaml, assertions: [{violations: no, message: no}, {violations: yes}]}, " +
		"{name: off, object: good.yaml, assertions: [{violations: no}]}]}\n"
	for chosen, want := range map[string]int{"": 2, "^t/off$": 1, "^t/false$": 0} {
		report, failed := run(t, text, suite.Options{Run: regexp.MustCompile(chosen)})
		if report.Passed != want || len(failed) > 0 {
			t.Errorf("--run %q: %d passed, want %d; failed: %q", chosen, report.Passed, want, failed)
		}
	}
}

func TestASuiteThatCantBeReadIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"no number":   "[{name: t, cases: [{name: c, assertions: [{violations: some}]}]}]",
		"a negative":  "[{name: t, cases: [{name: c, assertions: [{violations: -1}]}]}]",
		"not a list":  "{name: t}",
		"not a truth": "[{name: t, skip: often}]",
		"no YAML":     "[{name: t",
		"a key twice": "[{name: t, name: u}]",
		"yes, a text": "[{name: t, skip: yes}]",
		"true":        "[{name: t, cases: [{name: c, assertions: [{violations: true}]}]}]",
		"false":       "[{name: t, cases: [{name: c, assertions: [{violations: false}]}]}]",
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{"a/s.yaml": {Data: []byte(strings.TrimSuffix(head, "\n") + " " + text + "\n")}}
			if _, err := gator.Run(t.Context(), fsys, ".", suite.Options{}, &suite.Report{}); err == nil ||
				!strings.Contains(err.Error(), "a/s.yaml") {
				t.Errorf("got %v, want an error that names the file", err)
			}
		})
	}
}

func TestOtherFilesAreNoSuites(t *testing.T) {
	fsys := files()
	fsys["note.yaml"] = &fstest.MapFile{Data: []byte("# test.gatekeeper.sh is gator's\na: {b")}
	fsys[".git/suite.yaml"] = &fstest.MapFile{Data: []byte(head + "- {}\n")}
	if n, err := gator.Run(t.Context(), fsys, ".", suite.Options{}, &suite.Report{}); n != 0 || err != nil {
		t.Errorf("%d suites, %v", n, err)
	}
}
