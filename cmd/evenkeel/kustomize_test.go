// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// asProgram makes the test's own binary the command line, so that kustomize can
// start it as it starts evenkeel.
const asProgram = "EVENKEEL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const library = "../../policies"

// kustomization is a folder with an overlay that generates the policies of the
// folder beside it, and patches them.
func kustomization(t *testing.T, path string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(asProgram, "1")
	top := t.TempDir()
	if err := os.CopyFS(filepath.Join(top, "policies"), os.DirFS(library)); err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(top, "overlays", "prod")
	if err := os.MkdirAll(overlay, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"kustomization.yaml": `
generators: [policies.yaml]
patches:
  - target: {kind: ClusterRegoPolicy, name: host-namespaces}
    patch: '[{"op": "replace", "path": "/spec/admission/action", "value": "Warn"}]'
commonAnnotations: {example.com/fleet: prod}
`,
		"policies.yaml": `
apiVersion: fn.evenkeel.dev/v1alpha1
kind: PolicyDirectory
metadata:
  name: policies
  annotations:
    config.kubernetes.io/function: |
      exec: {path: ` + program + `, args: [build, "-"]}
spec:
  path: ` + path + `
`} {
		if err := os.WriteFile(filepath.Join(overlay, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}

// kustomize builds a folder as kustomize build --enable-alpha-plugins
// --enable-exec does.
func kustomize(dir string) ([]map[string]any, error) {
	opts := krusty.MakeDefaultOptions()
	opts.PluginConfig = types.EnabledPluginConfig(types.BploUseStaticallyLinked)
	opts.PluginConfig.FnpLoadingOptions.EnableExec = true
	made, err := krusty.MakeKustomizer(opts).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	text, err := made.AsYaml()
	if err != nil {
		return nil, err
	}
	var objects []map[string]any
	for _, document := range strings.Split(string(text), "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func TestKustomizeGeneratesAndPatchesPolicies(t *testing.T) {
	objects, err := kustomize(kustomization(t, "../../policies"))
	if err != nil {
		t.Fatal(err)
	}
	enforcement := map[string]any{}
	for _, object := range objects {
		metadata, spec := object["metadata"].(map[string]any), object["spec"].(map[string]any)
		enforcement[metadata["name"].(string)] = spec["admission"].(map[string]any)["action"]
		if object["kind"] != "ClusterRegoPolicy" {
			t.Errorf("a %v was generated, want policies only", object["kind"])
		}
		annotations, _ := metadata["annotations"].(map[string]any)
		if len(annotations) != 1 || annotations["example.com/fleet"] != "prod" {
			t.Errorf("%v has the annotations %v, want the overlay's only", metadata["name"], annotations)
		}
	}
	if len(enforcement) != 9 || enforcement["host-namespaces"] != "Warn" ||
		enforcement["privileged-containers"] != "Deny" {
		t.Errorf("policies and their enforcement are %v, want the library's nine with host-namespaces at Warn",
			enforcement)
	}
}

func TestKustomizeFailsWithThePolicies(t *testing.T) {
	if objects, err := kustomize(kustomization(t, "../../nowhere")); err == nil {
		t.Errorf("%d objects were made of a directory that isn't there", len(objects))
	}
}
