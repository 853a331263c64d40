// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

func TestWhatAFixMayDependOn(t *testing.T) {
	computed := func(version string, generation int64, status string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": status},
			"metadata": map[string]any{"resourceVersion": version, "generation": generation}}}
	}
	labelled := computed("2", 1, "a")
	labelled.SetLabels(map[string]string{"a": "b"})
	patch, status, removal := &Write{}, &Write{}, &Write{}
	patch.Type, status.Type, status.Subresource = v1alpha1.ActionPatch, v1alpha1.ActionPatch, policy.StatusSubresource
	removal.Record.Action = v1alpha1.ActionDelete
	if err := SetFields(&status.Record,
		[]action.Field{{Path: "/status/phase", Before: "a", HasBefore: true, After: "z", HasAfter: true}}); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		now   *unstructured.Unstructured
		write *Write
		want  bool
	}{
		"nothing has changed":                     {computed("1", 1, "a"), patch, false},
		"the status moves on":                     {computed("2", 1, "b"), patch, false},
		"the status moves on that is written":     {computed("2", 1, "b"), status, true},
		"something else has changed of it":        {computed("2", 1, "a"), status, false},
		"anything moves on of what is taken away": {computed("2", 1, "b"), removal, true},
		"the spec has changed":                    {computed("2", 2, "a"), patch, true},
		"a label has changed":                     {labelled, patch, true},
	}
	for name, tc := range cases {
		if got := changedSinceComputed(computed("1", 1, "a"), tc.now, []*Write{tc.write}); got != tc.want {
			t.Errorf("%s: changed %t, want %t", name, got, tc.want)
		}
	}
}
