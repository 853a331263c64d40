// SPDX-License-Identifier: Apache-2.0

package scaffold_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/scaffold"
	"evenkeel.dev/evenkeel/internal/suite"
)

func options(change func(*scaffold.Options)) scaffold.Options {
	opts := scaffold.Options{
		Name: "no-escalation", Dir: "policies/security", Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Owner: "team-shop", Runbook: "https://example.com/runbooks/no-escalation",
	}
	change(&opts)
	return opts
}

func written(t *testing.T, opts scaffold.Options) (dir string) {
	t.Helper()
	made, err := scaffold.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	paths, err := made.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	return filepath.Join(dir, made.Dir)
}

func TestAScaffoldPassesItsTestsAndBuilds(t *testing.T) {
	kinds := map[string]string{
		"a Pod":                      "Pod",
		"a workload by its own kind": "Deployment",
		"a kind of the cluster":      "Namespace",
		"a custom resource":          "Certificate.v1.cert-manager.io",
	}
	for name, word := range kinds {
		for _, fix := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				kind, known := scaffold.Kind(word)
				if !known {
					t.Fatalf("%s isn't known", word)
				}
				dir := written(t, options(func(o *scaffold.Options) { o.Kind, o.Fix = kind, fix }))
				provenAndBuilt(t, dir, fix)
			})
		}
	}
}

