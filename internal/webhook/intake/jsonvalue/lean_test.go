// SPDX-License-Identifier: Apache-2.0

package jsonvalue_test

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/webhook/intake/jsonvalue"
)

// sameWithout holds the object without its managed fields, and them, to the whole object.
func sameWithout(t interface {
	Helper()
	Errorf(format string, args ...any)
}, decoder *jsonvalue.Decoder, text []byte) (left bool) {
	t.Helper()
	want, wantErr := decoder.Object(text)
	got, rest, err := decoder.Lean(text)
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Errorf("%.300q: %v; the whole says %v", text, err, wantErr)
		return false
	}
	if err == nil && rest != nil {
		list, err := decoder.List(rest)
		metadata, isObject := got["metadata"].(map[string]any)
		if err != nil || !isObject {
			t.Errorf("%.300q: %.300q was left out: %v", text, rest, err)
			return false
		}
		metadata["managedFields"] = list
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%.300q: %#v\nthe whole is %#v", text, got, want)
	}
	return err == nil && rest != nil
}

func TestManagedFieldsAreLeftOut(t *testing.T) {
	decoder := &jsonvalue.Decoder{}
	for text, want := range map[string]bool{
		`{"metadata":{"name":"a","managedFields":[{"manager":"b"}],"uid":"c"},"spec":{"x":[1]}}`: true,
		`{"metadata":{"managedFields":[]}}`:                                                   true,
		`{"metad\u0061ta":{"managedField\u0073":[1, 2 ,"\"]"] }}`:                             true,
		`{"metadata":{"managedFields":null}}`:                                                 false,
		`{"metadata":{"managedFields":{"a":[1]}}}`:                                            false,
		`{"metadata":{"managedFields":"[]"}}`:                                                 false,
		`{"metadata":{"ManagedFields":[1]}}`:                                                  false,
		`{"Metadata":{"managedFields":[1]}}`:                                                  false,
		`{"metadata":[{"managedFields":[1]}]}`:                                                false,
		`{"metadata":[[1]],"managedFields":[1]}`:                                              false,
		`{"managedFields":[1],"spec":{"managedFields":[1],"metadata":{"managedFields":[1]}}}`: false,
		`{"metadata":{"annotations":{"managedFields":[1]}}}`:                                  false,
		`{"metadata":{"a":1},"spec":{"managedFields":[1]}}`:                                   false,
		`{"metadata":{"managedFields":[1],"managedFields":[2]}}`:                              true,
		`{"metadata":{"managedFields":[1],"managedFields":null}}`:                             false,
		`{"metadata":{"managedFields":null,"managedFields":[1]}}`:                             true,
		`{"metadata":{"managedFields":[1]},"metadata":{"name":"b"}}`:                          false,
		`{"metadata":{"name":"b"},"metadata":{"managedFields":[1]}}`:                          true,
		`{"metadata":{"managedFields":[1]},"metadata":null}`:                                  false,
		`{"metadata":{"managedFields":[1]},"metadata":[{"managedFields":[1]}]}`:               false,
	} {
		for range 2 { // the second time by memory that the first has left
			if got := sameWithout(t, decoder, []byte(text)); got != want {
				t.Errorf("%s: left out is %t", text, got)
			}
		}
	}
}

func TestWhatIsSkippedIsHeldToTheSameGrammar(t *testing.T) {
	decoder := &jsonvalue.Decoder{}
	for _, value := range cases() {
		sameWithout(t, decoder, []byte(value))
		sameWithout(t, decoder, []byte(`{"metadata":{"managedFields":[`+value+`]}}`))
		sameWithout(t, decoder, []byte(`{"metadata":{"managedFields":[1`+value))
	}
	for _, depth := range []int{9_997, 9_998, 9_999, 10_000} {
		sameWithout(t, decoder, []byte(`{"metadata":{"managedFields":`+strings.Repeat("[", depth)+
			strings.Repeat("]", depth)+`}}`))
	}
}

func TestGeneratedManagedFieldsAreLeftOut(t *testing.T) {
	decoder := &jsonvalue.Decoder{}
	rapid.Check(t, func(rt *rapid.T) {
		fields := func(names ...string) string {
			var parts []string
			for range rapid.IntRange(0, 4).Draw(rt, "fields") {
				parts = append(parts, `"`+rapid.SampledFrom(names).Draw(rt, "name")+`":`+written(rt, 3))
			}
			return strings.Join(parts, ",")
		}
		metadata := "{" + fields("name", "managedFields") + "}"
		text := []byte(`{"metadata":` + metadata + `,"spec":{}}`)
		if more := fields("metadata", "managedFields", "spec"); more != "" && rapid.Bool().Draw(rt, "more") {
			text = []byte("{" + more + `,"metadata":` + metadata + "}")
		}
		sameWithout(rt, decoder, text)
		at := rapid.IntRange(0, len(text)-1).Draw(rt, "at")
		text[at] = rapid.SampledFrom([]byte("{}[]\",:\\ue01-.tn \x00\xc3\xa9")).Draw(rt, "byte")
		sameWithout(rt, decoder, text)
		sameWithout(rt, decoder, text[:at])
	})
}

func TestAListIsDecodedAlone(t *testing.T) {
	decoder := &jsonvalue.Decoder{}
	for _, text := range []string{``, `{}`, `null`, `[1`, `[1]]`} {
		if list, err := decoder.List([]byte(text)); err == nil {
			t.Errorf("%q becomes %v", text, list)
		}
	}
}
