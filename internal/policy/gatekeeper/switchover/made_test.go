// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestAPolicyOfAnOlderConstraintIsStale(t *testing.T) {
	set := func(value any, path ...string) func(c, template map[string]any) {
		return func(c, _ map[string]any) { _ = unstructured.SetNestedField(c, value, path...) }
	}
	cases := map[string]struct {
		change    func(c, template map[string]any)
		unsaid    bool // the policy says nothing of what it was made of
		unread    bool // the template is gone
		exempt    []string
		wantStale bool
	}{
		"as it was":                {},
		"it is switched":           {change: set("dryrun", "spec", "enforcementAction")},
		"its audit wrote a status": {change: set("now", "status", "auditTimestamp")},
		"its match is wider": {change: set([]any{"shop", "web"}, "spec", "match", "namespaces"),
			wantStale: true},
		"its parameters are others": {change: set("x", "spec", "parameters", "label"), wantStale: true},
		"its template is another": {change: func(_, template map[string]any) {
			_ = unstructured.SetNestedField(template, "package other", "spec", "targets")
		}, wantStale: true},
		"its template is gone":           {unread: true, wantStale: true},
		"Config exempts a namespace":     {exempt: []string{"dev"}, wantStale: true},
		"the policy was made before all": {unsaid: true, wantStale: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld("deny")
			_ = unstructured.SetNestedSlice(w.constraint.Object.Object, []any{"shop"}, "spec", "match", "namespaces")
			template := &unstructured.Unstructured{Object: map[string]any{
				"spec": map[string]any{"targets": "package a"}}}
			s := &Source{templates: map[string]*unstructured.Unstructured{w.constraint.Object.GetKind(): template}}
			if !tc.unsaid {
				w.policy.Annotations[v1alpha1.AnnotationMigratedDigest] = s.Digest(w.constraint)
			}
			if tc.change != nil {
				tc.change(w.constraint.Object.Object, template.Object)
			}
			if s.everywhere = tc.exempt; tc.unread {
				s.templates = nil
			}
			err := s.Stale(w.policy, w.constraint)
			if (err != nil) != tc.wantStale {
				t.Fatalf("it says %v, want stale: %t", err, tc.wantStale)
			}
			if err != nil && (!strings.Contains(err.Error(), "was made of an older constraint") ||
				!strings.Contains(err.Error(), "apply again")) {
				t.Errorf("it says %v", err)
			}
		})
	}
}