func provenAndBuilt(t *testing.T, dir string, fix bool) {
	t.Helper()
	tree, err := directory.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	report, err := suite.Run(t.Context(), tree.FS, tree.Root, suite.Options{MinCoverage: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, failure := range report.Failures {
		t.Error(failure)
	}
	if report.Coverage != 100 || report.Passed < 5 {
		t.Errorf("%d passed with %.1f %% coverage, want at least 2 tests and 3 examples with 100 %%", report.Passed,
			report.Coverage)
	}
	policies, err := directory.Load(tree.FS, tree.Root)
	if err != nil {
		t.Fatal(err)
	}
	if len(policies) != 1 || policies[0].Name != "no-escalation" || policies[0].Spec.Owner != "team-shop" {
		t.Errorf("built %v, want the one policy no-escalation of team-shop", policies)
	}
	if fixes := strings.Contains(policies[0].Spec.Rego.Main, "remediation contains"); fixes != fix {
		t.Errorf("the rule offers a fix: %v, want %v", fixes, fix)
	}
}

// longestLine is the style guide's bound on lines of Rego.
const longestLine = 120

// What authors start from should be as the formatter leaves it, so that their first
// format changes nothing of ours.
func TestAScaffoldIsFormatted(t *testing.T) {
	for _, kind := range []string{"Pod", "CustomResourceDefinition"} {
		for _, fix := range []bool{false, true} {
			made, err := scaffold.New(options(func(o *scaffold.Options) { o.Kind.Kind, o.Fix = kind, fix }))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range made.Files {
				for i, line := range strings.Split(string(file.Text), "\n") {
					if len(line) > longestLine {
						t.Errorf("%s, %s:%d: the line has %d characters, at most %d are allowed", kind, file.Name, i+1,
							len(line), longestLine)
					}
				}
				if !strings.HasSuffix(file.Name, ".rego") {
					continue
				}
				formatted, err := format.SourceWithOpts(file.Name, file.Text, format.Opts{RegoVersion: ast.RegoV1})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(formatted), string(file.Text)); diff != "" {
					t.Errorf("%s, %s isn't as opa fmt writes it (-formatted +file):\n%s", kind, file.Name, diff)
				}
			}
		}
	}
}

func TestAnOwnerIsWrittenAsYAML(t *testing.T) {
	for _, owner := range []string{"team: \"blue\" #1", "- yes", "true", "Grüne Wiese"} {
		dir := written(t, options(func(o *scaffold.Options) { o.Owner = owner }))
		tree, err := directory.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		policies, err := directory.Load(tree.FS, tree.Root)
		if err != nil {
			t.Fatal(err)
		}
		if got := policies[0].Spec.Owner; got != owner {
			t.Errorf("owner is %q, want %q", got, owner)
		}
	}
}

func TestNames(t *testing.T) {
	type names struct{ ID, Dir, Package string }
	tests := map[string]struct {
		reason    string
		name, dir string
		want      names
	}{
		"dashes": {"the id keeps them, the package can't", "no-latest-tag",
			"policies/supplychain", names{"no-latest-tag", "no_latest_tag", "evenkeel.supplychain.no_latest_tag"}},
		"underscores": {"the other way round", "no_latest_tag", "policies/supplychain",
			names{"no-latest-tag", "no_latest_tag", "evenkeel.supplychain.no_latest_tag"}},
		"no category": {
			"there is none to name", "no-latest", ".", names{"no-latest", "no_latest", "evenkeel.no_latest"}},
		"the top of the policies": {
			"the same", "no-latest", "/srv/policies", names{"no-latest", "no_latest", "evenkeel.no_latest"}},
		"another place": {"its own name is the category", "no-latest", "/srv/Net-Work",
			names{"no-latest", "no_latest", "evenkeel.net_work.no_latest"}},
		"a directory within another": {"each is a part", "a1", "x/policies/net/ingress",
			names{"a1", "a1", "evenkeel.net.ingress.a1"}},
		"the nearest directory counts": {"policies in policies", "a1", "policies/old/policies/net",
			names{"a1", "a1", "evenkeel.net.a1"}},
		"a directory above, by its dots": {"dots name nothing", "a1", "../..", names{"a1", "a1", "evenkeel.a1"}},
		"a directory with dots and spaces": {
			"made a word", "a1", "my rules.d", names{"a1", "a1", "evenkeel.my_rules_d.a1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			made, err := scaffold.New(options(func(o *scaffold.Options) { o.Name, o.Dir = tc.name, tc.dir }))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, names{made.ID, made.Dir, made.Package}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(*scaffold.Options)
		want   string
	}{
		"no name": {"it becomes a directory", func(o *scaffold.Options) { o.Name = "" },
			`"" can't be the name`},
		"a path": {"--dir is for that", func(o *scaffold.Options) { o.Name = "a/b" },
			`"a/b" can't be the name`},
		"capitals": {"no name of Kubernetes has them", func(o *scaffold.Options) {
			o.Name = "NoLatest"
		}, "lower-case words"},
		"a number first": {"no package begins so", func(o *scaffold.Options) {
			o.Name = "2-replicas"
		}, "the first a word"},
		"a dash at the end": {"nor ends so", func(o *scaffold.Options) { o.Name = "a-" }, "joined by dashes"},
		"a long name": {"names of reports need room", func(o *scaffold.Options) {
			o.Name = strings.Repeat("a", 53)
		}, "shorten it to 52"},
		"a keyword of Rego": {"the package couldn't be named", func(o *scaffold.Options) {
			o.Name = "default"
		}, "no-default"},
		"a function of Rego": {"the import would hide it", func(o *scaffold.Options) { o.Name = "count" },
			"another use for the word"},
		"lib": {"it would be no policy", func(o *scaffold.Options) { o.Name = "lib" },
			"holds libraries"},
		"the name of a test": {"nor would that", func(o *scaffold.Options) { o.Name = "smoke-test" }, "unit tests"},
		"a category by number": {"no package is named so", func(o *scaffold.Options) {
			o.Dir = "policies/2026"
		}, `the directory "2026"`},
		"no owner": {"somebody must answer for it", func(o *scaffold.Options) { o.Owner = " " }, "--owner"},
		"an owner of two lines": {"it would write METADATA", func(o *scaffold.Options) { o.Owner = "a\nb" },
			"in one line"},
		"no runbook": {"somebody is called at night", func(o *scaffold.Options) { o.Runbook = "" },
			"--runbook"},
		"a runbook that isn't web": {"a browser must open it", func(o *scaffold.Options) {
			o.Runbook = "ftp://example.com/x"
		}, "must be a web address"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := scaffold.New(options(tc.change))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error is %v, want one with %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestWriteRefusesWhatIsThere(t *testing.T) {
	made, err := scaffold.New(options(func(*scaffold.Options) {}))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		there     func(dir string) error
		dir, says string
	}{
		"a policy": {func(dir string) error { return os.Mkdir(filepath.Join(dir, made.Dir), 0o755) }, "",
			made.Dir + " exists already: nothing was written; change the policy there, remove it first (rm -r "},
		"a file": {
			func(dir string) error { return os.WriteFile(filepath.Join(dir, made.Dir), []byte("mine"), 0o600) }, "",
			made.Dir + " exists already, as a file: nothing was written; give another name, or another " +
				"directory with --dir"},
		"a file instead of the directory": {
			func(dir string) error { return os.WriteFile(filepath.Join(dir, "notes"), []byte("mine"), 0o600) }, "notes",
			"notes leads through a file: nothing was written; give a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tc.there(dir); err != nil {
				t.Fatal(err)
			}
			_, err := made.Write(filepath.Join(dir, tc.dir))
			if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), tc.says) ||
				strings.HasSuffix(err.Error(), fs.ErrExist.Error()) {
				t.Errorf("error is %v, want one that says %q", err, tc.says)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("%d entries are left (%v), want the one that was there", len(left), err)
			}
		})
	}
}

func TestKind(t *testing.T) {
	tests := map[string]struct {
		reason, name string
		want         schema.GroupVersionKind
	}{
		"a kind by its name": {"in its newest version", "Deployment",
			schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}},
		"written small": {
			"people do", "ingress", schema.GroupVersionKind{
				Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}},
		"a kind of the core group": {"it has no name", "Pod", schema.GroupVersionKind{Version: "v1", Kind: "Pod"}},
		"a kind of Kubernetes with its group": {"in its newest version", "Job.batch",
			schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}},
		"a kind in full": {"whatever is installed", "Certificate.v1.cert-manager.io",
			schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}},
		"a kind with its apiVersion": {"as it stands in manifests", "Widget.example.com/v1beta1",
			schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Widget"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got, known := scaffold.Kind(tc.name); !known || got != tc.want {
				t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
	for name, want := range map[string][]string{"Deploymnt": {"Deployment"}, "Deployments": {"Deployment"},
		"PodList": nil, "": nil, "Deplyoment": {"Deployment"}, "Deployment.app": {"Deployment.apps"},
		"Deploymnt.apps": {"Deployment.apps"}, "Pod.core": {"Pod"}, "Job.example.com": {"Job.batch"},
		// Once taken for version "example" of group "com".
		"Widget.example.com": nil} {
		if got, known := scaffold.Kind(name); known {
			t.Errorf("Kind(%q) is %v, want none", name, got)
		}
		if diff := cmp.Diff(want, scaffold.Similar(name, nil)); diff != "" {
			t.Errorf("Similar(%q) (-want +got):\n%s", name, diff)
		}
	}
}

