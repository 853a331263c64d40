// SPDX-License-Identifier: Apache-2.0

package fix_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check/fix"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

func at() time.Time { return time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC) }

// ruled are policies on ConfigMaps in force: name to the body of their Rego.
func ruled(t *testing.T, rules map[string]string) *catalog.Snapshot {
	t.Helper()
	return referring(t, rules, nil)
}

// referring are such policies that look objects up among others, of the kinds that they refer to.
func referring(t *testing.T, rules map[string]string, others catalog.Inventory,
	references ...v1alpha1.ReferencedKind) *catalog.Snapshot {
	t.Helper()
	policies := catalog.New(catalog.Options{Inventory: others})
	for name, body := range rules {
		p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RegoPolicySpec{
			Title: name, Owner: "team", Severity: v1alpha1.SeverityLow, RunbookURL: "https://example.com",
			Rego: v1alpha1.RegoSource{File: "a.rego", Main: "package a\n\nimport rego.v1\n\n" + body},
			Match: v1alpha1.Match{References: references,
				Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap", "Secret"}}}},
			Remediation: v1alpha1.PolicyRemediation{
				AllowedActions: []v1alpha1.ActionType{
					v1alpha1.ActionPatch, v1alpha1.ActionDelete, v1alpha1.ActionCreate}},
		}}
		p.SetDefaults()
		if err := policies.Set(p); err != nil {
			t.Fatal(err)
		}
	}
	policies.MarkComplete()
	return policies.Snapshot()
}

// needs is a rule that a key of the data must have a value; its fix sets it.
func needs(key, value string) string {
	return strings.NewReplacer("KEY", key, "VALUE", value).Replace(`deny contains {"msg": "KEY isn't VALUE", "path": "/data/KEY"} if not good
good if input.object.data.KEY == "VALUE"
remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/data/KEY", "value": "VALUE"}]} if not good
`)
}

