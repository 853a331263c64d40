// SPDX-License-Identifier: Apache-2.0

package policies_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/policies"
)

// benchRules are the ConstraintTemplates by which Evenkeel is measured and compared with Gatekeeper.
const benchRules = "../hack/bench"

// judgedBy is a policy or a template that policies are made of.
type judgedBy struct {
	policy   *v1alpha1.ClusterRegoPolicy
	template *v1alpha1.RegoTemplate
}

// example is what is read of one in a policy's examples.yaml.
type example struct {
	Parameters map[string]any `json:"parameters"`
	Object     map[string]any `json:"object"`
}

// examplesOf are those of each directory of the library. Whole numbers are whole, as an API server's are.
func examplesOf(t *testing.T) map[string][]example {
	t.Helper()
	files, err := fs.Glob(policies.FS, "*/*/examples.yaml")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d files of examples, %v", len(files), err)
	}
	all := map[string][]example{}
	for _, file := range files {
		text, err := fs.ReadFile(policies.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		var examples []example
		if err := json.Unmarshal(raw, &examples); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.ReplaceAll(path.Base(path.Dir(file)), "_", "-")] = examples
	}
	return all
}

func exampleObjects(t *testing.T) (all []map[string]any) {
	t.Helper()
	of := examplesOf(t)
	for _, name := range slices.Sorted(maps.Keys(of)) {
		for _, e := range of[name] {
			if e.Object != nil {
				all = append(all, e.Object)
			}
		}
	}
	return all
}

// fromLibrary has each policy of the library once, and once more for each of its examples' parameters.
func fromLibrary(t *testing.T) (all []judgedBy) {
	t.Helper()
	loaded, err := directory.Load(policies.FS, ".")
	if err != nil {
		t.Fatal(err)
	}
	examples := examplesOf(t)
	for _, p := range loaded {
		p.SetDefaults()
		all = append(all, judgedBy{policy: p})
		for i, e := range examples[p.Name] {
			if e.Parameters == nil {
				continue
			}
			raw, err := json.Marshal(e.Parameters)
			if err != nil {
				t.Fatal(err)
			}
			given := p.DeepCopy()
			given.Name = fmt.Sprintf("%s-%d", p.Name, i)
			given.Spec.Parameters = &apiextensionsv1.JSON{Raw: raw}
			all = append(all, judgedBy{policy: given})
		}
	}
	return all
}

// fromTemplates are the policies that the ConstraintTemplates of hack/bench become, each of which must.
func fromTemplates(t *testing.T) (all []judgedBy) {
	t.Helper()
	documents, err := manifest.Read(t.Context(), []string{filepath.Join(benchRules, "estate", "rules.yaml"),
		filepath.Join(benchRules, "rules", "gatekeeper", "rules.yaml"), podTemplates(t)}, nil, manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range gatekeeper.Migrate(documents,
		gatekeeper.Options{Owner: "platform", Severity: v1alpha1.SeverityLow}) {
		if item.State != gatekeeper.Migrated {
			t.Fatalf("%s: %s: %v", item.Object, item.State, item.Notes)
		}
		all = append(all, judgedBy{item.Policy, item.Template})
	}
	if len(all) < 60 {
		t.Fatalf("%d templates and policies in %s", len(all), benchRules)
	}
	return all
}

// podTemplates writes the rules of hack/bench/pods as hack/bench has them judge, with their parameters.
func podTemplates(t *testing.T) (file string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(benchRules, "pods", "parameters.json"))
	if err != nil {
		t.Fatal(err)
	}
	var parameters map[string]any
	if err := json.Unmarshal(raw, &parameters); err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Glob(filepath.Join(benchRules, "pods", "*.rego"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, module := range modules {
		name := strings.TrimSuffix(filepath.Base(module), ".rego")
		source, err := os.ReadFile(module)
		if err != nil {
			t.Fatal(err)
		}
		given, err := json.Marshal(parameters[name])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: %[1]s}
spec:
  crd:
    spec:
      names: {kind: %[2]s}
      validation: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  targets: [{target: admission.k8s.gatekeeper.sh, rego: %[3]q}]
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: %[2]s
metadata: {name: %[1]s}
spec: {match: {kinds: [{apiGroups: [""], kinds: [Pod]}]}, parameters: %[4]s}
---
`, name, strings.ToUpper(name[:1])+name[1:], source, given)
	}
	file = filepath.Join(t.TempDir(), "pods.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// templateObjects are of the kinds that the templates' constraints name, with what their rules read.
func templateObjects(t *testing.T) (all []map[string]any) {
	t.Helper()
	documents, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(wholeObjects),
		manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range documents {
		all = append(all, documents[i].Object)
	}
	return all
}

// placesIn are the ways to all values in a value.
func placesIn(value any, at []any) (all [][]any) {
	if value == nil {
		return nil
	}
	all = append(all, at)
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, placesIn(v[key], append(slices.Clone(at), key))...)
		}
	case []any:
		for i, element := range v {
			all = append(all, placesIn(element, append(slices.Clone(at), i))...)
		}
	}
	return all
}

// setIn puts an odd value in a place of an object, or takes away what is there.
func setIn(rt *rapid.T, value any, at []any, odds []any) {
	for len(at) > 1 {
		switch key := at[0].(type) {
		case string:
			value = value.(map[string]any)[key]
		case int:
			value = value.([]any)[key]
		}
		at = at[1:]
	}
	switch key := at[0].(type) {
	case string:
		if rapid.IntRange(0, 2).Draw(rt, "absent") == 0 {
			delete(value.(map[string]any), key)
			return
		}
		value.(map[string]any)[key] = rapid.SampledFrom(odds).Draw(rt, "odd")
	case int:
		value.([]any)[key] = rapid.SampledFrom(odds).Draw(rt, "odd")
	}
}
