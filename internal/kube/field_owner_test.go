// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ownedBy asks for the first of an object's entries.
func ownedBy(object map[string]any, place []string, entries ...metav1.ManagedFieldsEntry) bool {
	return FieldOwnersOf(object, entries).AnyOwns(place, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == entries[0].Manager
	})
}

func TestOwns(t *testing.T) {
	const set = `{"f:data": {".": {}, "f:x": {}}, "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:image": {}},
		"k:{\"port\":80}": {"f:image": {}}}, "f:args": {}, "f:names": {"v:\"n\"": {}}, "f:rows": {"i:1": {}}}}`
	object := map[string]any{"data": map[string]any{"x": "1", "y": "2"}, "spec": map[string]any{
		"containers": []any{map[string]any{"name": "b", "port": int64(8080), "image": "i"},
			map[string]any{"name": "c", "port": int64(8080), "image": "i"},
			map[string]any{"name": "d", "port": int64(80), "image": "i"}},
		"args": []any{"a"}, "names": []any{"m", "n"}, "rows": []any{"r", "s"}}}
	cases := map[string]struct {
		place []string
		want  bool
	}{
		"a field that was set":                        {[]string{"data", "x"}, true},
		"one beside it":                               {[]string{"data", "y"}, false},
		"what holds a field that was set":             {[]string{"data"}, true},
		"what lies in a field that is set as a whole": {[]string{"spec", "args", "0"}, true},
		"an element's field, by its name":             {[]string{"spec", "containers", "1", "image"}, true},
		"another field of it":                         {[]string{"spec", "containers", "1", "port"}, false},
		"another element":                             {[]string{"spec", "containers", "0", "image"}, false},
		"an element by a number":                      {[]string{"spec", "containers", "2", "image"}, true},
		"an element of a set, by its value":           {[]string{"spec", "names", "1"}, true},
		"another one":                                 {[]string{"spec", "names", "0"}, false},
		"an element by its index":                     {[]string{"spec", "rows", "1"}, true},
		"an element that isn't there":                 {[]string{"spec", "rows", "7"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			entry := metav1.ManagedFieldsEntry{FieldsV1: metav1.NewFieldsV1(set)}
			if got := ownedBy(object, tc.place, entry); got != tc.want {
				t.Error(got)
			}
		})
	}
	for name, unread := range map[string]*metav1.FieldsV1{"no set": nil, "not JSON": metav1.NewFieldsV1("{")} {
		entry := metav1.ManagedFieldsEntry{FieldsV1: unread}
		if !ownedBy(object, []string{"data", "y"}, entry) {
			t.Errorf("%s owns nothing", name)
		}
	}
}

// TestAnEmptySetIsWholeUnlessOthersNameAPart: whoever made a map and has lost all its keys to
// others keeps an entry that reads like one of a field that is set as a whole.
func TestAnEmptySetIsWholeUnlessOthersNameAPart(t *testing.T) {
	object := map[string]any{"data": map[string]any{"x": "1", "y": "2"}}
	creator := metav1.ManagedFieldsEntry{Manager: "creator", FieldsV1: metav1.NewFieldsV1(`{"f:data": {}}`)}
	cases := map[string]struct {
		other string
		want  bool
	}{
		"nobody else holds a part":        {`{"f:metadata": {"f:labels": {"f:l": {}}}}`, true},
		"another holds it as a whole too": {`{"f:data": {}}`, true},
		"another holds a part":            {`{"f:data": {"f:x": {}}}`, false},
		"another holds the map only":      {`{"f:data": {".": {}}}`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := metav1.ManagedFieldsEntry{Manager: "other", FieldsV1: metav1.NewFieldsV1(tc.other)}
			if got := ownedBy(object, []string{"data", "y"}, creator, other); got != tc.want {
				t.Error(got)
			}
		})
	}
}
