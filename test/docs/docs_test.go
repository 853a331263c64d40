// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/test/walkthrough"
)

const root = "../.."

func TestEveryEventAndMetricIsDocumented(t *testing.T) {
	page := read(t, "docs/operate.md")
	events := constants(t, "api/v1alpha1/events.go", "Event")
	if len(events) < 30 {
		t.Errorf("api/v1alpha1/events.go holds %d reasons of events: this test looks in the wrong place", len(events))
	}
	for _, reason := range events {
		if !strings.Contains(page, "`"+reason+"`") {
			t.Errorf("docs/operate.md doesn't explain the event %s", reason)
		}
	}
	reference := read(t, "docs/reference/signals.md")
	name := regexp.MustCompile(`"(evenkeel_[a-z_]+)"`)
	var files []string
	for _, pattern := range []string{"internal/*/metrics.go", "internal/*/*/metrics.go"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no files: %v", pattern, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		for _, m := range name.FindAllStringSubmatch(readPath(t, file), -1) {
			if !strings.Contains(page, "`"+m[1]+"`") {
				t.Errorf("docs/operate.md doesn't explain the metric %s of %s", m[1], file)
			}
			if !strings.Contains(reference, "| `"+m[1]+"` |") {
				t.Errorf("docs/reference/signals.md lacks the metric %s of %s: run make generate; if it stays away, "+
					"hack/tools/signaldocs must learn how it is made", m[1], file)
			}
		}
	}
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	pages := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		pages++
		for _, m := range link.FindAllStringSubmatch(readPath(t, path), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which doesn't exist", path, m[1])
			}
		}
		return nil
	})
	if err != nil || pages < 5 {
		t.Fatalf("read %d pages: %v", pages, err)
	}
}

// constants are the values of a file's string constants whose name has a prefix.
func constants(t *testing.T, file, prefix string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) == 0 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	return values
}

func read(t *testing.T, file string) string {
	t.Helper()
	return readPath(t, filepath.Join(root, file))
}

func readPath(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestTheReadmesPolicyLoads(t *testing.T) {
	page := read(t, "README.md")
	_, rest, found := strings.Cut(page, "```rego\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("README.md shows no policy")
	}
	tree := fstest.MapFS{"policies/no_host_network/no_host_network.rego": {Data: []byte(text)}}
	loaded, err := directory.Load(tree, "policies")
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) != 1 || loaded[0].Name != "no-host-network" ||
		loaded[0].Spec.Admission.Action != v1alpha1.AdmissionDeny {
		t.Errorf("README.md's policy loads as %+v", loaded)
	}
}

func TestTheExampleOfMetricsCanBeAskedAndJudged(t *testing.T) {
	_, section, found := strings.Cut(read(t, "docs/write-a-policy.md"), "## Ask metrics about a rollout")
	_, rest, opened := strings.Cut(section, "```yaml\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !opened || !closed {
		t.Fatal("docs/write-a-policy.md has no example of metrics")
	}
	var example v1alpha1.RemediationStrategy
	if err := yaml.UnmarshalStrict([]byte(text), &example); err != nil {
		t.Fatal(err)
	}
	if example.Spec.Analysis == nil {
		t.Fatal("the example names no metric")
	}
	for _, p := range canary.Validate(&example.Spec) {
		t.Errorf("docs/write-a-policy.md: %v", p)
	}
}

func TestEveryCommandSaysHowItIsRun(t *testing.T) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		relative, err := filepath.Rel(root, path)
		if err != nil || relative != "README.md" && !strings.HasPrefix(relative, "docs/") ||
			filepath.Ext(path) != ".md" {
			return err
		}
		_, problems := walkthrough.Parse(readPath(t, path))
		for _, problem := range problems {
			t.Errorf("%s:%s", relative, problem)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
