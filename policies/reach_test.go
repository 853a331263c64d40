// SPDX-License-Identifier: Apache-2.0

package policies_test

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/suite"
	"evenkeel.dev/evenkeel/policies"
)

func TestFixesOfTheLibraryNeedNoFlagButForAnotherImage(t *testing.T) {
	loaded, err := directory.LoadLocated(policies.FS, ".")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, p := range loaded {
		text, err := fs.ReadFile(policies.FS, path.Join(p.Dir, suite.ExamplesFile))
		if err != nil {
			t.Fatal(err)
		}
		var examples []suite.Example
		if err := yaml.Unmarshal(text, &examples); err != nil {
			t.Fatal(err)
		}
		for _, example := range examples {
			if wanted, isBool := example.Fixed.(bool); example.Fixed == nil || isBool && !wanted {
				continue
			}
			definition := p.Definition.DeepCopy()
			if example.Parameters != nil {
				raw, err := json.Marshal(example.Parameters)
				if err != nil {
					t.Fatal(err)
				}
				definition.Spec.Parameters = &apiextensionsv1.JSON{Raw: raw}
			}
			all := catalog.New(catalog.Options{TimeLimit: 10 * time.Second})
			if err := all.Set(definition); err != nil {
				t.Fatal(err)
			}
			object, err := action.Apply(example.Object, nil) // numbers as the API server's
			if err != nil {
				t.Fatal(err)
			}
			result, _ := all.Snapshot().EvaluateOne(
				t.Context(), definition.Name, policy.NewAudit(object, nil, time.Unix(0, 0)))
			_, fixed, err := action.Steps(object, result.Actions, time.Unix(0, 0))
			if err != nil || len(result.Actions) == 0 {
				t.Fatalf("%s, %s: %d actions, %v", definition.Name, example.Name, len(result.Actions), err)
			}
			tried[definition.Name] = true
			why := (&limits.Reach{}).Update(object, fixed)
			if another := definition.Name == "allowed-registries"; another != strings.Contains(
				why, "--remediation-allow-fields=image") || !another && why != "" {
				t.Errorf("%s, %s: got %q", definition.Name, example.Name, why)
			}
		}
	}
	for _, p := range loaded {
		definition := p.Definition.DeepCopy()
		definition.SetDefaults()
		if definition.Spec.Remediation.Mode != v1alpha1.RemediationDisabled && !tried[definition.Name] {
			t.Errorf("%s has a fix, and no example of it was tried", definition.Name)
		}
	}
	if len(tried) == 0 {
		t.Error("no fix was tried")
	}
}
