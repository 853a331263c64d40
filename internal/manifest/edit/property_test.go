// SPDX-License-Identifier: Apache-2.0

package edit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	kyaml "sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/manifest/edit"
)

// words are texts of which YAML is apt to make something else.
func words() []string {
	return []string{"web", "a b", "on", "no", "1", "0x1", "1e3", "~", "null", "", "it's", `say "hi"`, "a: b",
		"# no comment", "x #y", "- a", "[a]", "{b}",
		"über", "日本", "two\nlines", "two\nlines\n", "  indented\nlines", "a,b", "a]b", "*star", "&and", "!bang", "%",
		"@at", "`tick", "1:20", "2026-01-01", "012", "<<", "trailing ", "tab\there", "\\", "/a~b"}
}

func drawValue(t *rapid.T, depth int) any {
	kinds := 7
	if depth <= 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.Int64Range(-5, 1<<40).Draw(t, "number")
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return nil
	case 3, 4:
		return rapid.SampledFrom(words()).Draw(t, "word")
	case 5:
		return drawObject(t, depth-1)
	default:
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	}
}

func drawObject(t *rapid.T, depth int) map[string]any {
	object := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "size") {
		key := rapid.SampledFrom([]string{"a", "b", "name", "a/b", "c~d", "x.y", "a b", "on", "1", "k: v", "ключ"}).
			Draw(t, "key")
		object[key] = drawValue(t, depth)
	}
	return object
}

