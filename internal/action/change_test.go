// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

func changeOf(path string, before, after any) action.Change {
	return action.Change{Step: action.Step{Type: v1alpha1.ActionPatch},
		Fields: []action.Field{
			{Path: path, Before: before, After: after, HasBefore: before != nil, HasAfter: after != nil}},
		Keys: []policy.PatchOp{{Op: "test", Path: "/spec/containers/0/name", Value: "web"}}}
}

func approvedDigest(t *testing.T, changes ...action.Change) string {
	t.Helper()
	digest, _, err := action.DigestOf("apps/v1", "Deployment", changes)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestChangesAreAlikeWhateverTheirContainersAreCalled(t *testing.T) {
	const path = "/spec/containers/0/image"
	web, db, other := changeOf(path, "a", "b"), changeOf(path, "a", "b"), changeOf(path, "a", "c")
	db.Keys[0].Value = "db"
	alike := func(c action.Change) string {
		t.Helper()
		_, alike, err := action.DigestOf("apps/v1", "Deployment", []action.Change{c})
		if err != nil {
			t.Fatal(err)
		}
		return alike
	}
	if alike(web) != alike(db) || alike(web) == alike(other) {
		t.Errorf("got %q, %q and %q for another value", alike(web), alike(db), alike(other))
	}
	if len(db.Keys) != 1 {
		t.Error("the change was changed")
	}
}

func TestADigestTellsWhatIsWrittenFromAllElse(t *testing.T) {
	const path = "/spec/replicas"
	genuine := approvedDigest(t, changeOf(path, int64(1), int64(2)))
	renamed, status := changeOf(path, int64(1), int64(2)), changeOf(path, int64(1), int64(2))
	renamed.Keys[0].Value, status.Step.Subresource = "db", "status"
	created := func(kind string) []action.Change {
		return []action.Change{{Step: action.Step{Type: v1alpha1.ActionCreate, Object: map[string]any{"kind": kind}}}}
	}
	deletion := action.Change{Step: action.Step{Type: v1alpha1.ActionDelete}}
	for name, changes := range map[string][]action.Change{
		"another value after":       {changeOf(path, int64(1), int64(3))},
		"another value before":      {changeOf(path, int64(5), int64(2))},
		"no value before":           {changeOf(path, nil, int64(2))},
		"no value after":            {changeOf(path, int64(1), nil)},
		"another place":             {changeOf("/spec/paused", int64(1), int64(2))},
		"another container":         {renamed},
		"the status":                {status},
		"a write more":              {changeOf(path, int64(1), int64(2)), deletion},
		"another action":            {deletion},
		"an object to be created":   created("A"),
		"another to be created":     created("B"),
		"nothing":                   {},
		"a text that looks like it": {changeOf(path, "1", "2")},
	} {
		if approvedDigest(t, changes...) == genuine {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	if approvedDigest(t, changeOf(path, int64(1), int64(2))) != genuine {
		t.Error("the digest of the same isn't the same")
	}
	if _, _, err := action.DigestOf("v1", "X", []action.Change{changeOf(path, nil, func() {})}); err == nil {
		t.Error("what can't be written has a digest")
	}
}

// When it is approved, nobody knows when it will be written.
func TestTheTimeOfARestartIsntApproved(t *testing.T) {
	at := func(time string) map[string]any { return map[string]any{action.RestartedAt: time, "team": "shop"} }
	const annotations = "/spec/template/metadata/annotations"
	for name, pair := range map[string][2]action.Change{
		"the annotation": {changeOf(annotations+"/kubectl.kubernetes.io~1restartedAt", nil, "noon"),
			changeOf(annotations+"/kubectl.kubernetes.io~1restartedAt", nil, "night")},
		"all annotations": {changeOf(annotations, nil, at("noon")),
			changeOf(annotations, nil, at("night"))},
		"the metadata": {changeOf("/spec/template/metadata", nil, map[string]any{"annotations": at("noon")}),
			changeOf("/spec/template/metadata", nil, map[string]any{"annotations": at("night")})},
	} {
		if approvedDigest(t, pair[0]) != approvedDigest(t, pair[1]) {
			t.Errorf("%s: another time is another change", name)
		}
		if text := action.Tell(pair[:1], true, nil); strings.Contains(text, "noon") ||
			!strings.Contains(text, "the time of the write") {
			t.Errorf("%s is told as %q", name, text)
		}
	}
	if approvedDigest(t, changeOf("/spec/x", nil, map[string]any{"a": at("noon")})) ==
		approvedDigest(t, changeOf("/spec/x", nil, map[string]any{"b": at("noon")})) {
		t.Error("where it stands doesn't count")
	}
}

func TestTell(t *testing.T) {
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"key": "aHVudGVyMg=="}}
	long := strings.Repeat("x", 5000)
	cases := map[string]struct {
		reason  string
		changes []action.Change
		values  bool
		of      policy.Secrets
		want    string
	}{
		"a field that is set": {values: true, changes: []action.Change{changeOf("/spec/replicas", int64(1), int64(2))},
			want: "/spec/replicas: 1 → 2\n"},
		"a field that is added": {values: true, changes: []action.Change{changeOf("/spec/replicas", nil, int64(2))},
			want: "/spec/replicas: (no field) → 2\n"},
		"a field that is removed": {values: true, changes: []action.Change{changeOf("/spec/replicas", int64(1), nil)},
			want: "/spec/replicas: 1 → (no field)\n"},
		"a kind that view doesn't read": {reason: "its values are hidden",
			changes: []action.Change{changeOf("/a", "hush", "hushed"), changeOf("/b", nil, "hushed"),
				changeOf("/c", "hush", nil)},
			want: "/a: changed (values of this kind aren't shown)\n/b: added (values of this kind aren't shown)\n" +
				"/c: removed (values of this kind aren't shown)\n"},
		"a value of a Secret": {values: true, of: policy.SecretsOf(secret),
			changes: []action.Change{changeOf("/metadata/labels/key", "hunter2", "aHVudGVyMg==")},
			want:    "/metadata/labels/key: \"[censored]\" → \"[censored]\"\n"},
		"a line of its own": {reason: "nothing that it holds may look like another line", values: true,
			changes: []action.Change{changeOf("/metadata/labels/a\nno change: b", nil, "c")},
			want:    "/metadata/labels/a no change: b: (no field) → \"c\"\n"},
		"the status": {values: true, changes: []action.Change{{Step: action.Step{Type: v1alpha1.ActionPatch,
			Subresource: "status"}, Fields: changeOf("/status/a", "x", "y").Fields}},
			want: "/status/a (subresource status): \"x\" → \"y\"\n"},
		"a deletion": {changes: []action.Change{{Step: action.Step{Type: v1alpha1.ActionDelete}}},
			want: "delete the object\n"},
		"an object that is created": {values: true, changes: []action.Change{{Step: action.Step{
			Type:   v1alpha1.ActionCreate,
			Object: map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "note"}}}}},
			want: "create ConfigMap note:\n  kind: ConfigMap\n  metadata:\n    name: note\n"},
		"a Secret that is created": {values: true, of: policy.SecretsOf(secret),
			changes: []action.Change{{Step: action.Step{Type: v1alpha1.ActionCreate, Object: secret}}},
			want:    "create Secret <nil>:\n  apiVersion: v1\n  data:\n    key: '[censored]'\n  kind: Secret\n"},
		"one whose values are hidden": {changes: []action.Change{{Step: action.Step{Type: v1alpha1.ActionCreate,
			Object: map[string]any{"kind": "Role", "metadata": map[string]any{"name": "r"}}}}},
			want: "create Role r (what it holds isn't shown)\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := action.Tell(tc.changes, tc.values, tc.of); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	var many []action.Change
	for range 30 {
		many = append(many, changeOf("/spec/x", long, "y"))
	}
	if got := action.Tell(many, true, nil); len(got) > 2048 || !strings.Contains(got, "cut here") {
		t.Errorf("%d bytes: %s", len(got), got[len(got)-100:])
	}
}

func TestWhoeverMakesTheParentMeanwhileChangesNoFix(t *testing.T) {
	digest := func(fields ...action.Field) string {
		t.Helper()
		sum, _, err := action.DigestOf("v1", "ConfigMap", []action.Change{
			{Step: action.Step{Type: v1alpha1.ActionPatch}, Fields: fields}})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	within := action.Field{Path: "/metadata/annotations/fix", HasAfter: true, After: "1"}
	whole := action.Field{Path: "/metadata/annotations", HasAfter: true, After: map[string]any{"fix": "1"}}
	if digest(within) != digest(whole) {
		t.Error("the same annotation is another change once somebody has made another one")
	}
	more := action.Field{Path: "/metadata/annotations", HasAfter: true, After: map[string]any{"fix": "1", "b": "2"}}
	if digest(more) == digest(whole) {
		t.Error("a further annotation is the same change")
	}
	if empty := (action.Field{Path: "/data", HasAfter: true, After: map[string]any{}}); digest(empty) == digest() {
		t.Error("an empty map that is added is no change")
	}
}

func TestWhatIsDeletedIsPartOfWhatIsApproved(t *testing.T) {
	digest := func(object map[string]any) string {
		t.Helper()
		sum, _, err := action.DigestOf("v1", "ConfigMap", []action.Change{
			{Step: action.Step{Type: v1alpha1.ActionDelete}, Removed: object}})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	unused := map[string]any{"metadata": map[string]any{"resourceVersion": "1"}}
	used := map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "data": map[string]any{"live": "1"}}
	later := map[string]any{"metadata": map[string]any{"resourceVersion": "2"}, "status": map[string]any{"a": "b"}}
	if digest(unused) == digest(used) {
		t.Error("a yes to delete an empty object is one to delete what it holds later")
	}
	if digest(unused) != digest(later) {
		t.Error("another version of the same content is another change")
	}
}
