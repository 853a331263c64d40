// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// edited returns a copy of an object with some top-level fields replaced; nil removes one.
func edited(object map[string]any, fields map[string]any) map[string]any {
	out := maps.Clone(object)
	for name, value := range fields {
		if out[name] = value; value == nil {
			delete(out, name)
		}
	}
	return out
}

func TestOnlyTheManagerAndARestoreWriteRecords(t *testing.T) {
	type obj = map[string]any
	labels := func(policy, plan string) obj {
		return obj{"name": "one", "labels": obj{"evenkeel.dev/policy": policy, "evenkeel.dev/remediation-name": plan}}
	}
	meta := func(field string, value any) obj { return edited(labels("tags", "tags-1"), obj{field: value}) }
	plan := obj{"metadata": labels("tags", ""), "spec": obj{"plan": obj{"hash": "a"}},
		"status": obj{"phase": "Applying"}}
	slice := obj{"metadata": labels("tags", "tags-1"), "remediation": "tags-1", "index": 0, "targets": []any{"a"},
		"records": []any{obj{"state": "Done"}}, "progress": obj{"done": 1}}
	breaker := obj{"metadata": obj{"name": "global"}, "spec": obj{}, "status": obj{"state": "Open"}}
	owned := []any{obj{"kind": "Remediation", "name": "tags-1", "uid": "1"}}
	const gc = "system:serviceaccount:kube-system:generic-garbage-collector"
	const plans, records, stays = "remediations", "remediationslices", "may not delete a slice"
	cases := map[string]struct {
		operation, resource, subresource, user string
		object, old                            obj
		want                                   string // empty: it goes through
	}{
		"create a plan":  {"CREATE", plans, "", "", plan, nil, "made by the manager alone"},
		"create a slice": {"CREATE", records, "", "", slice, nil, "made by the manager alone"},
		"write a plan's status": {"UPDATE", plans, "status", "",
			edited(plan, obj{"status": obj{"phase": "Succeeded"}}), plan, "status is written by the manager alone"},
		"remove a plan's status": {"UPDATE", plans, "status", "", edited(plan, obj{"status": nil}), plan,
			"status is written by the manager alone"},
		"leave a plan's status": {"UPDATE", plans, "status", "", plan, plan, ""},
		"write a breaker's status": {"UPDATE", "remediationbreakers", "status", "",
			edited(breaker, obj{"status": obj{"state": "Closed"}}), breaker, "status is written by the manager alone"},
		"change what was decided": {"UPDATE", plans, "", "",
			edited(plan, obj{"spec": obj{"plan": obj{"hash": "b"}}}), plan, "may not change a plan"},
		"pause a plan": {"UPDATE", plans, "", "",
			edited(plan, obj{"spec": obj{"plan": obj{"hash": "a"}, "desiredState": "Paused"}}), plan, ""},
		"give a plan to another policy": {"UPDATE", plans, "", "", edited(plan, obj{"metadata": labels("b", "")}),
			plan, "may not change the labels"},
		"delete a plan, which evenkeel-plans sees to": {"DELETE", plans, "", "", nil, plan, ""},
		"change records": {"UPDATE", records, "", "",
			edited(slice, obj{"records": []any{obj{"state": "Pending"}}}), slice, "written by the manager alone"},
		"remove records": {"UPDATE", records, "", "", edited(slice, obj{"records": nil}), slice,
			"written by the manager alone"},
		"change targets": {"UPDATE", records, "", "", edited(slice, obj{"targets": []any{"b"}}), slice,
			"written by the manager alone"},
		"change the counts": {"UPDATE", records, "", "", edited(slice, obj{"progress": obj{"done": 2}}), slice,
			"written by the manager alone"},
		"label a slice": {"UPDATE", records, "", "",
			edited(slice, obj{"metadata": meta("annotations", obj{"theirs": "x"})}), slice, ""},
		"give a slice to another plan": {"UPDATE", records, "", "",
			edited(slice, obj{"metadata": labels("tags", "tags-2")}), slice, "may not change the labels"},
		"own a slice": {"UPDATE", records, "", "", edited(slice, obj{"metadata": meta("ownerReferences", owned)}),
			slice, stays},
		"keep a slice": {"UPDATE", records, "", "",
			edited(slice, obj{"metadata": meta("finalizers", []any{"example.com/keep"})}), slice, stays},
		"delete a slice":                        {"DELETE", records, "", "", nil, slice, stays},
		"the garbage collector deletes a slice": {"DELETE", records, "", gc, nil, slice, ""},
		"the garbage collector takes the plan off a slice": {"UPDATE", records, "", gc, slice,
			edited(slice, obj{"metadata": meta("ownerReferences", owned)}), ""},
		"the garbage collector changes records": {"UPDATE", records, "", gc,
			edited(slice, obj{"records": nil}), slice, "written by the manager alone"},
	}
	g := newGuard(t, "evenkeel-records")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			request := obj{"operation": tc.operation, "resource": obj{"resource": tc.resource}}
			if tc.subresource != "" {
				request["subResource"] = tc.subresource
			}
			if tc.user != "" {
				request["userInfo"] = obj{"username": tc.user}
			}
			others := []string{"create", "update", "patch", "delete", "abort", "undo", "reset"}
			got := g.refusesRequest(t, request, tc.object, tc.old, others...)
			if (got != "") != (tc.want != "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			for _, verb := range []string{"record", "restore"} {
				if got := g.refusesRequest(t, request, tc.object, tc.old, verb); got != "" {
					t.Errorf("with the verb %s: %q", verb, got)
				}
			}
		})
	}
}

// A new field of a plan's spec or of a slice is either the manager's, and then evenkeel-records compares it, or people's.
func TestEachFieldOfARecordIsSomebodys(t *testing.T) {
	people := []string{"approval", "desiredState", "pausedUntilTime", "reason", "retryToken", "windows"}
	cases := map[string]struct {
		kind   reflect.Type
		prefix string
		people []string
	}{
		"plan":  {reflect.TypeFor[v1alpha1.RemediationSpec](), "object.spec.", people},
		"slice": {reflect.TypeFor[v1alpha1.RemediationSlice](), "object.", nil},
	}
	var text strings.Builder
	for _, v := range newGuard(t, "evenkeel-records").spec.Validations {
		text.WriteString(v.Expression + "\n")
	}
	for name, tc := range cases {
		for i := range tc.kind.NumField() {
			field, _, _ := strings.Cut(tc.kind.Field(i).Tag.Get("json"), ",")
			if field == "" || field == "metadata" || slices.Contains(tc.people, field) {
				continue
			}
			if compared := tc.prefix + field + " == oldObject"; !strings.Contains(text.String(), compared) {
				t.Errorf("%s: nothing keeps people from writing %s", name, field)
			}
		}
	}
}