// TestUnknownSaysWhatWasMeant: a policy that names a kind which no group of its has judges nothing.
func TestUnknownSaysWhatWasMeant(t *testing.T) {
	tests := map[string]struct {
		reason, group, kind string
		unknown             bool
		meant               string
	}{
		"a kind of its group": {"nothing is wrong", "apps", "Deployment", false, ""},
		"a misspelt kind":     {"of a known group", "", "Pood", true, "Pod"},
		"a misspelt group":    {"the kind is known", "app", "Deployment", true, `the group "apps"`},
		"a misspelt group with a dot": {"near that of the kind", "networking.k8s.oi", "Ingress", true,
			`the group "networking.k8s.io"`},
		"a kind of another group":  {"both are of Kubernetes", "", "Deployment", true, `the group "apps"`},
		"the core group by a name": {"it has none", "core", "Pod", true, `the group ""`},
		"a group of somebody's":    {"nothing is known of it", "example.com", "Deployment", false, ""},
		"a kind of somebody's":     {"nothing is known of it", "example.com", "Widget", false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if unknown, meant := scaffold.Unknown(tt.group, tt.kind); unknown != tt.unknown || meant != tt.meant {
				t.Errorf("%s: %t, %q; want %t, %q", tt.reason, unknown, meant, tt.unknown, tt.meant)
			}
		})
	}
}
