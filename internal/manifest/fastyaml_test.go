// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/manifest/fastyaml"
)

// failer is a test of any sort.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// asTheLibrary fails when the plain reader reads a text otherwise than the library
// does. It says whether the plain reader reads it at all.
func asTheLibrary(tb failer, text string) bool {
	tb.Helper()
	got, plain := fastyaml.Read(text)
	if !plain {
		return false
	}
	want, err := fastyaml.Decode([]byte(text))
	if err != nil {
		tb.Fatalf("the library refuses it: %v\n%q", err, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Fatalf("(-library +plain):\n%s\n%q", diff, text)
	}
	lines, _ := fastyaml.Lines(text)
	document := &yaml.Node{}
	if err := yaml.Unmarshal([]byte(text), document); err != nil || len(document.Content) == 0 {
		return true // the library of lines reads another version of YAML
	}
	library := &tree{root: document.Content[0]}
	for pointer, line := range lines {
		// An element's line is its dash's here, and its value's there.
		last := pointer[strings.LastIndexByte(pointer, '/')+1:]
		if at := library.lineOf(pointer); at != line && strings.Trim(last, "0123456789") != "" {
			tb.Fatalf("%s is on line %d, the library says %d\n%q", pointer, line, at, text)
		}
	}
	return true
}

func TestPlainReadsWhatPeopleWrite(t *testing.T) {
	tests := map[string]string{
		"a mapping":                    "a: b\nc: d\n",
		"nested mappings":              "a:\n  b:\n    c: d\n  e: f\ng: h\n",
		"a list with its key's indent": "a:\n- b\n- c\nd: e\n",
		"a list indented":              "a:\n  - b\n  - c\nd: e\n",
		"mappings in lists":            "a:\n- b: c\n  d: e\n- f: g\n  h:\n  - i\n  - j: k\n",
		"a mapping below its dash":     "a:\n-\n  b: c\n-\n- d\n",
		"comments":                     "# x\na: b # y\n  # z\nc: d#e\nf: # g\n  h: i\n",
		"quotes":                       "a: \"b: c # d\"\ne: 'f \"g\"'\n\"h\": i\n'j k': l\n",
		"a literal text":               "a: |\n  b\n    c\n\n  # d\n\ne: |-\n  f\ng: h\n",
		"a literal text in a list":     "a:\n- |\n  b\n- c: |-\n    d\n  e: f\n",
		"flow values":                  "a: {b: c, d: [e, \"f\", 1, {}], g: {h: [i]}}\nj: [] # k\n",
		"values of every type": "a: 1\nb: -2\nc: 010\nd: 0x1f\ne: 1.5\nf: 1e3\ng: yes\nh: Off\ni: ~\nj: " +
			"null\nk: .inf1\nl: 1_000\nm: 2026-01-01\nnn: 100m\no: 1.2.3\np: 123456789012345678901\nq: +1\nr: " +
			"---\ns: ...\nt: -.5\nu:\n",
		"arguments of a command": "args: [\"--a=b\", -c, --d]\ncommand:\n- sh\n- -c\n- echo $(A) && exit " +
			"0\n- --port=8080\n",
		"a mark and no end of the line": "---  # x\na: b",
		"letters of other languages":    "a: \"é — 漢字 😀\"\n# ünï\nb: c é\nd: |\n  ñ\n",
		"empty lines":                   "\n\na: b\n\n\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if !asTheLibrary(t, text) {
				t.Errorf("it isn't read:\n%s", text)
			}
		})
	}
}

