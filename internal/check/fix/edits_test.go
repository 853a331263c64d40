// SPDX-License-Identifier: Apache-2.0

package fix_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/check/fix"
	"evenkeel.dev/evenkeel/internal/manifest"
)

// offsetOf is the byte at a position of a text.
func offsetOf(text string, p check.Position) int {
	at := 0
	for range p.Line - 1 {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	for column := 1; column < p.Column; {
		r := []rune(text[at:])[0]
		at += len(string(r))
		column += len(utf16.Encode([]rune{r}))
	}
	return at
}

// edited is a text with edits made, as a reader of SARIF makes them.
func edited(text string, edits []check.Edit) string {
	for i := len(edits) - 1; i >= 0; i-- {
		from, to := offsetOf(text, edits[i].Start), offsetOf(text, edits[i].End)
		text = text[:from] + edits[i].Text + text[to:]
	}
	return text
}

// located are the results of checking a file, with the edits that each asks for.
func located(t *testing.T, rules map[string]string, text string) []check.Result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	documents, err := manifest.Read(t.Context(), []string{file}, nil, manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := check.Run(t.Context(), ruled(t, rules), check.Each(check.Of(documents, "default", nil)),
		check.Options{Now: at(), Fix: true})
	if err != nil {
		t.Fatal(err)
	}
	fix.Locate(report)
	return report.Results
}

const (
	list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data:\n"
	// secret has a value that isn't written as it is.
	secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"key":"--\n\"SECRET\"\n"}}`
)

func TestEditsMakeTheFixInTheFile(t *testing.T) {
	tests := map[string]struct {
		reason string
		rules  map[string]string
		text   string
		want   []string
	}{
		"one field": {
			"what fix writes, line for line; the namespace that is only assumed isn't written",
			map[string]string{"p": needs("x", "2")}, object,
			[]string{strings.Replace(object, "\"1\" # x", "\"2\" # x", 1)},
		},
		"two policies": {
			"each result has its own, on the file as it is",
			map[string]string{"p": needs("x", "2"), "q": needs("w", "3")}, object,
			[]string{strings.Replace(object, "\"1\" # x", "\"2\" # x", 1), object + "  w: \"3\"\n"},
		},
		"the second document": {
			"lines are the file's",
			map[string]string{"p": needs("x", "2")},
			strings.Replace(object, "\"1\" # x", "\"2\"", 1) + "---\n" + object,
			[]string{strings.Replace(object, "\"1\" # x", "\"2\"", 1) + "---\n" +
				strings.Replace(object, "\"1\" # x", "\"2\" # x", 1)},
		},
		"no line feed at the end, and letters of two units": {
			"columns count as SARIF has them",
			map[string]string{"p": needs("x", "2")}, strings.TrimSpace(strings.Replace(object, "# x", "# 𝄞ä", 1)),
			[]string{strings.TrimSpace(strings.Replace(object, "\"1\" # x", "\"2\" # 𝄞ä", 1))},
		},
		"an item of a list": {
			"it is fixed where it stands",
			map[string]string{"p": needs("x", "2")},
			list + "    x: \"1\"\n", []string{list + "    x: \"2\"\n"},
		},
		"a Secret": {
			"its values may stand in any line, in any spelling",
			map[string]string{"secret": `deny contains "no label" if not input.object.metadata.labels.a
remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]}
`},
			secret, []string{secret},
		},
		"a fix that deletes": {
			"no file is edited by it",
			map[string]string{"p": "deny contains \"no\"\nremediation contains {\"action\": \"delete\"}\n"}, object,
			[]string{object},
		},
		"a fix that isn't proven": {
			"it is none",
			map[string]string{"p": "deny contains \"no\"\nremediation contains {\"action\": \"patch\", \"ops\": " +
				"[{\"op\": \"add\", \"path\": \"/data/z\", \"value\": \"1\"}]}\n"}, object, []string{object},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			results := located(t, tt.rules, tt.text)
			var got []string
			for i := range results {
				got = append(got, edited(tt.text, results[i].Edits))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
