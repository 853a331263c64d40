// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
	"evenkeel.dev/evenkeel/test/fixtest"
)

func TestAWriteIsKnownThoughItsValuesWereChanged(t *testing.T) {
	kubectl := fixtest.Owner("kubectl", "", `{"f:data": {"f:a": {}, "f:state": {}}}`, 1)
	left := fixtest.Owner("kubectl", "", `{"f:data": {"f:a": {}}}`, 1)
	ours := func(at int) metav1.ManagedFieldsEntry {
		return fixtest.Owner(v1alpha1.FieldManager, "", `{"f:data": {"f:state": {}}}`, at)
	}
	data := func(state string) map[string]any { return map[string]any{"state": state, "a": "1"} }
	cases := map[string]struct {
		before []metav1.ManagedFieldsEntry
		live   []metav1.ManagedFieldsEntry
		want   bool
	}{
		"we have set the field, and nobody has written since": {
			[]metav1.ManagedFieldsEntry{kubectl}, []metav1.ManagedFieldsEntry{left, ours(9)}, true},
		"a person has set it": {
			[]metav1.ManagedFieldsEntry{kubectl},
			[]metav1.ManagedFieldsEntry{fixtest.Owner("kubectl", "", `{"f:data": {"f:a": {}, "f:state": {}}}`, 9)},
			false},
		"a person has set another field since": {
			[]metav1.ManagedFieldsEntry{kubectl},
			[]metav1.ManagedFieldsEntry{left, ours(9), fixtest.Owner("ann", "", `{"f:data": {"f:x": {}}}`, 10)}, false},
		"the field was ours before: the write may not have come": {
			[]metav1.ManagedFieldsEntry{left, ours(1)}, []metav1.ManagedFieldsEntry{left, ours(1)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			proof, err := surplus.ExpectWrite(fixtest.Holding(data("bad"), "ConfigMap", tc.before...),
				fixtest.Holding(data("good"), "ConfigMap", left, ours(2)), "")
			if err != nil {
				t.Fatal(err)
			}
			rec := &v1alpha1.WriteRecord{UID: "u1", Expected: proof}
			if err := fix.SetFields(rec, []action.Field{
				{Path: "/data/state", Before: "bad", After: "good", HasBefore: true, HasAfter: true}}); err != nil {
				t.Fatal(err)
			}
			live := fixtest.Holding(data("worse"), "ConfigMap", tc.live...)
			side, err := fix.SideOf(live, rec)
			if err != nil {
				t.Fatal(err)
			}
			f, err := landed(rec, fix.Finding{Side: side, Object: live}, metav1.NewMicroTime(fixtest.Now))
			if got := f.Side == fix.SideAfter; err != nil || got != tc.want || got != (rec.AppliedTime != nil) ||
				rec.Beyond != "" {
				t.Errorf("%d, %v: %+v", f.Side, err, rec)
			}
			if side, _ := fix.SideOf(live, rec); tc.want && side != fix.SideAfter {
				t.Error("what was stored isn't in the record")
			}
		})
	}
}