func fixFile(t *testing.T, rules map[string]string, text string) (after string, changes, left []string) {
	t.Helper()
	documents, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(text), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := fix.Run(t.Context(), ruled(t, rules), documents, map[string][]byte{manifest.Stdin: []byte(text)},
		fix.Options{Now: at(), Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	after = text
	for _, file := range report.Files {
		after = string(file.After)
	}
	for _, change := range report.Changes {
		changes = append(changes, change.String())
	}
	for _, l := range report.Left {
		left = append(left, l.String())
	}
	return after, changes, left
}

const object = "# one\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: \"1\" # x\n"

func TestRun(t *testing.T) {
	tests := map[string]struct {
		reason        string
		rules         map[string]string
		text, want    string
		changes, left []string
	}{
		"two policies on one object": {
			"one after the other; the namespace that is only assumed isn't written",
			map[string]string{"p": needs("x", "2"), "q": needs("w", "3")},
			object, strings.Replace(object, "\"1\" # x\n", "\"2\" # x\n  w: \"3\"\n", 1),
			[]string{"<stdin>:6 p: add /data/x", "<stdin>:5 q: add /data/w"}, nil,
		},
		"two policies that contradict one another": {
			"neither may break what the other wants; both are told",
			map[string]string{"p": needs("x", "2"),
				"q": "deny contains \"x must be 1\" if input.object.data.x != \"1\"\n"},
			object, object, nil,
			[]string{`<stdin>:6 p: x isn't 2 (the fixed object would violate policy q: x must be 1)`},
		},
		"a policy whose fix another one makes room for": {
			"it is tried again after the other's",
			map[string]string{"p": needs("x", "2"),
				"q": strings.Replace(needs("w", "2"), "deny contains",
					"deny contains \"x without w\" if { input.object.data.x == \"2\"; not good }\ndeny contains", 1)},
			object, strings.Replace(object, "\"1\" # x\n", "\"2\" # x\n  w: \"2\"\n", 1),
			[]string{"<stdin>:5 q: add /data/w", "<stdin>:6 p: add /data/x"}, nil,
		},
		"a fix that deletes": {
			"nothing is deleted by itself",
			map[string]string{"p": "deny contains \"no\"\nremediation contains {\"action\": \"delete\"}\n"},
			object, object, nil,
			[]string{
				"<stdin>:2 p: no (its fix deletes the object: a person must decide that, and take it out of the file)"},
		},
		"a fix that makes another object": {
			"a person knows where it belongs",
			map[string]string{"p": "deny contains \"no\"\nremediation contains {\"action\": \"create\", \"object\": " +
				"{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"b\"}}}\n"},
			object, object, nil,
			[]string{"<stdin>:2 p: no (its fix makes another object: a person must add it)"},
		},
		"a fix that resolves nothing": {
			"it isn't made",
			map[string]string{"p": "deny contains \"no\"\nremediation contains {\"action\": \"patch\", \"ops\": " +
				"[{\"op\": \"add\", \"path\": \"/data/z\", \"value\": \"1\"}]}\n"},
			object, object, nil,
			[]string{"<stdin>:2 p: no (the fixed object still violates: no)"},
		},
		"a policy that can't judge": {
			"that is no pass",
			map[string]string{"p": "deny contains \"no\" if to_number(input.object.metadata.name) > 1\n"},
			object, object, nil,
			[]string{"<stdin>:2 p: it can't be judged ("},
		},
		"an item of a typed list": {
			"it gets no kind that it didn't have",
			map[string]string{"p": needs("x", "2")},
			"apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a} # a\n  data: {x: \"1\"}\n- metadata: " +
				"{name: b}\n  data: {x: \"2\"}\n",
			"apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a} # a\n  data: {x: \"2\"}\n- metadata: " +
				"{name: b}\n  data: {x: \"2\"}\n",
			[]string{"<stdin>:5 p: add /data/x"}, nil,
		},
		"an item of another kind, with an empty one": {
			"it gets its kind, and what holds it stays",
			map[string]string{"p": needs("x", "2")},
			"apiVersion: v1\nkind: ConfigMap\ndata: {x: \"0\"}\nitems:\n- kind: \"\"\n  data: {x: \"1\"}\n",
			"apiVersion: v1\nkind: ConfigMap\ndata: {x: \"0\"}\nitems:\n- kind: \"ConfigMap\"\n  data: " +
				"{x: \"2\"}\n  apiVersion: v1\n",
			[]string{"<stdin>:6 p: add /data/x"}, nil,
		},
		"two documents, one of them good": {
			"the good one stays byte for byte",
			map[string]string{"p": needs("x", "2")},
			"\ufeff---\nkind:   ConfigMap\napiVersion: v1\ndata:   {x:   '2'}\n\n\n--- # next\n" + object + "...\n",
			"\ufeff---\nkind:   ConfigMap\napiVersion: v1\ndata:   {x:   '2'}\n\n\n--- # next\n" +
				strings.Replace(object, "\"1\" # x", "\"2\" # x", 1) + "...\n",
			[]string{"<stdin>:13 p: add /data/x"}, nil,
		},
		"JSON": {
			"it stays JSON",
			map[string]string{"p": needs("x", "2")},
			"{\n    \"apiVersion\": \"v1\",\n    \"kind\": \"ConfigMap\",\n    \"data\": {\"x\": \"1\"}\n}\n",
			"{\n    \"apiVersion\": \"v1\",\n    \"kind\": \"ConfigMap\",\n    \"data\": {\"x\": \"2\"}\n}\n",
			[]string{"<stdin>:4 p: add /data/x"}, nil,
		},
		"a fix that the text doesn't allow": {
			"an anchor's value can't be taken away where it is used",
			map[string]string{"p": "deny contains \"no y\" if input.object.data.z\nremediation contains {\"action\": " +
				"\"patch\", \"ops\": [{\"op\": \"remove\", \"path\": \"/data/z\"}]}\n"},
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {annotations: &a {z: \"1\"}}\ndata: {<<: *a, x: \"1\"}\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {annotations: &a {z: \"1\"}}\ndata: {<<: *a, x: \"1\"}\n",
			nil, []string{"<stdin>:1 p: no y (it is written in a way that can't be changed automatically"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			after, changes, left := fixFile(t, tc.rules, tc.text)
			if diff := cmp.Diff(tc.want, after); diff != "" {
				t.Errorf("%s: the text (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.changes, changes); diff != "" {
				t.Errorf("%s: changes (-want +got):\n%s", tc.reason, diff)
			}
			if len(left) != len(tc.left) {
				t.Fatalf("%s: left is %q, want %q", tc.reason, left, tc.left)
			}
			for i := range left {
				if !strings.HasPrefix(left[i], tc.left[i]) {
					t.Errorf("%s: left is\n%s\nwant it to begin with\n%s", tc.reason, left[i], tc.left[i])
				}
			}
			if again, changes, _ := fixFile(t, tc.rules, after); again != after || len(changes) > 0 {
				t.Errorf("fixing twice changes %q", changes)
			}
		})
	}
}

func TestWriteKeepsTheFileAndTheLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o604); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := fix.Write(fix.File{Name: link, Before: []byte("old"), After: []byte("new")}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is one no longer: %v (%v)", info, err)
	}
	text, err := os.ReadFile(file)
	if info, _ := os.Stat(file); err != nil || !bytes.Equal(text, []byte("new")) || info.Mode().Perm() != 0o604 {
		t.Errorf("the file holds %q with mode %v (%v)", text, info.Mode(), err)
	}
	if err := fix.Write(fix.File{Name: file, Before: []byte("old"), After: []byte("newer")}); err == nil ||
		!strings.Contains(err.Error(), "has changed") {
		t.Errorf("a file that somebody changed was written: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v (%v)", entries, err)
	}
}
