// SPDX-License-Identifier: Apache-2.0

package policies_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/suite"
	"evenkeel.dev/evenkeel/policies"
)

// longestLine is the style guide's bound on lines of Rego.
const longestLine = 120

func TestLibraryLoadsAndCompiles(t *testing.T) {
	loaded, err := directory.Load(policies.FS, ".")
	if err != nil {
		t.Fatal(err)
	}
	// Who has a fix tries it as a dry run; who has none plans nothing. Neither writes unless its owner says so.
	want := map[string]v1alpha1.RemediationMode{}
	eachModule(t, func(file, text string) {
		if dir := path.Dir(file); dir != directory.LibraryDir && !strings.HasSuffix(file, "_test.rego") {
			mode := v1alpha1.RemediationDisabled
			if strings.Contains(text, "\nremediation contains ") {
				mode = v1alpha1.RemediationDryRun
			}
			want[strings.ReplaceAll(path.Base(dir), "_", "-")] = mode
		}
	})
	got := map[string]v1alpha1.RemediationMode{}
	for _, p := range loaded {
		p.SetDefaults()
		got[p.Name] = p.Spec.Remediation.Mode
		if wanted := "https://evenkeel.dev/docs/policies/" + p.Name; p.Spec.RunbookURL != wanted {
			t.Errorf("policy %s: runbook is %s, want %s", p.Name, p.Spec.RunbookURL, wanted)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policies and their remediation mode (-want +got):\n%s", diff)
	}
}

func TestLibraryPassesItsTestsAndExamples(t *testing.T) {
	for _, engine := range []rego.Engine{rego.Topdown, rego.CompiledEngine} {
		options := suite.Options{MinCoverage: 100, Engine: engine}
		report, err := suite.Run(context.Background(), policies.FS, ".", options)
		if err != nil {
			t.Fatal(err)
		}
		for _, failure := range report.Failures {
			t.Errorf("%s: %s", engine, failure)
		}
		if report.Passed == 0 || report.Coverage != 100 {
			t.Errorf("%s: %d passed with %.1f %% coverage, want some with 100 %%", engine, report.Passed,
				report.Coverage)
		}
	}
}

func TestLibraryIsFormatted(t *testing.T) {
	eachModule(t, func(file, text string) {
		formatted, err := format.SourceWithOpts(file, []byte(text), format.Opts{RegoVersion: ast.RegoV1})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			return
		}
		if diff := cmp.Diff(string(formatted), text); diff != "" {
			t.Errorf("%s isn't as opa fmt writes it (-formatted +file):\n%s", file, diff)
		}
		for i, line := range strings.Split(text, "\n") {
			if len(line) > longestLine {
				t.Errorf("%s:%d: the line has %d characters, at most %d are allowed", file, i+1, len(line), longestLine)
			}
		}
	})
}

func TestPackagesAreNamedForTheirDirectories(t *testing.T) {
	eachModule(t, func(file, text string) {
		name := strings.TrimSuffix(path.Base(file), ".rego")
		want := "package evenkeel." + strings.ReplaceAll(path.Dir(file), "/", ".")
		if path.Dir(file) == directory.LibraryDir {
			want += "." + name
		} else if strings.HasSuffix(name, "_test") {
			want += "_test"
		}
		if !strings.Contains("\n"+text, "\n"+want+"\n") {
			t.Errorf("%s has no line %q", file, want)
		}
	})
}

var update = flag.Bool("update", false, "write the table of docs/policies.md anew")

// The table of the library's page stands between these lines.
const (
	tableBegin = "<!-- begin: generated from policies/ -->\n"
	tableEnd   = "<!-- end -->\n"
)

// TestEveryPolicyIsDescribed: the page has a row for each, with a link to the page that is made from its examples.
func TestEveryPolicyIsDescribed(t *testing.T) {
	const file = "../docs/policies.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := directory.Load(policies.FS, ".")
	if err != nil {
		t.Fatal(err)
	}
	want := "| policy | severity | enforcement | fix | what it asks for |\n|---|---|---|---|---|\n"
	for _, p := range loaded {
		p.SetDefaults()
		fix := "yes"
		if p.Spec.Remediation.Mode == v1alpha1.RemediationDisabled {
			fix = "no"
		}
		want += fmt.Sprintf("| [%s](policies/%s.md) | %s | %s | %s | %s |\n", p.Name, p.Name, p.Spec.Severity,
			p.Spec.Admission.Action, fix, p.Spec.Title)
	}
	head, rest, begun := strings.Cut(string(page), tableBegin)
	got, tail, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		t.Fatalf("%s has lost the lines around its table: %q and %q", file, tableBegin, tableEnd)
	}
	if *update {
		if err := os.WriteFile(file, []byte(head+tableBegin+want+tableEnd+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s isn't true to policies/: run make generate (-policies +page):\n%s", file, diff)
	}
}

// documentedFile is a file in a page: its name on a line of its own, then its text.
var documentedFile = regexp.MustCompile("(?ms)^`([\\w./]+)`\n```\\w+\n(.*?)^```$")

func TestTheDocumentedPolicyWorks(t *testing.T) {
	page, err := os.ReadFile("../docs/write-a-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, file := range documentedFile.FindAllStringSubmatch(string(page), -1) {
		if file[1] == "smallest.yaml" {
			smallestWorks(t, file[2])
			continue
		}
		fsys[file[1]] = &fstest.MapFile{Data: []byte(file[2])}
	}
	if len(fsys) != 3 {
		t.Fatalf("%d files found in docs/write-a-policy.md, want 3", len(fsys))
	}
	report, err := suite.Run(context.Background(), fsys, ".", suite.Options{MinCoverage: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, failure := range report.Failures {
		t.Error(failure)
	}
	if report.Passed != 6 {
		t.Errorf("%d passed, want 3 unit tests and 3 examples", report.Passed)
	}
}

// smallestWorks holds the policy that the page begins with to what the page says of it.
func smallestWorks(t *testing.T, text string) {
	t.Helper()
	var p v1alpha1.ClusterRegoPolicy
	if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.RegoPolicySpec{Title: p.Spec.Title, Match: v1alpha1.Match{Kinds: p.Spec.Match.Kinds},
		Rego: v1alpha1.RegoSource{Main: p.Spec.Rego.Main}}
	if diff := cmp.Diff(want, p.Spec); diff != "" {
		t.Errorf("the smallest policy says more than it needs (-needs +says):\n%s", diff)
	}
	if err := catalog.New(catalog.Options{}).Set(&p); err != nil {
		t.Error(err)
	}
}

func eachModule(t *testing.T, check func(file, text string)) {
	t.Helper()
	count := 0
	err := fs.WalkDir(policies.FS, ".", func(at string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(at, ".rego") {
			return err
		}
		text, err := fs.ReadFile(policies.FS, at)
		if err != nil {
			return err
		}
		count++
		check(at, string(text))
		return nil
	})
	if err != nil || count == 0 {
		t.Fatalf("read %d modules: %v", count, err)
	}
}