func TestPlainLeavesTheRestToTheLibrary(t *testing.T) {
	for name, text := range map[string]string{
		"a key twice":               "a: b\na: c\n",
		"a key twice in flow":       "a: {b: c, b: d}\n",
		"an anchor":                 "a: &b c\nd: *b\n",
		"a merge":                   "a: {<<: {b: c}}\n",
		"a tag":                     "a: !!str 1\n",
		"a folded text":             "a: >\n  b\n",
		"an escape":                 "a: \"\\n\"\nb: 'c''d'\n",
		"a text over lines":         "a: b\n  c\n",
		"a flow value over lines":   "a: [b,\n  c]\n",
		"a key that is a number":    "1: a\n",
		"a key that is a boolean":   "on: a\n",
		"a colon in a value":        "a: b: c\n",
		"a tab":                     "a:\tb\n",
		"a key of other letters":    "é: a\n",
		"another line end":          "a: b\u2028c: d\n",
		"a control character":       "a: \"\x01\"\n",
		"bytes that are no text":    "a: \"\xff\"\n",
		"a list in a list's line":   "- - a\n",
		"wrong indentation":         "a:\n    b: c\n  d: e\n",
		"a directive":               "%YAML 1.1\n---\na: b\n",
		"a template":                "a: {{ .b }}\n",
		"a text with an indicator":  "a: |2\n   b\n",
		"a text that keeps its end": "a: |+\n  b\n\n",
		"a scalar alone":            "a\n",
		"nothing":                   "",
	} {
		t.Run(name, func(t *testing.T) {
			if value, plain := fastyaml.Read(text); plain {
				t.Errorf("it is read as %v", value)
			}
		})
	}
}

// TestPlainReadsTheRepositorysManifests: were it to leave them to the library, it
// would be of no use.
func TestPlainReadsTheRepositorysManifests(t *testing.T) {
	files, err := filepath.Glob("../../config/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	plain, all := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range split(text) {
			if all++; asTheLibrary(t, string(c.text)) {
				plain++
			}
		}
	}
	if plain*10 < all*7 {
		t.Errorf("%d of %d documents are plain, want 70 %% at least", plain, all)
	}
}

// TestPlainNeverDiffersFromTheLibrary writes documents of parts that have a
// meaning in YAML, in any order.
func TestPlainNeverDiffersFromTheLibrary(t *testing.T) {
	parts := []string{
		"\n", "\n", "\n  ", "\n  ", "\n    ", "\n- ", "\n  - ", "a: ", "b: ", "c:", "- ", "-", "|\n", "|-\n", ">", "'",
		"\"", "{", "}", "[", "]", ", ", ",", ": ", ":",
		" #", "#", "x", "yes", "no", "1", "0", "0x1", "1e3", ".5", "-1", "~", "null", " ", "  ", "\t", "---", "...",
		"&a ", "*a", "!!str ", "<<", "?", "%", "@", "`", "\\n", "é", "\u0085", "\u2028", "\u00a0", "\ufeff", "\x7f",
		"\xff", "漢", "😀", "$(A)", "/etc/x", "100m",
	}
	rapid.Check(t, func(t *rapid.T) {
		asTheLibrary(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 14).Draw(t, "parts"), ""))
	})
}

func FuzzPlain(f *testing.F) {
	for _, text := range []string{"a: b\nc:\n- d: |\n    e\n  f: {g: [h]}\n", "---\n- a\n- 'b'\n", "a: 1 # x\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { asTheLibrary(t, text) })
}

func TestTheFastReaderCanBeTurnedOff(t *testing.T) {
	text := []byte("a: b\nc:\n- d\n")
	if fast, slow := parseTree(text, false), parseTree(text, true); fast.plain == nil || slow.plain != nil ||
		slow.lineOf("/c/0") != fast.lineOf("/c/0") {
		t.Errorf("lines by the fast reader %+v, by the library %+v", fast, slow)
	}
	files, err := filepath.Glob("../../config/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	read := func(library bool) (objects []map[string]any) {
		documents, err := Read(t.Context(), files, nil, Options{Library: library})
		if err != nil && len(documents) == 0 {
			t.Fatal(err)
		}
		for i := range documents {
			objects = append(objects, documents[i].Object)
		}
		return objects
	}
	if diff := cmp.Diff(read(true), read(false)); diff != "" {
		t.Errorf("objects (-library +fast)\n%s", diff)
	}
}
