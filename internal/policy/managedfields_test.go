// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManagedFieldsGoWithTheObjectThatLacksThem(t *testing.T) {
	named := func(name string) map[string]any { return map[string]any{"metadata": map[string]any{"name": name}} }
	is, was, other := named("is"), named("was"), named("is")
	decoded := 0
	entries := func(manager string) func() ([]any, error) {
		return func() ([]any, error) {
			decoded++
			return []any{map[string]any{"manager": manager}}, nil
		}
	}
	fields := &ManagedFields{}
	fields.Add(is, entries("new"))
	fields.Add(was, entries("old"))
	managers := func(r *Request) []any {
		t.Helper()
		whole, err := r.Whole()
		if err != nil {
			t.Fatal(err)
		}
		again, err := whole.Whole()
		if err != nil || again != whole {
			t.Errorf("what is whole becomes another: %v", err)
		}
		manager := func(object map[string]any) any {
			entries, _ := FieldAt(object, "/metadata/managedFields").([]any)
			if len(entries) == 0 {
				return nil
			}
			return FieldAt(entries[0].(map[string]any), "/manager")
		}
		return []any{manager(whole.Object), manager(whole.OldObject)}
	}
	if decoded != 0 {
		t.Error("they are decoded before anybody asks")
	}
	for name, tc := range map[string]struct {
		request Request
		want    []any
	}{
		"an update":                    {Request{Object: is, OldObject: was}, []any{"new", "old"}},
		"the object before, in turn":   {Request{Object: was, OldObject: was}, []any{"old", "old"}},
		"a deletion":                   {Request{OldObject: was}, []any{nil, "old"}},
		"another object that is alike": {Request{Object: other, OldObject: is}, []any{nil, "new"}},
		"one without metadata":         {Request{Object: map[string]any{"metadata": "none"}}, []any{nil, nil}},
		"the same with another content": {Request{Object: map[string]any{"metadata": is["metadata"]}},
			[]any{"new", nil}},
	} {
		tc.request.ManagedFields = fields
		if diff := cmp.Diff(tc.want, managers(&tc.request)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if decoded != 2 {
		t.Errorf("they are decoded %d times, want once for each object", decoded)
	}
	if diff := cmp.Diff([]map[string]any{named("is"), named("was")}, []map[string]any{is, was}); diff != "" {
		t.Errorf("an object has been changed: %s", diff)
	}
}

func TestManagedFieldsThatCannotBeDecodedAreAnError(t *testing.T) {
	object := map[string]any{"metadata": map[string]any{}}
	r := Request{Object: object, ManagedFields: &ManagedFields{}}
	broken := errors.New("no list")
	r.ManagedFields.Add(object, func() ([]any, error) { return nil, broken })
	if _, err := r.Whole(); !errors.Is(err, broken) {
		t.Errorf("it says %v", err)
	}
}
