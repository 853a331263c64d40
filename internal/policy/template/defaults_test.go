// SPDX-License-Identifier: Apache-2.0

package template_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy/template"
)

// list is a list of one item n times.
func list(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

// lists is a schema of lists within each other, each by default of n empty objects.
func lists(levels, n int) string {
	within := `{"type": "object"}`
	for range levels {
		within = fmt.Sprintf(`{"type": "object", "properties": {"a": {"type": "array", "default": %s, "items": %s}}}`,
			list(n, "{}"), within)
	}
	return within
}

// TestDefaultsDontMultiply has defaults that would be filled into what defaults have put there.
func TestDefaultsDontMultiply(t *testing.T) {
	const a = "spec.parameterSchema.openAPIV3Schema.properties[a]"
	cases := map[string]struct {
		schema string
		at     []string // the fields that are refused
	}{
		"lists of objects in three levels": {
			lists(3, 2000), []string{a + ".items.properties[a].default", a + ".default"}},
		"a list above one scalar": {
			`{"type": "object", "properties": {"a": {"type": "array", "default": [{}], "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}}}}`, []string{a + ".default"}},
		"an object above a scalar far below": {`{"type": "object", "properties": {"a": {"type": "object", "default": {"b": {}}, "properties": {"b": {"type": "object", "properties": {
			"c": {"type": "array", "items": {"type": "string", "default": "x"}}}}}}}}`, []string{a + ".default"}},
		"an object of any names": {`{"type": "object", "properties": {"a": {"type": "object", "default": {"x": {}, "y": {}}, "additionalProperties": {"type": "object", "properties": {
			"n": {"type": "integer", "default": 1}}}}}}`, []string{a + ".default"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := template.Compile(templateOf(tc.schema))
			var unfit *template.SchemaError
			if !errors.As(err, &unfit) {
				t.Fatalf("error %v, want one of the schema", err)
			}
			var at []string
			for _, p := range unfit.Problems {
				at = append(at, p.Field)
				if !strings.Contains(p.Message, "can't stand above other defaults: make it empty") {
					t.Errorf("%s doesn't say what to do", p)
				}
			}
			if diff := cmp.Diff(tc.at, at); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEmptyDefaultsAreFilled has defaults below each other that can't multiply.
func TestEmptyDefaultsAreFilled(t *testing.T) {
	const schema = `{"type": "object", "properties": {
		"a": {"type": "object", "default": {}, "properties": {
			"b": {"type": "object", "default": {}, "properties": {"c": {"type": "string", "default": "x"}}}}},
		"l": {"type": "array", "default": [1, 2], "items": {"type": "integer"}},
		"none": {"type": "array", "default": [], "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}}}}`
	defined, err := compiled(t, schema).Define(policyOf("p", ""))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"a":{"b":{"c":"x"}},"l":[1,2],"none":[]}`, string(defined.Spec.Parameters.Raw)); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
}

// TestWhatDefaultsAddToParametersIsBounded gives parameters of many objects, each of which
// defaults fill.
func TestWhatDefaultsAddToParametersIsBounded(t *testing.T) {
	scalars := make([]string, 100)
	for i := range scalars {
		scalars[i] = fmt.Sprintf(`"p%d": {"type": "integer", "default": 1}`, i)
	}
	of := func(item string) string {
		return `{"type": "object", "properties": {"a": {"type": "array", "items": ` + item + `}}}`
	}
	object := func(properties string) string { return `{"type": "object", "properties": {` + properties + `}}` }
	cases := map[string]struct {
		schema, item string
		fits, not    int // how many items are let, and aren't
	}{
		"many scalars": {of(object(strings.Join(scalars, ","))), "{}", 10, 1000},
		"one long list": {
			of(object(`"l": {"type": "array", "items": {"type": "object"}, "default": ` + list(1000, "{}") + `}`)),
			"{}", 5, 500},
		"one long text": {of(object(`"s": {"type": "string", "default": "` + strings.Repeat("s", 4000) + `"}`)),
			"{}", 3, 500},
		"lists for nulls": {
			of(`{"type": "array", "items": {"type": "integer"}, "default": ` + list(1000, "1") + `}`), "null", 5, 1000},
		"a chain of empties": {
			of(
				object(
					`"x": {"type": "object", "default": {}, "properties": {"l": {"type": "array", "items": {"type": "object"}, "default": ` + list(1000, "{}") + `}}}`)), "{}", 5, 500},
		"objects of any names": {
			`{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "additionalProperties": ` +
				object(`"l": {"type": "array", "items": {"type": "object"}, "default": `+list(1000, "{}")+`}`) + `}}}}`,
			`{"n": {}}`, 5, 500},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			by := compiled(t, tc.schema)
			if _, err := by.Define(policyOf("p", `{"a": `+list(tc.fits, tc.item)+`}`)); err != nil {
				t.Errorf("%d items: %v", tc.fits, err)
			}
			_, err := by.Define(policyOf("p", `{"a": `+list(tc.not, tc.item)+`}`))
			if err == nil || !strings.Contains(err.Error(), "long with the schema's defaults") {
				t.Errorf("%d items: %v", tc.not, err)
			}
		})
	}
}

// TestWhatIsLetOfDefaultsIsSmall measures what is the most that a policy makes of defaults.
func TestWhatIsLetOfDefaultsIsSmall(t *testing.T) {
	for name, size := range map[string]int{"a short list": 100, "a long one": 300, "a very long one": 1500} {
		t.Run(name, func(t *testing.T) {
			by := compiled(t, fmt.Sprintf(`{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {
				"l": {"type": "array", "items": {"type": "object"}, "default": %s}}}}}}`, list(size, "{}")))
			most, refused := 0, 1<<12
			for refused-most > 1 {
				n := (most + refused) / 2
				if _, err := by.Define(policyOf("p", `{"a": `+list(n, "{}")+`}`)); err == nil {
					most = n
				} else {
					refused = n
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			defined, err := by.Define(policyOf("p", `{"a": `+list(most, "{}")+`}`))
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			t.Logf("%d objects: %d bytes, %d allocated in %s", most, len(defined.Spec.Parameters.Raw),
				after.TotalAlloc-before.TotalAlloc, time.Since(start))
			if len(defined.Spec.Parameters.Raw) > 1<<20 || after.TotalAlloc-before.TotalAlloc > 256<<20 {
				t.Errorf("%d objects make %d bytes, with %d allocated", most, len(defined.Spec.Parameters.Raw),
					after.TotalAlloc-before.TotalAlloc)
			}
		})
	}
}

// TestHoldingDefaultsAgainstTheirSchemaIsBounded compares each item of a default with a long
// enumeration.
func TestHoldingDefaultsAgainstTheirSchemaIsBounded(t *testing.T) {
	_, err := template.Compile(
		templateOf(fmt.Sprintf(
			`{"type": "object", "properties": {"a": {"type": "array", "default": %s, "items": {"type": "integer", "enum": %s}}}}`,
			list(14_000, "2"), strings.Replace(list(14_000, "1"), "]", ",2]", 1))))
	if err == nil || !strings.Contains(err.Error(), "are the most for a schema of") {
		t.Error(err)
	}
}
