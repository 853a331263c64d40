// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/policies"
)

// growth is how much more an object of twice the size may cost: 2, and a little
// for trees that grow deeper.
const growth = 2.3

// shape makes a Deployment's pod spec with n of everything that a namespace's
// editor can have many of.
type shape func(n int) (labels, spec map[string]any)

func shapes() map[string]shape {
	return map[string]shape{
		"containers that violate": func(n int) (map[string]any, map[string]any) {
			return nil, podOf(n, badContainer)
		},
		"containers that are clean": func(n int) (map[string]any, map[string]any) {
			return nil, podOf(n, cleanContainer)
		},
		"init containers that are bare": func(n int) (map[string]any, map[string]any) {
			return nil, map[string]any{"containers": listOf(1, bareContainer),
				"initContainers": listOf(n, bareContainer)}
		},
		"mounts and volumes": func(n int) (map[string]any, map[string]any) {
			container := badContainer(0)
			container["volumeMounts"] = listOf(n, func(i int) map[string]any {
				return map[string]any{"name": fmt.Sprintf("v%d", i), "mountPath": fmt.Sprintf("/m/%d", i)}
			})
			return nil, map[string]any{"containers": []any{container}, "volumes": listOf(n, func(i int) map[string]any {
				return map[string]any{"name": fmt.Sprintf("v%d", i), "emptyDir": map[string]any{"sizeLimit": "1Gi"}}
			})}
		},
		"labels": func(n int) (map[string]any, map[string]any) {
			labels := map[string]any{}
			for i := range n {
				labels[fmt.Sprintf("example.com/l%d", i)] = "x"
			}
			return labels, podOf(1, badContainer)
		},
	}
}

func podOf(n int, container func(int) map[string]any) map[string]any {
	return map[string]any{"hostPID": true, "containers": listOf(n, container)}
}

func listOf(n int, one func(int) map[string]any) []any {
	var out []any
	for i := range n {
		out = append(out, one(i))
	}
	return out
}

func bareContainer(i int) map[string]any {
	return map[string]any{"name": fmt.Sprintf("c%d", i), "image": "x"}
}

func badContainer(i int) map[string]any {
	return map[string]any{
		"name": fmt.Sprintf("c%d", i), "image": fmt.Sprintf("evil.example.com/app-%d:latest", i),
		"securityContext": map[string]any{"privileged": true, "runAsUser": int64(0)},
		"resources":       map[string]any{"requests": map[string]any{"cpu": "1"}},
	}
}

func cleanContainer(i int) map[string]any {
	amounts := map[string]any{"cpu": "1", "memory": "1Gi"}
	return map[string]any{
		"name": fmt.Sprintf("c%d", i), "image": fmt.Sprintf("registry.example.com/app-%d:1.0", i),
		"securityContext": map[string]any{
			"runAsNonRoot": true, "readOnlyRootFilesystem": true,
			"seccompProfile": map[string]any{"type": "RuntimeDefault"},
		},
		"resources": map[string]any{"requests": amounts, "limits": amounts},
	}
}

// TestTheCostOfTheLibraryIsLinear doubles an object and holds what its verdict,
// its fix included, costs to about the double: counted in expressions and in bytes
// allocated, which are the same on every machine.
func TestTheCostOfTheLibraryIsLinear(t *testing.T) {
	loaded, err := directory.Load(policies.FS, ".")
	if err != nil {
		t.Fatal(err)
	}
	parameters := map[string]string{
		"allowed-registries":       `{"registries": ["registry.example.com"], "mirrors": {"docker.io": "registry.example.com/docker", "evil.example.com": "registry.example.com/evil"}}`,
		"readonly-root-filesystem": `{"scratchPaths": ["/m/0", "/m/1"]}`,
	}
	for _, p := range loaded {
		if given, ok := parameters[p.Name]; ok {
			p.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(given)}
		}
		compiled, err := rego.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		for name, of := range shapes() {
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				once, onceBytes := cost(t, compiled, of, 100)
				twice, twiceBytes := cost(t, compiled, of, 200)
				const fixed = 200 // expressions that don't depend on the object's size
				if float64(twice) > growth*float64(once+fixed) {
					t.Errorf("%d expressions for 100, %d for 200: the rule isn't linear", once, twice)
				}
				const fixedBytes = 64 << 10
				if float64(twiceBytes) > growth*float64(onceBytes+fixedBytes) {
					t.Errorf("%d bytes for 100, %d for 200: the rule isn't linear", onceBytes, twiceBytes)
				}
			})
		}
	}
}

func cost(t *testing.T, compiled *rego.Compiled, of shape, n int) (expressions int64, bytes uint64) {
	t.Helper()
	labels, spec := of(n)
	object := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "labels": labels},
		"spec": map[string]any{
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": spec}},
	}
	input, err := rego.NewInput(policy.NewAudit(object, nil, time.Unix(1_700_000_000, 0)))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	decision, expressions := compiled.EvaluateCounted(t.Context(), input, time.Minute)
	runtime.ReadMemStats(&after)
	if decision.Err != nil || decision.FixErr != nil {
		t.Fatal(decision.Err, decision.FixErr)
	}
	return expressions, after.TotalAlloc - before.TotalAlloc
}
