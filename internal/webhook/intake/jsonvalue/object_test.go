// SPDX-License-Identifier: Apache-2.0

package jsonvalue_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
	kjson "sigs.k8s.io/json"

	"evenkeel.dev/evenkeel/internal/webhook/intake/jsonvalue"
)

// agree holds what a text is decoded to against what sigs.k8s.io/json makes of it.
func agree(t interface {
	Helper()
	Errorf(format string, args ...any)
}, decoder *jsonvalue.Decoder, text []byte) {
	t.Helper()
	var want map[string]any
	wantErr := kjson.UnmarshalCaseSensitivePreserveInts(text, &want)
	before := string(text)
	got, err := decoder.Object(text)
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%.300q: %v; sigs.k8s.io/json says %v", text, err, wantErr)
		return
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%.300q: %#v\nsigs.k8s.io/json has %#v", text, got, want)
	}
	if string(text) != before {
		t.Errorf("%.300q was changed", before)
	}
}

func cases() []string {
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	return []string{
		``, ` `, `null`, ` null `, `nul`, `nulls`, `{}`, ` { } `, `{}{}`, `{} x`, "{}\x00", `[]`, `1`, `"a"`, `true`, `{`, `}`, `{]`,
		`{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{a:1}`, `{'a':1}`, `{"a":1 "b":2}`, `{"a":1}}`,
		`{"a":[]}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":[1 2]}`, `{"a":[1,2}`, `{"a":[1,2]]}`, `{"a":{}}`, `{"a":{"b":{"c":[{"d":1}]}}}`,
		`{"a":1,"a":2}`, `{"a":{"x":1},"a":{"y":2}}`, `{"a":{"x":1},"a":null}`, `{"A":1,"a":2}`, `{"":1}`, `{"\u0061":1,"a":2}`,
		`{"a":true,"b":false,"c":null}`, `{"a":tru}`, `{"a":truex}`, `{"a":True}`, `{"a":nil}`, `{"a":NaN}`, `{"a":Infinity}`,
		`{"a":0}`, `{"a":-0}`, `{"a":00}`, `{"a":01}`, `{"a":-}`, `{"a":+1}`, `{"a":.5}`, `{"a":1.}`, `{"a":1.5}`, `{"a":-1.50}`,
		`{"a":0.0}`, `{"a":-0.0}`, `{"a":1e}`, `{"a":1e+}`, `{"a":1e3}`, `{"a":1E-3}`, `{"a":1.5e+3}`, `{"a":1e999}`, `{"a":-1e999}`,
		`{"a":1e-999}`, `{"a":0x1}`, `{"a":1_000}`, `{"a":1a}`, `{"a":--1}`,
		`{"a":9223372036854775807}`, `{"a":9223372036854775808}`, `{"a":-9223372036854775808}`, `{"a":-9223372036854775809}`,
		`{"a":123456789012345678901234567890}`, `{"a":1` + strings.Repeat("0", 400) + `}`,
		`{"a":"` + "\t" + `"}`, "{\"a\":\"\n\"}", `{"a":"` + "\x7f" + `"}`, `{"a":"` + "\x1f" + `"}`, `{"a":"`, `{"a":"\`, `{"a":"\"`, `{"a":"\\"}`,
		`{"a":"\"\\\/\b\f\n\r\t"}`, `{"a":"\'"}`, `{"a":"\x"}`, `{"a":"\u"}`, `{"a":"\u12"}`, `{"a":"\u12G4"}`, `{"a":"\U0061"}`,
		`{"a":"\u0000\u001f\u007f\u00e9\uFFFF"}`, `{"a":"\ud83d\ude00"}`, `{"a":"\ud83d"}`, `{"a":"\ude00"}`, `{"a":"\ud83dx"}`,
		`{"a":"\ud83d\u0041"}`, `{"a":"\ud83d\ud83d\ude00"}`, `{"a":"\ud83d\uZZZZ"}`, `{"a":"\ud83d\n"}`, `{"a":"\ude00\ud83d"}`,
		`{"a":"é€😀"}`, "{\"a\":\"\xff\"}", "{\"a\":\"\xc3\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"x\xf0\x9f\x98\"}", "{\"\xff\":1,\"\xfe\":2}",
		"\ufeff{}", "{\u00a0}", "{\v}", " \t\r\n{ \t\r\n\"a\" \t\r\n: \t\r\n1 \t\r\n, \t\r\n\"b\":[ \n]\n}\n",
		`{"` + strings.Repeat("x", 63) + `":1,"` + strings.Repeat("x", 64) + `":2,"` + strings.Repeat("x", 65) + `":3}`,
		`{"ab":1,"ba":2,"aab":3,"axb":4,"ayb":5}`, deep(9_999), deep(10_000), deep(10_001), strings.Repeat(`{"a":`, 10_001),
	}
}

func TestObjectsAreThoseOfTheAPIServersDecoder(t *testing.T) {
	decoder := &jsonvalue.Decoder{}
	for _, text := range cases() {
		agree(t, decoder, []byte(text))
	}
}

// TestGeneratedTextsAreDecodedAlike writes JSON, and changes a byte of it.
func TestGeneratedTextsAreDecodedAlike(t *testing.T) {
	decoder := &jsonvalue.Decoder{}
	rapid.Check(t, func(rt *rapid.T) {
		text := []byte(written(rt, 4))
		agree(rt, decoder, text)
		if len(text) > 0 {
			at := rapid.IntRange(0, len(text)-1).Draw(rt, "at")
			text[at] = rapid.SampledFrom([]byte("{}[]\",:\\ue01-.tn \x00\xc3\xa9")).Draw(rt, "byte")
			agree(rt, decoder, text)
			agree(rt, decoder, text[:at])
		}
	})
}

func written(rt *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(rt, "space")
	var parts []string
	kind := rapid.IntRange(0, 7).Draw(rt, "kind")
	if depth == 0 {
		kind %= 5
	}
	if depth == 4 {
		kind = 7
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(rt, "literal")
	case 1:
		return fmt.Sprint(rapid.Int64().Draw(rt, "int"))
	case 2:
		f := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(rt, "float")
		return fmt.Sprintf(rapid.SampledFrom([]string{"%g", "%f", "%e", "%.1f"}).Draw(rt, "form"), f)
	case 3, 4:
		return quoted(rt)
	case 5:
		for range rapid.IntRange(0, 4).Draw(rt, "elements") {
			parts = append(parts, space+written(rt, depth-1))
		}
		return "[" + strings.Join(parts, space+",") + space + "]"
	default:
		for range rapid.IntRange(0, 10).Draw(rt, "fields") {
			parts = append(parts, space+quoted(rt)+space+":"+space+written(rt, depth-1))
		}
		return space + "{" + strings.Join(parts, ",") + space + "}"
	}
}

func quoted(rt *rapid.T) string {
	var b strings.Builder
	for range rapid.IntRange(0, 4).Draw(rt, "length") {
		b.WriteString(rapid.SampledFrom([]string{"a", "b", "name", "é", "😀", `\n`, `\"`, `\\`, `\u0061`, `\ud83d`, `\ude00`, "\xff",
			`\/`, "\x7f"}).Draw(rt, "piece"))
	}
	return `"` + b.String() + `"`
}

func FuzzObject(f *testing.F) {
	for _, text := range cases() {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	decoder := &jsonvalue.Decoder{}
	f.Fuzz(func(t *testing.T, text []byte) { agree(t, decoder, text) })
}

func TestErrorsNameThePlace(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,}`:         `it has '}' at byte 7 where a field's name must stand`,
		`{"a":[1 2]}`:      `it has '2' at byte 8 where a comma or ']' must stand`,
		`{"a":`:            `it ends at byte 5 where a value must stand`,
		`{"a":"x`:          `it ends at byte 7 where a quote must stand`,
		`{"a":nope}`:       `it has 'n' at byte 5 where null must stand`,
		"{\"a\":\"\x01\"}": `it has the control character '\x01' at byte 6, which must be written as an escape`,
		`{} {}`:            `it has '{' at byte 3 where the end must stand`,
		`{"a":1e999}`:      `it has a number that is too large for 64 bits: 1e999`,
	} {
		if _, err := new(jsonvalue.Decoder).Object([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := new(jsonvalue.Decoder).Object([]byte(`[]`)); !errors.Is(err, jsonvalue.ErrNoObject) {
		t.Errorf("a list: %v", err)
	}
}

// TestWhatIsDecodedIsItsOwn: neither the text nor a later one changes it.
func TestWhatIsDecodedIsItsOwn(t *testing.T) {
	text := []byte(`{"name":"first","list":["x",{"name":"y"}]}`)
	decoder := &jsonvalue.Decoder{}
	first, err := decoder.Object(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		text[i] = 'z'
	}
	for range 100 {
		if _, err := decoder.Object([]byte(`{"nope":"other!","lost":["1",{"nope":"2"}]}`)); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := json.Marshal(first); string(got) != `{"list":["x",{"name":"y"}],"name":"first"}` { //nolint:errchkjson // it was JSON
		t.Errorf("it has become %s", got)
	}
}
