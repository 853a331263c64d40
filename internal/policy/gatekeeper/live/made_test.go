// SPDX-License-Identifier: Apache-2.0

package live

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

func TestAPolicyOfAnOlderConstraintIsStale(t *testing.T) {
	set := func(value any, path ...string) func(c, template map[string]any) {
		return func(c, _ map[string]any) { _ = unstructured.SetNestedField(c, value, path...) }
	}
	finds := func(text string) func(*Source) {
		return func(s *Source) {
			object := map[string]any{}
			if err := json.Unmarshal([]byte(text), &object); err != nil {
				t.Fatal(err)
			}
			s.Documents = append(s.Documents, manifest.Document{Object: object})
		}
	}
	serves := func(s *Source) { s.Kinds = append(s.Kinds, gatekeeper.Kind{Group: "example.com", Kind: "Widget"}) }
	cases := map[string]struct {
		change    func(c, template map[string]any)
		unsaid    bool // the policy says nothing of what it was made of
		unread    bool // the template is gone
		exempt    []string
		later     func(*Source) // what has changed beside the two
		named     bool          // the change is there before the policy is made
		rego      string
		wantStale bool
	}{
		"as it was":                {},
		"its enforcement moves":    {change: set("dryrun", "spec", "enforcementAction")},
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
		"its webhook is asked about deletions": {later: finds(`{"apiVersion": "admissionregistration.k8s.io/v1",
			"kind": "ValidatingWebhookConfiguration", 
			"webhooks": [{"name": "validation.gatekeeper.sh", "failurePolicy": "Ignore",
			"rules": [{"operations": ["CREATE", "UPDATE", "DELETE"], "apiGroups": ["*"], "resources": ["*"]}]}]}`),
			wantStale: true},
		"its webhook is asked about what it was taken to be": {
			later: finds(`{"apiVersion": "admissionregistration.k8s.io/v1",
			"kind": "ValidatingWebhookConfiguration", 
			"webhooks": [{"name": "validation.gatekeeper.sh", "failurePolicy": "Ignore",
			"rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": ["*"], "resources": ["*"]}]}]}`)},
		"its webhook is asked about deletions of that kind": {later: finds(`{
			"apiVersion": "admissionregistration.k8s.io/v1",
			"kind": "ValidatingWebhookConfiguration", 
			"webhooks": [{"name": "validation.gatekeeper.sh", "failurePolicy": "Ignore",
			"rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": ["*"], "resources": ["*"]},
			{"operations": ["DELETE"], "apiGroups": [""], "resources": ["services"]}]}]}`), wantStale: true},
		"its webhook is asked about deletions of another kind": {
			later: finds(`{"apiVersion": "admissionregistration.k8s.io/v1",
			"kind": "ValidatingWebhookConfiguration", 
			"webhooks": [{"name": "validation.gatekeeper.sh", "failurePolicy": "Ignore",
			"rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": ["*"], "resources": ["*"]},
			{"operations": ["DELETE"], "apiGroups": [""], "resources": ["pods"]}]}]}`)},
		"its webhook refuses what it doesn't answer": {wantStale: true,
			later: finds(`{"apiVersion": "admissionregistration.k8s.io/v1",
			"kind": "ValidatingWebhookConfiguration", 
			"webhooks": [{"name": "validation.gatekeeper.sh", "failurePolicy": "Fail",
			"rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": ["*"], "resources": ["*"]}]}]}`)},
		"another webhook is asked about deletions": {later: finds(`{"apiVersion": "admissionregistration.k8s.io/v1",
			"kind": "ValidatingWebhookConfiguration", "webhooks": [{"name": "other",
			"rules": [{"operations": ["DELETE"], "apiGroups": ["*"], "resources": ["*"]}]}]}`)},
		"another kind is served, and it means all": {later: serves, wantStale: true},
		"another kind is served, and it names one": {later: serves, change: set([]any{map[string]any{
			"apiGroups": []any{""}, "kinds": []any{"Service"}}}, "spec", "match", "kinds"), named: true},
		"another kind is served, which it names": {later: serves, change: set([]any{map[string]any{
			"apiGroups": []any{"", "example.com"}, "kinds": []any{"Service", "Widget"}}}, "spec", "match", "kinds"),
			named: true, wantStale: true},
		"more is replicated, and it looks nothing up": {later: finds(`{"apiVersion": "config.gatekeeper.sh/v1alpha1",
			"kind": "Config", "spec": {"sync": {"syncOnly": [{"version": "v1", "kind": "Pod"}]}}}`)},
		"more is replicated, and it looks that up": {rego: "data.inventory", wantStale: true,
			later: finds(`{"apiVersion": "syncset.gatekeeper.sh/v1alpha1",
			"kind": "SyncSet", "spec": {"gvks": [{"version": "v1", "kind": "Pod"}]}}`)},
		"other data is required, and it looks that up": {rego: "data.inventory", wantStale: true,
			change: func(_, template map[string]any) {
				_ = unstructured.SetNestedField(template, "[]", "metadata", "annotations",
					"metadata.gatekeeper.sh/requires-sync-data")
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, p := constraintAt(time.Time{}, map[string]any{}), teamPolicy("shop")
			p.Annotations = map[string]string{}
			_ = unstructured.SetNestedSlice(c.Object.Object, []any{"shop"}, "spec", "match", "namespaces")
			template := &unstructured.Unstructured{Object: map[string]any{
				"spec": map[string]any{"targets": "package a " + tc.rego}}}
			s := &Source{Kinds: []gatekeeper.Kind{{Kind: "Service", Scope: "Namespaced"}},
				templates: map[string]*unstructured.Unstructured{c.Object.GetKind(): template}}
			if tc.named {
				tc.change(c.Object.Object, template.Object)
			}
			if !tc.unsaid {
				p.Annotations[v1alpha1.AnnotationMigratedDigest] = s.Digest(c)
			}
			if tc.change != nil {
				tc.change(c.Object.Object, template.Object)
			}
			if s.everywhere = tc.exempt; tc.unread {
				s.templates = nil
			}
			later := &Source{Kinds: s.Kinds, templates: s.templates, everywhere: s.everywhere}
			if tc.later != nil {
				tc.later(later)
			}
			err := later.Stale(p, c)
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
