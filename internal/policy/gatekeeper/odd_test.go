// SPDX-License-Identifier: Apache-2.0

package gatekeeper_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

// TestLookupsThatNameWhereByAReference has keys of data.inventory that are references themselves.
func TestLookupsThatNameWhereByAReference(t *testing.T) {
	for _, lookup := range []string{
		`data.inventory[input.parameters.scope][_].v1.Service[_]`,
		`data.inventory.namespace[_][input.parameters.version].Service[_]`,
		`data.inventory.namespace[input.review.namespace].v1[input.parameters.kind][_]`,
		`data.inventory[[x | x := input.parameters.scope]]`,
	} {
		items := migrated(t, strings.Replace(mustBear, "given :=", lookup+"\n        given :=", 1)+bearOwner)
		if items[0].State != gatekeeper.NeedsWork && items[0].State != gatekeeper.Migrated {
			t.Errorf("%s: %+v", lookup, items[0])
		}
	}
}

// TestAnotherKindOfTheTemplatesGroup has a misspelt ConstraintTemplate.
func TestAnotherKindOfTheTemplatesGroup(t *testing.T) {
	items := migrated(t, strings.Replace(mustBear, "kind: ConstraintTemplate", "kind: Constrainttemplate", 1)+bearOwner)
	if notes := strings.Join(items[0].Notes, "\n"); items[0].State != gatekeeper.NeedsWork ||
		!strings.Contains(notes, "correct its kind") {
		t.Errorf("%s: %q", items[0].State, notes)
	}
}

// TestMigrateTakesWhateverStandsInAFile puts odd values in every place of a template, a constraint, a Config and a
// CustomResourceDefinition, one after the other: what can't be migrated needs work, and nothing panics.
func TestMigrateTakesWhateverStandsInAFile(t *testing.T) {
	const config = "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\n" +
		"spec: {sync: {syncOnly: [{group: \"\", version: v1, kind: Service}]}}\n---\n"
	text := widgets + config + strings.Replace(mustBear, "given :=",
		"data.inventory.namespace[_][input.parameters.word].Service[_]\n        given :=", 1) + noNodePort + bearOwner
	given := documents(t, text)
	odds := []any{nil, "", "../x", int64(5), true, []any{}, []any{[]any{}}, map[string]any{"": nil}}
	times := 0
	for i := range given {
		for _, at := range places(given[i].Object, nil) {
			for _, odd := range odds {
				changed := slices.Clone(given)
				changed[i].Object = runtime.DeepCopyJSON(given[i].Object)
				put(changed[i].Object, at, odd)
				mustHold(t, changed, fmt.Sprintf("%s %v: %#v", given[i].Object["kind"], at, odd))
				times++
			}
		}
	}
	if times < 500 {
		t.Errorf("tried %d documents", times)
	}
}

func mustHold(t *testing.T, documents []manifest.Document, what string) {
	t.Helper()
	defer func() {
		if cause := recover(); cause != nil {
			t.Errorf("%s: %v", what, cause)
		}
	}()
	for _, item := range gatekeeper.Migrate(documents, gatekeeper.Options{}) {
		if item.State == gatekeeper.Migrated && item.Template == nil && item.Policy == nil ||
			item.State == gatekeeper.NeedsWork && strings.Join(item.Notes, "") == "" {
			t.Errorf("%s: %s is %s and says nothing", what, item.Object, item.State)
		}
	}
}

// places are the ways to all values in an object.
func places(value any, at []any) (all [][]any) {
	visit := func(key, value any) {
		way := append(slices.Clone(at), key)
		all = append(append(all, way), places(value, way)...)
	}
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			visit(key, field)
		}
	case []any:
		for i, element := range v {
			visit(i, element)
		}
	}
	return all
}

// put puts a value in a place of an object.
func put(value any, at []any, odd any) {
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
		value.(map[string]any)[key] = odd
	case int:
		value.([]any)[key] = odd
	}
}