// drawText writes an object in one of the ways in which people do.
func drawText(t *rapid.T, object map[string]any) []byte {
	switch rapid.IntRange(0, 5).Draw(t, "layout") {
	case 0:
		return must(t)(json.Marshal(object))
	case 1:
		return append(
			must(t)(json.MarshalIndent(object, "", rapid.SampledFrom([]string{"  ", "    ", "\t"}).Draw(t, "unit"))),
			'\n')
	case 2:
		text, err := kyaml.Marshal(object)
		if err != nil { // it writes some texts so that it can't read them itself
			t.Skip(err)
		}
		return text
	}
	node := &yaml.Node{}
	if err := node.Encode(object); err != nil {
		t.Skip(err)
	}
	number := 0
	decorate(t, node, &number)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(rapid.IntRange(2, 4).Draw(t, "indent"))
	if rapid.Bool().Draw(t, "compact") {
		encoder.CompactSeqIndent()
	}
	if err := encoder.Encode(node); err != nil {
		t.Fatal(err)
	}
	text := out.Bytes()
	if rapid.Bool().Draw(t, "mark") {
		text = append([]byte("---\n# a head\n"), text...)
	}
	if rapid.IntRange(0, 3).Draw(t, "Windows") == 0 {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	return text
}

// decorate gives some nodes another style, and comments.
func decorate(t *rapid.T, node *yaml.Node, number *int) {
	comment := func() string {
		*number++
		return fmt.Sprintf("# comment %d.", *number)
	}
	switch {
	case node.Kind != yaml.ScalarNode:
		if rapid.IntRange(0, 4).Draw(t, "flow") == 0 {
			node.Style = yaml.FlowStyle
			return
		}
	case node.Tag == "!!str" && !strings.Contains(node.Value, "\n"):
		node.Style = rapid.SampledFrom([]yaml.Style{0, yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle}).Draw(
			t, "quotes")
	}
	for i, child := range node.Content {
		isKey := node.Kind == yaml.MappingNode && i%2 == 0
		if (isKey || node.Kind == yaml.SequenceNode) && rapid.IntRange(0, 3).Draw(t, "head") == 0 {
			child.HeadComment = comment()
		}
		if !isKey && child.Kind == yaml.ScalarNode && !strings.Contains(child.Value, "\n") &&
			rapid.IntRange(0, 3).Draw(t, "line") == 0 {
			child.LineComment = comment()
		}
		if !isKey {
			decorate(t, child, number)
		}
	}
}

func must(t *rapid.T) func([]byte, error) []byte {
	return func(text []byte, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

// pointers are those of all values within one.
func pointers(value any, at string) []string {
	found := []string{}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			found = append(append(found, at+"/"+escape.Replace(key)), pointers(child, at+"/"+escape.Replace(key))...)
		}
	case []any:
		for i, child := range v {
			found = append(append(found, fmt.Sprintf("%s/%d", at, i)), pointers(child, fmt.Sprintf("%s/%d", at, i))...)
		}
	}
	return found
}

func drawOp(t *rapid.T, object map[string]any) (op map[string]any, found bool) {
	all := rapid.Permutation(slices.Sorted(slices.Values(pointers(object, "")))).Draw(t, "pointers")
	if len(all) == 0 {
		return map[string]any{"op": "add", "path": "/new", "value": drawValue(t, 2)}, true
	}
	switch kind := rapid.SampledFrom([]string{"add", "remove", "replace", "append", "move", "copy"}).Draw(
		t, "op"); kind {
	case "add":
		parent := all[0][:strings.LastIndex(all[0], "/")]
		last := all[0][strings.LastIndex(all[0], "/")+1:]
		if rapid.Bool().Draw(t, "fresh") && strings.Trim(last, "0123456789") != "" {
			last = "fresh"
		}
		return map[string]any{"op": "add", "path": parent + "/" + last, "value": drawValue(t, 2)}, true
	case "append":
		for _, pointer := range all {
			if strings.HasSuffix(pointer, "/0") {
				return map[string]any{"op": "add", "path": strings.TrimSuffix(pointer, "0") + "-",
					"value": drawValue(t, 2)}, true
			}
		}
		return nil, false
	case "move", "copy":
		if strings.HasPrefix(all[len(all)-1]+"/", all[0]+"/") {
			return nil, false
		}
		return map[string]any{"op": kind, "from": all[0], "path": all[len(all)-1]}, true
	default:
		return map[string]any{"op": kind, "path": all[0], "value": drawValue(t, 2)}, true
	}
}

func decoded(text []byte) (any, error) {
	raw, err := kyaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	var value any
	return value, utiljson.Unmarshal(raw, &value)
}

var commentMark = regexp.MustCompile(`# comment \d+\.`)

// Whatever a text looks like, and whatever the patch: the text that comes out holds
// what the patched object holds, and nothing is lost that the patch doesn't touch.
func TestEditingIsPatching(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := drawObject(t, 3)
		text := drawText(t, object)
		have, err := decoded(text)
		if err != nil {
			t.Skip("the text can't be read back: ", err)
		}
		document, onlyScalars := must(t)(json.Marshal(have)), true
		for range rapid.IntRange(1, 3).Draw(t, "operations") {
			var current map[string]any
			if err := utiljson.Unmarshal(document, &current); err != nil {
				t.Fatal(err)
			}
			op, found := drawOp(t, current)
			if !found {
				continue
			}
			patch, err := jsonpatch.DecodePatch(must(t)(json.Marshal([]any{op})))
			if err != nil {
				t.Fatal(err)
			}
			if patched, err := patch.Apply(document); err == nil {
				document = patched
				onlyScalars = onlyScalars && op["op"] == "add" && strings.HasSuffix(op["path"].(string), "/fresh")
			}
		}
		var want any
		if err := utiljson.Unmarshal(document, &want); err != nil {
			t.Fatal(err)
		}
		edited, err := edit.Set(text, "", want)
		if err != nil {
			t.Fatalf("%v\n%s\nwant %s", err, text, document)
		}
		got, err := decoded(edited)
		if err != nil {
			t.Fatalf("%v:\n%s", err, edited)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got)\n%s\nof\n%s", diff, edited)
		}
		if onlyScalars {
			for _, comment := range commentMark.FindAll(text, -1) {
				if !bytes.Contains(edited, comment) {
					t.Errorf("%s is lost:\n%s\nwas\n%s", comment, edited, text)
				}
			}
		}
	})
}
