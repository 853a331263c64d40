// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/policy/directory"
)

const library = "../../../policies"

// listOf is a ResourceList with one object that isn't ours and a configuration.
func listOf(config string, items ...string) string {
	text := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {apiVersion: v1, kind: ConfigMap, " +
		"metadata: {name: other}, data: {a: b}} # keep me\n"
	return text + strings.Join(items, "") + config
}

func configFor(spec string) string {
	return "functionConfig:\n  apiVersion: fn.evenkeel.dev/v1alpha1\n  kind: PolicyDirectory\n  metadata: {name: " +
		"library}\n  spec: " + spec + "\n"
}

type result struct {
	Message, Severity string
	File              struct{ Path string }
}

// run gives the objects and results of the list that comes back.
func run(t *testing.T, in string) (text string, items []map[string]any, results []result, err error) {
	t.Helper()
	var out bytes.Buffer
	err = runFunction(strings.NewReader(in), &out)
	var list struct {
		APIVersion, Kind string
		Items            []map[string]any
		Results          []result
	}
	if err := yaml.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatalf("%v:\n%s", err, out.String())
	}
	if list.Kind != "ResourceList" {
		t.Errorf("what comes back is a %q, want a ResourceList", list.Kind)
	}
	return out.String(), list.Items, list.Results, err
}

func TestTheListComesBackWithThePolicies(t *testing.T) {
	text, items, results, err := run(t, listOf(configFor("{path: "+library+"}")))
	if err != nil || len(results) > 0 {
		t.Fatalf("%v, results %v", err, results)
	}
	if !strings.Contains(text, "# keep me") || items[0]["kind"] != "ConfigMap" {
		t.Errorf("the other object isn't first as it was:\n%.300s", text)
	}
	tree, err := directory.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	policies, err := directory.Load(tree.FS, tree.Root)
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 1+len(policies) {
		t.Fatalf("%d objects, want the one that was there and %d policies", len(items), len(policies))
	}
	for i, p := range policies {
		rendered, err := directory.Render(policies[i : i+1])
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := yaml.Unmarshal(rendered, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, items[1+i]); diff != "" {
			t.Errorf("policy %s isn't as it is built (-built +listed):\n%s", p.Name, diff)
		}
	}
}

func TestRunningTwiceChangesNothing(t *testing.T) {
	once, _, _, err := run(t, listOf(configFor("{path: "+library+"}")))
	if err != nil {
		t.Fatal(err)
	}
	twice, _, _, err := run(t, once)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(once, twice); diff != "" {
		t.Errorf("the second run (-once +twice):\n%s", diff)
	}
}

func TestRunRefuses(t *testing.T) {
	broken := t.TempDir()
	if err := os.CopyFS(broken, os.DirFS(library)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(broken, "governance/owner_labels/owner_labels.rego")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte("severity: Low"), []byte("severity: low"), 1),
		0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		reason, config, want string
	}{
		"a list without configuration": {"it says what to give", "", "has no functionConfig"},
		"another kind": {
			"it may be another function's", strings.Replace(configFor("{path: a}"), "PolicyDirectory", "Policies", 1),
			`kind "Policies"`},
		"an unknown key": {"a misspelt one must not be lost", configFor("{path: a, recurse: true}"),
			"recurse"},
		"no path":           {"the working directory may hold anything", configFor("{}"), "no spec.path"},
		"a path to nothing": {"the path is named", configFor("{path: nowhere}"), "nowhere"},
		"a policy that is wrong": {"with its file and line", configFor("{path: " + broken + "}"),
			`"low" isn't supported`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, items, results, err := run(t, listOf(tc.config))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%s: error is %v, want one with %q", tc.reason, err, tc.want)
			}
			if len(items) != 1 {
				t.Errorf("%d objects come back, want the one that was there", len(items))
			}
			if len(results) != 1 || results[0].Severity != "error" || !strings.Contains(results[0].Message, tc.want) {
				t.Errorf("results are %v, want one error with %q", results, tc.want)
			}
			var wrong *directory.Error
			if errors.As(err, &wrong) && results[0].File.Path != file {
				t.Errorf("the result names file %q, want %q", results[0].File.Path, file)
			}
		})
	}
}
