// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// selecting judges Pods of production alone, and of them those whose name another Pod has.
const selecting = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: unique}
spec:
  crd: {spec: {names: {kind: Unique}}}
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package unique
        violation[{"msg": msg}] {
          other := data.inventory.namespace[namespace].v1.Pod[input.review.name]
          namespace != input.review.namespace
          msg := sprintf("%v has a %v", [namespace, other.metadata.name])
        }
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: Unique
metadata: {name: warned}
spec:
  enforcementAction: warn
  match: {kinds: [{apiGroups: [""], kinds: [Pod]}], namespaceSelector: {matchLabels: {stage: production}}}
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: Unique
metadata: {name: refused}
spec:
  match: {kinds: [{apiGroups: [""], kinds: [Pod]}], excludedNamespaces: [shop]}
`

func TestVerdictsAreThoseOfAClusterWithSomeObjects(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte(selecting), 0o600); err != nil {
		t.Fatal(err)
	}
	known := []map[string]any{{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "web", "namespace": "pay"}}}
	production := map[string]any{"labels": map[string]any{"stage": "production"}}
	in := cluster{"shop": {"metadata": production}, "test": {}}
	pod := strings.NewReplacer("NAME", "web", "LABELS", "{}").Replace(podReview)
	got, err := verdicted(t, rules, in, known, pod, strings.ReplaceAll(pod, "shop", "test"),
		strings.ReplaceAll(pod, "web", "db"))
	want := []verdict{{true, []string{"warn warned: pay has a web"}},
		{false, []string{"deny refused: pay has a web"}}, {true, []string{}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func verdicted(t *testing.T, rules string, in cluster, known []map[string]any,
	bodies ...string) ([]verdict, error) {
	t.Helper()
	snapshot, err := policies(t.Context(), rules, "compiled")
	if err != nil {
		return nil, err
	}
	var raw [][]byte
	for _, body := range bodies {
		raw = append(raw, []byte(body))
	}
	return tellEach(in, snapshot.Seeing(inventory.NewFixed(known, nil)), raw)
}
