// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/manifest"
)

// read reads a text as standard input.
func read(tb testing.TB, text string) ([]manifest.Document, error) {
	tb.Helper()
	return manifest.Read(tb.Context(), []string{"-"}, strings.NewReader(text), manifest.Options{})
}

func TestReadRefusesWhatIsTooDeepForJSON(t *testing.T) {
	text := "apiVersion: v1\nkind: X\na:\n" + strings.Repeat("- ", 6000) +
		strings.Repeat("[", 6000) + strings.Repeat("]", 6000)
	if _, err := read(t, text); err == nil || !strings.Contains(err.Error(), "exceeded max depth") {
		t.Errorf("lists 12,000 deep, which kubectl can't send, gave %v", err)
	}
}

func TestReadGivesTheValuesThatKubectlWouldSend(t *testing.T) {
	tests := map[string]struct{ reason, text string }{
		"booleans of YAML 1.1": {
			"yes and on are true for the cluster", "privileged: yes\nhostPID: on\nother: n\n"},
		"numbers": {"whole ones are int64, whatever they are written as",
			"a: 1\nb: 1.0\nc: 1e3\nd: 0x1F\ne: 010\nf: 1.5\ng: 18446744073709551615\nh: -0.0\ni: 1_000\n"},
		"what looks like a time":       {"it stays text", "at: 2026-01-01\nthen: 2026-01-01T00:00:00Z\n"},
		"keys that aren't strings":     {"they become strings", "1: a\ntrue: b\n1.5: c\n"},
		"an anchor and a merge":        {"they are followed", "base: &b {x: 1}\nmerged:\n  <<: *b\n  y: 2\n"},
		"texts over lines":             {"folded and literal", "a: |\n  x\n  y\nb: >\n  x\n  y\n"},
		"null":                         {"it is kept", "a:\nb: ~\nc: null\n"},
		"a binary value":               {"it is decoded, as the parser does it", "a: !!binary aGVsbG8=\n"},
		"text that looks like a value": {"quotes make text", "a: \"yes\"\nb: '1'\n"},
		"large numbers": {"int64 as far as it goes", "a: 9223372036854775807\nb: 9223372036854775808\n" +
			"c: -9223372036854775808\nd: -9223372036854775809\ne: 1e20\n" +
			"f: 4611686018427387904.0\ng: 9007199254740993.0\n"},
		"numbers of YAML 1.1": {
			"sexagesimal ones are text", "a: 1:30\nb: 0b11\nc: 0o17\nd: +1\ne: 1_0.5\nf: .5\n"},
		"a number deep within": {"all of the document is read", "a: [{b: [x, {c: 1, d: 1.0}]}]\n"},
		"bytes that are no text": {
			"JSON replaces them", "a: !!binary //79\nb: [!!binary /w==]\n? !!binary //8=\n: x\n"},
		"characters that JSON escapes": {"they are kept", "a: <&>\nb: \"\\u2028\\0\\x80\\U0001F600\"\n"},
		"nothing within":               {"empty isn't null", "a: {}\nb: []\nc: ''\nd: [{}, [], ~]\n"},
		"anchors of several":           {"each is a value of its own", "a: &a [1, {b: c}]\nb: *a\nc: [*a, *a]\n"},
		"merges of several":            {"all are followed", "a: &a {x: 1}\nb: &b {y: 2}\nc: {<<: [*a, *b], z: 3}\n"},
		"tags": {"they set the type", "a: !!str 1\nb: !!int '1'\nc: !!float 1\n" +
			"d: !x y\ne: !!timestamp 2026-01-01\n"},
		"a key that is null or no": {"only text may be empty", "'': a\nno: b\n0x10: c\n\"1\": d\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			text := "apiVersion: v1\nkind: X\n" + tc.text
			documents, err := read(t, text)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := yaml.YAMLToJSON([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{}
			if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, documents[0].Object); diff != "" {
				t.Errorf("%s (-kubectl +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// found is what a test compares of a document.
type found struct {
	Line, Index int
	Kind, Name  string
}

func foundIn(documents []manifest.Document) []found {
	var out []found
	for i := range documents {
		d := &documents[i]
		meta, _ := d.Object["metadata"].(map[string]any)
		name, _ := meta["name"].(string)
		kind, _ := d.Object["kind"].(string)
		out = append(out, found{d.Line, d.Index, kind, name})
	}
	return out
}

func TestReadFindsEachObjectWithItsLine(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
	tests := map[string]struct {
		reason, text string
		want         []found
	}{
		"many documents": {
			"each begins after its mark", pod + "---\n" + pod + "---\n# Source: x\n" + pod,
			[]found{{1, 0, "Pod", "a"}, {5, 1, "Pod", "a"}, {10, 2, "Pod", "a"}}},
		"empty documents": {"they are nothing", "---\n---\n# only a comment\n---\n" + pod + "---\n",
			[]found{{5, 0, "Pod", "a"}}},
		"a mark with a comment": {"it is a mark all the same", pod + "--- # next\n" + pod,
			[]found{{1, 0, "Pod", "a"}, {5, 1, "Pod", "a"}}},
		"a document on its mark": {"YAML allows it", "--- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n",
			[]found{{1, 0, "Pod", "a"}}},
		"an end mark": {"what follows is another document", pod + "...\n" + pod,
			[]found{{1, 0, "Pod", "a"}, {5, 1, "Pod", "a"}}},
		"a directive": {"it belongs to the document that follows", "%YAML 1.1\n---\n" + pod,
			[]found{{3, 0, "Pod", "a"}}},
		"line ends of Windows": {"they are line ends", strings.ReplaceAll(pod+"---\n"+pod, "\n", "\r\n"),
			[]found{{1, 0, "Pod", "a"}, {5, 1, "Pod", "a"}}},
		"a byte order mark": {"some editors write it", "\ufeff" + pod, []found{{1, 0, "Pod", "a"}}},
		"a mark within a text": {
			"it is indented there",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    ---\n    b\n",
			[]found{{1, 0, "ConfigMap", "c"}}},
		"a List": {"its items count", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  " +
			"kind: Pod\n  metadata: {name: a}\n- {apiVersion: v1, kind: Pod, metadata: {name: b}}\n",
			[]found{{4, 0, "Pod", "a"}, {7, 1, "Pod", "b"}}},
		"a typed list without kinds": {
			"the list says them", "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n",
			[]found{{4, 0, "Pod", "a"}}},
		"items of another kind": {"kubectl makes a list of whatever has items",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nitems:\n" +
				"- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n",
			[]found{{5, 0, "Pod", "a"}}},
		"items of another kind, without their own": {"they get that of what holds them",
			"apiVersion: v1\nkind: Pod\nitems:\n- metadata: {name: a}\n" +
				"- {kind: \"\", apiVersion: ~, metadata: {name: b}}\n",
			[]found{{4, 0, "Pod", "a"}, {5, 1, "Pod", "b"}}},
		"a typed list with empty kinds": {"they are missing, too",
			"apiVersion: v1\nkind: PodList\nitems:\n- {apiVersion: \"\", kind: 3, metadata: {name: a}}\n",
			[]found{{4, 0, "Pod", "a"}}},
		"another kind without any item": {"kubectl applies nothing of it, others may apply it",
			"apiVersion: v1\nkind: Pod\nitems: []\n---\napiVersion: v1\nkind: Node\nitems:\n",
			[]found{{1, 0, "Pod", ""}, {5, 1, "Node", ""}}},
		"an empty list": {"it holds nothing", "apiVersion: v1\nkind: PodList\nitems: []\n", nil},
		"what is no list within a list": {"kubectl takes it as it is", "apiVersion: v1\nkind: List\nitems:\n" +
			"- {apiVersion: x.io/v1, kind: AllowList, items: {a: b}}\n", []found{{4, 0, "AllowList", ""}}},
		"a list in a list": {"it is unpacked too", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: " +
			"v1\n  kind: List\n  items:\n  - {apiVersion: v1, kind: Pod, metadata: {name: b}}\n",
			[]found{{7, 0, "Pod", "b"}}},
		"JSON values one after other": {
			"kubectl and jq write them",
			"{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}\n\n{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Node\"}\n",
			[]found{{1, 0, "Pod", ""}, {3, 1, "Node", ""}}},
		"a JSON array": {
			"its elements count",
			"[{\"apiVersion\":\"v1\",\"kind\":\"Pod\"},\n{\"apiVersion\":\"v1\",\"kind\":\"Node\"}]",
			[]found{{1, 0, "Pod", ""}, {2, 1, "Node", ""}}},
		"flow style that isn't JSON": {"it is YAML", "{apiVersion: v1, kind: Pod}\n", []found{{1, 0, "Pod", ""}}},
		"comments and an end mark after flow style": {"nothing is lost of them",
			"{apiVersion: v1, kind: Pod}\n\n# x\n... # y\n# z\n{apiVersion: v1, kind: Node} # u\n...\n",
			[]found{{1, 0, "Pod", ""}, {6, 1, "Node", ""}}},
		"JSON and YAML": {"a mark parts them",
			"{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}\n---\napiVersion: v1\nkind: Node\n",
			[]found{{1, 0, "Pod", ""}, {3, 1, "Node", ""}}},
		"a kind that only ends in List": {"without items it is an object", "apiVersion: x.io/v1\nkind: AllowList\n",
			[]found{{1, 0, "AllowList", ""}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			documents, err := read(t, tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, foundIn(documents)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for i := range documents {
				place := documents[i].Place()
				var whole any
				if err := yaml.Unmarshal([]byte(tc.text)[place.Start:place.End], &whole); err != nil &&
					!json.Valid([]byte(tc.text)[place.Start:place.End]) {
					t.Errorf("the place %+v holds no document: %v", place, err)
				}
			}
		})
	}
}

func TestReadSaysWhatIsWrongAndWhere(t *testing.T) {
	const good = "apiVersion: v1\nkind: Pod\n---\n"
	tests := map[string]struct{ reason, text, want string }{
		"a key written twice": {"one of the two would be lost", good + "apiVersion: v1\nkind: Pod\nkind: Node\n",
			`<stdin>:6: it isn't valid YAML: key "kind" already set in map`},
		"bad indentation": {"with the parser's line", good + "apiVersion: v1\n  kind: Pod\n",
			"<stdin>:5: it isn't valid YAML"},
		"a template": {"it says to render it", good + "{{ if .x }}\napiVersion: v1\n{{ end }}\n",
			"it looks like a template"},
		"no kind":       {"with the fix", good + "apiVersion: v1\n", "<stdin>:4: kind is missing"},
		"no apiVersion": {"with the fix", good + "kind: Pod\n", "<stdin>:4: apiVersion is missing"},
		"values of a chart": {"a file that is named must hold objects", good + "replicas: 3\n",
			"<stdin>:4: it isn't a Kubernetes object"},
		"text": {"so must standard input", good + "hello\n",
			"<stdin>:4: it isn't a Kubernetes object"},
		"a number that isn't one": {"JSON has none for it", good + "apiVersion: v1\nkind: Pod\na: .nan\n",
			"<stdin>:4: it isn't valid YAML: .inf and .nan"},
		"a kustomization": {
			"it is for kustomize", good + "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
			"kustomize build"},
		"YAML after JSON": {"it would be lost, and kubectl applies it",
			"{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}\n# next\napiVersion: v1\nkind: Pod\n---\n" + good,
			"<stdin>:3: it isn't valid YAML: something follows the object: put a line with --- before it"},
		"two values of JSON and a comment": {"the second would be lost",
			good + "{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}\n{\"apiVersion\": \"v1\", \"kind\": \"Node\"}\n" +
				"# end\n",
			"<stdin>:5: it isn't valid YAML: something follows the object"},
		"two objects in flow style": {"the second would be lost",
			good + "{apiVersion: v1, kind: Pod}\n\n{apiVersion: v1, kind: Node}\n",
			"<stdin>:6: it isn't valid YAML: something follows the object"},
		"two objects on a line": {"the second would be lost",
			good + "{apiVersion: v1, kind: Pod} {apiVersion: v1, kind: Node}\n",
			"<stdin>:4: it isn't valid YAML: something follows the object"},
		"a mark after another line end": {"kubectl doesn't see it, and YAML does",
			good + "apiVersion: v1\rkind: Pod\r---\rapiVersion: v1\rkind: Node\r",
			"<stdin>:4: it isn't valid YAML: something follows the object"},
		"an object after one that is indented": {"the second would be lost",
			good + "  apiVersion: v1\n  kind: Pod\napiVersion: v1\nkind: Node\n",
			"<stdin>:6: it isn't valid YAML: something follows the object"},
		"a list after an object": {"it isn't left out", good + "apiVersion: v1\nkind: Pod\n- a\n",
			"<stdin>:5: it isn't valid YAML"},
		"what is no YAML after an object": {"with the parser's line", good + "--- {apiVersion: v1, kind: Pod}\n\n@x\n",
			"<stdin>:6: it isn't valid YAML: found character that cannot start any token"},
		"an object whose items are text": {"kubectl takes it for a list, and fails",
			good + "apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\nitems:\n- x\n- y\n",
			"<stdin>:8: kubectl takes AllowList a for a list, since it has items, and fails: /items/0 isn't an object"},
		"an object whose items are no list": {"kubectl takes it for a list, and fails",
			good + "apiVersion: v1\nkind: Pod\nitems: {a: b}\n",
			"<stdin>:6: kubectl takes Pod for a list, since it has items, and fails: /items isn't a list"},
		"an item that is missing": {"it isn't left out", good + "apiVersion: v1\nkind: PodList\nitems: [null]\n",
			"<stdin>:6: kubectl takes PodList for a list, since it has items, and fails: /items/0 isn't an object"},
		"an item of a List without kind": {"the List says none", good + "apiVersion: v1\nkind: List\nitems: [{a: b}]\n",
			"<stdin>:6: kind is missing"},
		"a List without apiVersion, of an item without kind": {"it isn't left out",
			good + "kind: List\nitems: [{a: b}]\n", "<stdin>:5: it isn't a Kubernetes object"},
		"what has items and no kind": {"it is no object", good + "items: [a]\n",
			"<stdin>:4: it isn't a Kubernetes object"},
		"a JSON key written twice": {
			"one of the two would be lost", `{"apiVersion":"v1","kind":"Pod"} {"kind":"Pod","kind":"Node"}`,
			`duplicate field "kind"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			documents, err := read(t, tc.text)
			var wrong *manifest.Error
			if !errors.As(err, &wrong) || len(wrong.Problems) != 1 || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want one with %q", tc.reason, err, tc.want)
			}
			if len(documents) != 1 {
				t.Errorf("%d documents are returned beside the error, want the good one", len(documents))
			}
		})
	}
}

func TestLineOf(t *testing.T) {
	const merged = "# a comment\napiVersion: v1\nkind: ConfigMap\n" +
		"base: &base\n  x: 1\nmetadata:\n  <<: *base\n  name: a\n"
	tests := map[string]struct {
		reason, text string
		want         map[string]int
	}{
		"a plain manifest": {
			"a field's line is its key's", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    " +
				"x.io/y~z: b\nspec:\n  containers:\n  - name: c\n    image: d\n",
			map[string]int{"": 1, "/kind": 2, "/metadata/annotations/x.io~1y~0z": 6, "/spec/containers/0": 9,
				"/spec/containers/0/image": 10, "/spec/containers/0/command/3": 9, "/status": 1},
		},
		"anchors and merges": {
			"a merged field has the line where it is written", merged,
			map[string]int{"": 2, "/metadata/name": 8, "/metadata/x": 5, "/metadata/y": 6, "/nowhere": 2},
		},
		"a List": {
			"the pointer is into the item",
			"kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  spec:\n    hostPID: true\n",
			map[string]int{"": 4, "/spec/hostPID": 7},
		},
		"JSON with tabs": {
			"it has lines too",
			"{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Pod\",\n\t\"spec\": {\n\t\t\"hostPID\": true}}",
			map[string]int{"": 1, "/spec/hostPID": 5, "/spec/x": 4},
		},
		"a document further down": {
			"lines count from the file's beginning", "---\na: 1\n---\n# Source: x\n" + merged,
			map[string]int{"": 6, "/metadata/name": 12},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			documents, _ := read(t, tc.text)
			if len(documents) != 1 {
				t.Fatalf("%d documents", len(documents))
			}
			got := map[string]int{}
			for pointer := range tc.want {
				got[pointer] = documents[0].LineOf(pointer)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReadLeavesOutWhatMayNeverEnd: a pipe that nobody writes to would be read for ever.
func TestReadLeavesOutWhatMayNeverEnd(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	const pod = "apiVersion: v1\nkind: Pod\n"
	other := filepath.Join(t.TempDir(), "linked.yaml")
	for _, err := range []error{
		os.WriteFile(at("pod.yaml"), []byte(pod), 0o600),
		os.WriteFile(other, []byte(pod), 0o600),
		syscall.Mkfifo(at("pipe.yaml"), 0o600),
		os.Symlink(at("pipe.yaml"), at("to-pipe.yaml")),
		os.Symlink("/dev/zero", at("zero.json")),
		os.Symlink(other, at("to-file.yaml")),
		os.Symlink(filepath.Dir(other), at("to-directory")),
		syscall.Mkfifo(at("pipe.txt"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var skipped []string
	documents, err := manifest.Read(t.Context(), []string{dir}, nil,
		manifest.Options{Skipped: func(p manifest.Problem) { skipped = append(skipped, p.String()) }})
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for i := range documents {
		files = append(files, documents[i].File)
	}
	if diff := cmp.Diff([]string{at("pod.yaml"), at("to-file.yaml")}, files); diff != "" {
		t.Errorf("files that are read (-want +got):\n%s", diff)
	}
	want := []string{
		at("pipe.yaml") + ": it is a named pipe (FIFO), not a file",
		at("to-directory") + ": it is a link to a directory, which isn't followed: name it to have it read",
		at("to-pipe.yaml") + ": it is a named pipe (FIFO), not a file",
		at("zero.json") + ": it is a device, not a file",
	}
	if diff := cmp.Diff(want, skipped); diff != "" {
		t.Errorf("what is skipped (-want +got):\n%s", diff)
	}
}

// TestReadLeavesOutNoItem: a directory may hold other files than manifests, but a list of objects is none of them.
func TestReadLeavesOutNoItem(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": "kind: List\nitems:\n- {a: b}\n", "b.yaml": "apiVersion: x.io/v1\nkind: AllowList\nitems: [x]\n",
		"values.yaml": "items: [x]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var skipped, problems []string
	_, err := manifest.Read(t.Context(), []string{dir}, nil, manifest.Options{
		Skipped: func(p manifest.Problem) { skipped = append(skipped, filepath.Base(p.File)) }})
	var wrong *manifest.Error
	if errors.As(err, &wrong) {
		for _, p := range wrong.Problems {
			problems = append(problems, fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line))
		}
	}
	if diff := cmp.Diff([]string{"a.yaml:3", "b.yaml:3"}, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"values.yaml"}, skipped); diff != "" {
		t.Errorf("what is skipped (-want +got):\n%s", diff)
	}
}

// TestALinkToNothingIsNamed: "no such file" sends people to look for a file that is there, as a link.
func TestALinkToNothingIsNamed(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for link, to := range map[string]string{"web.yaml": "../gone/web.yaml", "overlay": "../gone", "notes.txt": "gone"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	const instead = ", which isn't there: correct the link, or remove it"
	for name, tc := range map[string]struct {
		path, err string
		skipped   []string
	}{
		"a manifest of a directory": {dir, at("web.yaml") + ": it is a link to ../gone/web.yaml" + instead,
			[]string{at("overlay") + ": it is a link to ../gone" + instead}},
		"one that is named": {at("overlay"), at("overlay") + ": it is a link to ../gone" + instead, nil},
		"what isn't a link": {at("none.yaml"), at("none.yaml") + ": it can't be read: no such file or directory", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var skipped []string
			_, err := manifest.Read(t.Context(), []string{tc.path}, nil,
				manifest.Options{Skipped: func(p manifest.Problem) { skipped = append(skipped, p.String()) }})
			if err == nil || err.Error() != tc.err {
				t.Errorf("error %v, want %s", err, tc.err)
			}
			if diff := cmp.Diff(tc.skipped, skipped); diff != "" {
				t.Errorf("what is skipped (-want +got):\n%s", diff)
			}
		})
	}
}

// A file's name stands in every line that is said of the file, in a log of CI say: by its name it writes no line there.
func TestAFilesNameWritesNothingElse(t *testing.T) {
	dir := t.TempDir()
	named := filepath.Join(dir, "a\n::error::owned.yaml")
	if err := os.WriteFile(named, []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("no\nwhere", filepath.Join(dir, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	kind := "apiVersion: v1\nkind: Pod\nmetadata: {name: c}\n---\nkind: \"D\\n::error::x\"\n"
	if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(kind), 0o600); err != nil {
		t.Fatal(err)
	}
	documents, err := manifest.Read(t.Context(), []string{dir}, nil, manifest.Options{})
	if len(documents) != 1 || documents[0].File == named {
		t.Errorf("read %v, want the Pod of c.yaml alone", documents)
	}
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Fatalf("the error is %q, want three lines", err)
	}
	for _, want := range []string{`a\n::error::owned.yaml": it isn't read`, `a link to "no\nwhere"`, `of "D\n::error::x"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}
