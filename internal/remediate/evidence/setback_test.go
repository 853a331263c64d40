// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
)

// Whoever reads of a fight learns which fields were set back, and which weren't.
func TestWhatWasSetBackIsNamed(t *testing.T) {
	var w v1alpha1.WriteRecord
	var fields []action.Field
	for _, key := range []string{"a", "b", "c", "d"} {
		fields = append(fields, action.Field{Path: "/data/" + key, Before: "bad", After: "good", HasBefore: true,
			HasAfter: true})
	}
	var err error
	if w.Fields, err = action.ToRecordFields(fields); err != nil {
		t.Fatal(err)
	}
	const partly = "; some of the fix's fields still hold our values, by the record"
	for name, tc := range map[string]struct {
		live map[string]any
		want string
	}{
		"one": {map[string]any{"a": "bad", "b": "good", "c": "good", "d": "good"},
			"set /data/a back" + source + partly},
		"all": {map[string]any{"a": "bad", "b": "bad", "c": "bad", "d": "bad"},
			"set /data/a, /data/b, /data/c and 1 more back" + source},
		"one is gone, one is theirs": {map[string]any{"a": "bad", "c": "theirs", "d": "good"},
			"set /data/a back and changed /data/b, /data/c" + source + partly},
	} {
		live := &unstructured.Unstructured{Object: map[string]any{"data": tc.live}}
		if got := SetBack(&w, live); got != tc.want {
			t.Errorf("%s:\n%s\n%s", name, got, tc.want)
		}
	}
}
