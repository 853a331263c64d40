// SPDX-License-Identifier: Apache-2.0

package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kyaml "sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/manifest/edit"
)

// patched is what the document holds after a patch.
func patched(t *testing.T, text, patch string) any {
	t.Helper()
	raw, err := kyaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	ops, err := jsonpatch.DecodePatch([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = ops.Apply(raw); err != nil {
		t.Fatal(err)
	}
	var want any
	if err := utiljson.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

const deployment = `---
# The shop's front.
apiVersion: apps/v1
kind:   Deployment   # odd spaces stay
metadata:
    name: "web"

    labels: {app: web}
spec:
    template:
        spec:
            # On the node's network since the fair.
            hostNetwork: true # why?
            containers:
            -   name: web   # first
                image: 'registry.example.com/web:1'
                securityContext:
                    privileged: true
            # the sidecar
            -   name: log
                args: [--a, "b",
                       c]
`

func TestSetKeepsTheRestOfTheText(t *testing.T) {
	tests := map[string]struct{ reason, text, patch, from, to string }{
		"a field is removed": {
			"with its line, and the comment in it; the one above may be about more",
			deployment, `[{"op": "remove", "path": "/spec/template/spec/hostNetwork"}]`,
			"            hostNetwork: true # why?\n", "",
		},
		"a value is replaced": {
			"the comment behind it stays",
			deployment, `[{"op": "replace", "path": "/spec/template/spec/hostNetwork", "value": false}]`,
			"hostNetwork: true # why?", "hostNetwork: false # why?",
		},
		"a quoted text is replaced": {
			"the quotes stay what they were",
			deployment,
			`[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "registry.example.com/web:2"}]`,
			"web:1'", "web:2'",
		},
		"a field is added": {
			"behind its siblings, in the indentation of the text",
			deployment,
			`[{"op": "add", "path": "/spec/template/spec/containers/1/securityContext", "value": {"runAsUser": 7, "capabilities": {"drop": ["ALL"]}}}]`,
			"                       c]\n",
			"                       c]\n                securityContext:\n             " +
				"       capabilities:\n                        drop:\n                        - " +
				"ALL\n                    runAsUser: 7\n",
		},
		"a field is added within braces": {
			"it stays one line",
			deployment, `[{"op": "add", "path": "/metadata/labels/a~1b", "value": "on"}]`,
			"{app: web}", `{app: web, a/b: "on"}`,
		},
		"the only field is removed": {
			"an empty object is written in braces",
			deployment, `[{"op": "remove", "path": "/spec/template/spec/containers/0/securityContext/privileged"}]`,
			"securityContext:\n                    privileged: true\n", "securityContext: {}\n",
		},
		"an element is removed": {
			"the comments of the others stay with them",
			deployment, `[{"op": "remove", "path": "/spec/template/spec/containers/0"}]`,
			"            -   name: web   # first\n                image: " +
				"'registry.example.com/web:1'\n" +
				"                securityContext:\n                    privileged: true\n", "",
		},
		"an element is inserted": {
			"before the one that it goes before",
			deployment,
			`[{"op": "add", "path": "/spec/template/spec/containers/0", "value": {"image": "i", "name": "new"}}]`,
			"            -   name: web", "            - name: new\n              image: i\n            -   name: web",
		},
		"an element is appended to a list over two lines": {
			"behind the last",
			deployment, `[{"op": "add", "path": "/spec/template/spec/containers/1/args/-", "value": "d"}]`,
			"c]", "c, d]",
		},
		"the first field behind a dash is removed": {
			"the next one takes its place",
			deployment, `[{"op": "remove", "path": "/spec/template/spec/containers/0/name"}]`,
			"-   name: web   # first\n                image", "-   image",
		},
		"JSON in lines": {
			"in the unit that it is indented by",
			"{\n\t\"kind\": \"Pod\",\n\t\"spec\": {\n\t\t\"a\": 1\n\t}\n}\n",
			`[{"op": "add", "path": "/spec/b", "value": {"c": [true]}}]`,
			"\"a\": 1\n", "\"a\": 1,\n\t\t\"b\": {\n\t\t\t\"c\": [\n\t\t\t\ttrue\n\t\t\t]\n\t\t}\n",
		},
		"JSON in one line": {
			"it stays one",
			`{"kind":"Pod","spec":{"a":1,"b":2}}`,
			`[{"op": "remove", "path": "/spec/a"}, {"op": "add", "path": "/x", "value": "<&>"}]`,
			`{"a":1,"b":2}}`, `{"b":2},"x":"<&>"}`,
		},
		"a text without a line break at its end": {
			"none is put there",
			"kind: Pod\nspec:\n  a: 1", `[{"op": "add", "path": "/spec/b", "value": 2}]`,
			"a: 1", "a: 1\n  b: 2",
		},
		"an empty value": {
			"it is written behind its colon",
			"kind: Pod\nspec: # none yet\nstatus:\n", `[{"op": "replace", "path": "/spec", "value": {"a": 1}}]`,
			"spec: # none yet\n", "spec: # none yet\n  a: 1\n",
		},
		"a text of many lines": {
			"what follows it stays below it",
			"data:\n  a: |\n    one\n      two\n\n  # next\n  b: 1\n",
			`[{"op": "replace", "path": "/data/a", "value": "x"}]`,
			"a: |\n    one\n      two\n", "a: x\n",
		},
		"an anchor that another field uses": {
			"the other field keeps its value",
			"a: &x {b: 1}\nc: *x # the same\n", `[{"op": "replace", "path": "/a/b", "value": 2}]`,
			"{b: 1}\nc: *x # the same\n", "{b: 2}\nc: # the same\n  b: 1\n",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := edit.Set([]byte(tc.text), "", patched(t, tc.text, tc.patch))
			if err != nil {
				t.Fatal(err)
			}
			want := replaceOnce(t, tc.text, tc.from, tc.to)
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func replaceOnce(t *testing.T, text, from, to string) string {
	t.Helper()
	before, after, found := strings.Cut(text, from)
	if !found {
		t.Fatalf("the text has no %q", from)
	}
	return before + to + after
}

func TestSetBelowAPointer(t *testing.T) {
	text := "kind: List\nitems:\n- kind: Pod # one\n  a: 1\n- kind: Pod # two\n  a: 1\n"
	got, err := edit.Set([]byte(text), "/items/1", map[string]any{"kind": "Pod", "a": 2})
	if err != nil {
		t.Fatal(err)
	}
	if want := "kind: List\nitems:\n- kind: Pod # one\n  a: 1\n- kind: Pod # two\n  a: 2\n"; string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := edit.Set([]byte(text), "/items/2", map[string]any{}); err == nil {
		t.Error("a third item was found")
	}
}

func TestSetGivesUpRatherThanGuess(t *testing.T) {
	tests := map[string]struct{ reason, text, patch string }{
		"a field that is to differ from the one merged in": {
			"strict readers take it for written twice", "a: &x {b: 1}\nc: {<<: *x, d: 1}\n",
			`[{"op": "replace", "path": "/c/b", "value": 2}]`},
		"a field that a merge brings in": {
			"it can't be taken away there", "a: &x {b: 1}\nc: {<<: *x, d: 1}\n", `[{"op": "remove", "path": "/c/b"}]`},
		"a key that isn't a text": {"its name isn't what is written", "a: {on: 1}\n",
			`[{"op": "replace", "path": "/a/true", "value": 2}]`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := edit.Set([]byte(tc.text), "", patched(t, tc.text, tc.patch)); !errors.Is(
				err, edit.ErrByHand) {
				t.Errorf("%s: error is %v, text\n%s", tc.reason, err, got)
			}
		})
	}
}
