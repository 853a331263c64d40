// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Censored stands in the place of a value that mustn't be told.
const Censored = "[censored]"

// lastApplied is where kubectl apply keeps a copy of the object, values and all.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// minSecretBytes is the length from which a value is looked for within other
// text; a shorter one is in every text.
const minSecretBytes = 4

// IsSecret says whether an object is a Secret, whose values mustn't be told.
func IsSecret(object map[string]any) bool {
	return kindOf(object) == GroupVersionKind{Version: "v1", Kind: "Secret"}
}

// SecretPlace says whether a JSON Pointer leads to where a Secret holds values.
func SecretPlace(pointer string) bool {
	for _, place := range []string{
		"/data", "/stringData", "/metadata/annotations/" + strings.ReplaceAll(lastApplied, "/", "~1")} {
		if pointer == place || strings.HasPrefix(pointer, place+"/") {
			return true
		}
	}
	return false
}

// Secrets are the values of some Secrets, in every form in which they may turn up.
type Secrets []string

// SecretsOf collects the values of the objects that are Secrets: as they are
// stored, as they were decoded, and those of kubectl's copy.
func SecretsOf(objects ...map[string]any) Secrets {
	found := map[string]bool{}
	for _, object := range objects {
		if !IsSecret(object) {
			continue
		}
		collect(object, found)
		if meta, ok := object["metadata"].(map[string]any); ok {
			annotations, _ := meta["annotations"].(map[string]any)
			text, _ := annotations[lastApplied].(string)
			var copied map[string]any
			reader := json.NewDecoder(strings.NewReader(text))
			reader.UseNumber() // a float64 doesn't hold every digit
			if reader.Decode(&copied) == nil {
				collect(copied, found)
			}
		}
	}
	// The longest first: another value may be a part of it.
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
}

func collect(object map[string]any, found map[string]bool) {
	for _, field := range []string{"data", "stringData"} {
		for _, text := range textsIn(object[field]) {
			forms := []string{text, strings.TrimSpace(text)}
			if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && field == "data" {
				forms = append(forms, string(decoded), strings.TrimSpace(string(decoded)))
			}
			for _, form := range forms {
				if form != "" {
					found[form] = true
				}
			}
		}
	}
}

// textsIn are the strings and numbers of a JSON value, at any depth: a manifest may hold what no API server takes.
// true, false and null tell nobody anything, and are words of too many texts to be taken out of them.
func textsIn(value any) (texts []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, element := range v {
			texts = append(texts, textsIn(element)...)
		}
	case map[string]any:
		for _, element := range v {
			texts = append(texts, textsIn(element)...)
		}
	default:
		return numberTexts(value)
	}
	return texts
}

// numberTexts are the forms in which a number is written, the usual one first; none of what isn't a number.
func numberTexts(value any) []string {
	switch v := value.(type) {
	case int, int64, uint64, json.Number:
		return []string{fmt.Sprint(v)}
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64), fmt.Sprint(v)}
	}
	return nil
}

// Redact takes the values out of a text. One of fewer than four bytes is taken
// out only where it is the whole text.
func (s Secrets) Redact(text string) string {
	for _, value := range s {
		switch {
		case text == value:
			return Censored
		case len(value) >= minSecretBytes:
			text = strings.ReplaceAll(text, value, Censored)
		}
	}
	return text
}

// In says whether any part of a JSON value tells one of the values.
func (s Secrets) In(value any) bool {
	switch v := value.(type) {
	case string:
		return s.Redact(v) != v
	case []any:
		return slices.ContainsFunc(v, s.In)
	case map[string]any:
		for key, element := range v {
			if s.In(key) || s.In(element) {
				return true
			}
		}
	default:
		return slices.ContainsFunc(numberTexts(value), func(text string) bool { return s.Redact(text) != text })
	}
	return false
}

// redactTree takes the values out of a JSON value; it changes a copy.
func (s Secrets) redactTree(value any) any {
	switch v := value.(type) {
	case string:
		return s.Redact(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.redactTree(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, element := range v {
			out[s.Redact(key)] = s.redactTree(element)
		}
		return out
	}
	for _, text := range numberTexts(value) {
		if redacted := s.Redact(text); redacted != text {
			return redacted
		}
	}
	return value
}

// Censor takes the values of a Secret out of all that people get to read of the
// decision on it: messages, details and the errors. Its actions are as they were.
func (d Decision) Censor(r *Request) Decision {
	secrets := SecretsOf(r.Object, r.OldObject)
	if len(secrets) == 0 {
		return d
	}
	d.Violations, d.Warnings = secrets.redactAll(d.Violations), secrets.redactAll(d.Warnings)
	d.Err, d.FixErr = secrets.redactError(d.Err), secrets.redactError(d.FixErr)
	d.Trace = secrets.Redact(d.Trace)
	return d
}

func (s Secrets) redactError(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); s.Redact(text) != text {
		return errors.New(s.Redact(text))
	}
	return err
}

func (s Secrets) redactAll(list []Violation) []Violation {
	out := slices.Clone(list)
	for i, v := range out {
		out[i] = Violation{Message: s.Redact(v.Message), Path: s.Redact(v.Path), Details: s.redactTree(v.Details)}
	}
	return out
}

// CensorPair writes two states of a Secret so that they can be shown side by
// side: which values differ is told, the values aren't. Other objects are
// returned as they are; neither is changed.
func CensorPair(before, after map[string]any) (censoredBefore, censoredAfter map[string]any) {
	if !IsSecret(before) && !IsSecret(after) {
		return before, after
	}
	secrets := SecretsOf(before, after)
	return censorObject(before, nil, secrets), censorObject(after, before, secrets)
}

func censorObject(object, earlier map[string]any, secrets Secrets) map[string]any {
	out := maps.Clone(object)
	for _, field := range []string{"data", "stringData"} {
		values, ok := object[field].(map[string]any)
		if !ok {
			delete(out, field)
			continue
		}
		was, _ := earlier[field].(map[string]any)
		told := make(map[string]any, len(values))
		for key, value := range values {
			told[key] = Censored
			if earlier != nil && !reflect.DeepEqual(was[key], value) { // either may be a map, which != panics on
				told[key] = "[censored, as the fix sets it]"
			}
		}
		out[field] = told
	}
	if meta, ok := object["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		if annotations, ok := meta["annotations"].(map[string]any); ok {
			annotations = maps.Clone(annotations)
			if _, applied := annotations[lastApplied]; applied {
				annotations[lastApplied] = Censored
			}
			meta["annotations"] = annotations
		}
		out["metadata"] = secrets.redactTree(meta)
	}
	return out
}
