// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

type obj = map[string]any

func container(name, image string) obj { return obj{"name": name, "image": image} }

func TestDiff(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		before, after obj
		want          []action.Field
	}{
		"equal objects have no field": {
			reason: "nothing to write", before: obj{"spec": obj{"x": int64(1)}}, after: obj{"spec": obj{"x": int64(1)}},
		},
		"what the server keeps doesn't count": {
			reason: "it changes with every write, and can't be undone",
			before: obj{"metadata": obj{"name": "web", "generation": int64(1), "resourceVersion": "1"},
				"status": obj{"ready": int64(0)}},
			after: obj{"metadata": obj{"name": "web", "generation": int64(2), "resourceVersion": "2",
				"managedFields": []any{}}, "status": obj{"ready": int64(1)}},
		},
		"a label is a field, its siblings aren't": {
			reason: "other people's labels must survive a rollback",
			before: obj{"metadata": obj{"labels": obj{"app": "web"}}},
			after:  obj{"metadata": obj{"labels": obj{"app": "web", "a/b": "1"}}},
			want:   []action.Field{{Path: "/metadata/labels/a~1b", After: "1", HasAfter: true}},
		},
		"a map that appears is one field": {
			reason: "its parent must go as well when it is undone",
			before: obj{"spec": obj{}}, after: obj{"spec": obj{"securityContext": obj{"runAsNonRoot": true}}},
			want: []action.Field{{Path: "/spec/securityContext", After: obj{"runAsNonRoot": true}, HasAfter: true}},
		},
		"a container is looked into": {
			reason: "its name tells it from the others",
			before: obj{"c": []any{container("a", "1"), container("b", "1")}},
			after:  obj{"c": []any{container("a", "1"), container("b", "2")}},
			want:   []action.Field{{Path: "/c/1/image", Before: "1", After: "2", HasBefore: true, HasAfter: true}},
		},
		"an element without a name is one field": {
			reason: "after a reordering a part of it could be taken for another's",
			before: obj{"ports": []any{obj{"port": int64(1), "on": false}}},
			after:  obj{"ports": []any{obj{"port": int64(1), "on": true}}},
			want: []action.Field{
				{Path: "/ports/0", Before: obj{"port": int64(1), "on": false}, After: obj{"port": int64(1), "on": true},
					HasBefore: true, HasAfter: true}},
		},
		"elements that share a name are fields as a whole": {
			reason: "volumeMounts may name one volume twice",
			before: obj{"m": []any{container("v", "1"), container("v", "2")}},
			after:  obj{"m": []any{container("v", "3"), container("v", "2")}},
			want: []action.Field{
				{Path: "/m/0", Before: container("v", "1"), After: container("v", "3"), HasBefore: true,
					HasAfter: true}},
		},
		"elements added at the end count one by one": {
			reason: "undoing removes just these", before: obj{"args": []any{"a"}},
			after: obj{"args": []any{"a", "b", "c"}},
			want: []action.Field{{Path: "/args/1", After: "b", HasAfter: true},
				{Path: "/args/2", After: "c", HasAfter: true}},
		},
		"a list that shrinks is one field": {
			reason: "places after the gap have moved", before: obj{"args": []any{"a", "b"}},
			after: obj{"args": []any{"b"}},
			want: []action.Field{{Path: "/args", Before: []any{"a", "b"}, After: []any{"b"}, HasBefore: true,
				HasAfter: true}},
		},
		"absent and null are two things": {
			reason: "undoing must remove the one and set the other", before: obj{"x": nil}, after: obj{"y": nil},
			want: []action.Field{{Path: "/x", HasBefore: true}, {Path: "/y", HasAfter: true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, action.Diff(tc.before, tc.after), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDigestsDependOnPlaceValueAndPresence(t *testing.T) {
	seen := map[string]string{}
	for name, f := range map[string]action.Field{
		"absent": {Path: "/a"}, "null": {Path: "/a", HasAfter: true}, "text": {Path: "/a", After: "1", HasAfter: true},
		"number":    {Path: "/a", After: int64(1), HasAfter: true},
		"elsewhere": {Path: "/b", After: int64(1), HasAfter: true},
	} {
		digest, err := action.DigestAfter([]action.Field{f})
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[digest]; twice || len(digest) != 64 {
			t.Errorf("%s: digest %s, the same as of %s", name, digest, other)
		}
		seen[digest] = name
	}
	if _, err := action.DigestBefore([]action.Field{{Path: "/a", Before: func() {}, HasBefore: true}}); err == nil {
		t.Error("a value that isn't JSON must be an error")
	}
}

func TestPointers(t *testing.T) {
	doc := obj{"a/b": obj{"m~n": []any{"x", obj{"~1": "deep"}}}, "": "empty", "scalar": "s"}
	for pointer, want := range map[string]any{
		"": doc, "/a~1b/m~0n/0": "x", "/a~1b/m~0n/1/~01": "deep", "/": "empty",
		"/a~1b/m~0n/2": nil, "/a~1b/m~0n/-1": nil, "/a~1b/m~0n/-": nil, "/a~1b/m~0n/x": nil, "/nowhere": nil,
		"/scalar/deeper": nil,
	} {
		got, found := action.Lookup(doc, pointer)
		if found != (want != nil) || !cmp.Equal(want, got) {
			t.Errorf("Lookup(%q) = %v, %t; want %v", pointer, got, found, want)
		}
	}
	for _, token := range []string{"", "a", "a/b", "m~n", "~1", "~0/~1", "-"} {
		pointer := action.Join("/spec", token)
		tokens := action.Tokens(pointer)
		if len(tokens) != 2 || tokens[1] != token {
			t.Errorf("Tokens(%q) = %q, want the token %q last", pointer, tokens, token)
		}
	}
	if got := action.Tokens(""); got != nil {
		t.Errorf("the whole document has no token, got %q", got)
	}
}

func TestApply(t *testing.T) {
	object := obj{"spec": obj{"replicas": int64(3), "args": []any{"a"}}}
	for name, tc := range map[string]struct {
		reason  string
		actions []policy.Action
		want    obj
		err     string
	}{
		"actions apply in order": {reason: "the second sees what the first did",
			actions: append(patchOf(policy.PatchOp{Op: "add", Path: "/spec/x", Value: obj{}}),
				patchOf(policy.PatchOp{Op: "add", Path: "/spec/x/y", Value: int64(1)})...),
			want: obj{"spec": obj{"replicas": int64(3), "args": []any{"a"}, "x": obj{"y": int64(1)}}}},
		"integers stay integers": {reason: "the API server's own objects hold int64",
			actions: patchOf(policy.PatchOp{Op: "replace", Path: "/spec/replicas", Value: int64(9007199254740993)}),
			want:    obj{"spec": obj{"replicas": int64(9007199254740993), "args": []any{"a"}}}},
		"null is a value": {
			reason:  "it isn't the same as none",
			actions: patchOf(policy.PatchOp{Op: "replace", Path: "/spec", Value: nil}), want: obj{"spec": nil}},
		"another verb is refused": {
			reason: "only patch is known", actions: []policy.Action{{Type: "delete"}}, err: `action "delete"`},
		"a path that isn't there is refused": {
			reason: "as the API server would", actions: patchOf(policy.PatchOp{Op: "remove", Path: "/spec/none"}),
			err: "doesn't apply"},
		"a failed test is refused": {
			reason:  "as the API server would",
			actions: patchOf(policy.PatchOp{Op: "test", Path: "/spec/replicas", Value: int64(4)}),
			err:     "doesn't apply"},
		"an unknown operation is refused": {
			reason: "as the API server would", actions: patchOf(policy.PatchOp{Op: "merge", Path: "/spec"}),
			err: "doesn't apply"},
		"an object can't become something else": {
			reason:  "nothing else can be stored",
			actions: patchOf(policy.PatchOp{Op: "replace", Path: "", Value: []any{}}), err: "the patched object"},
		"an object can't become nothing": {
			reason: "nothing else can be stored", actions: patchOf(policy.PatchOp{Op: "replace", Path: "", Value: nil}),
			err: "the fix"},
		"an object can't grow without bound": {reason: "forty doublings would use up all memory",
			actions: patchOf(slices.Repeat([]policy.PatchOp{{Op: "copy", From: "/spec/args", Path: "/spec/args/-"}},
				40)...), err: "larger than"},
		"a value that isn't JSON is refused": {
			reason: "it can't be sent", actions: patchOf(policy.PatchOp{Op: "add", Path: "/spec/x", Value: func() {}}),
			err: "encode the patch"},
		"moving something into itself is refused": {
			reason:  "RFC 6902, section 4.4",
			actions: patchOf(policy.PatchOp{Op: "move", From: "/spec", Path: "/spec/x"}), err: "doesn't apply"},
	} {
		t.Run(name, func(t *testing.T) {
			was := text(object)
			got, err := action.Apply(object, tc.actions)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s: got error %v, want one with %q", tc.reason, err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); err == nil && diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if text(object) != was {
				t.Errorf("the object itself was changed: %s", text(object))
			}
		})
	}
}
