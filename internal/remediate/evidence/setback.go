// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// shownSetBack is how many fields are named that somebody set back, and shownPath how
	// much of each, in bytes.
	shownSetBack, shownPath = 3, 120
)

// source is what to do about it.
const source = ": fix the source that it takes the object from"

// SetBack says which fields of a write somebody else has set back, or to values of their
// own, and what to do: "set /spec/replicas back: fix the source".
func SetBack(w *v1alpha1.WriteRecord, live *unstructured.Unstructured) string {
	fields, err := action.FromRecordFields(w.Fields)
	if err != nil {
		return "set the fixed fields back" + source
	}
	var back, other []string
	ours := 0
	for i, now := range action.Observe(live.Object, fields) {
		f := fields[i]
		switch {
		case now.HasAfter == f.HasAfter && reflect.DeepEqual(now.After, f.After):
			ours++
		case now.HasAfter == f.HasBefore && reflect.DeepEqual(now.After, f.Before):
			back = append(back, f.Path)
		default:
			other = append(other, f.Path)
		}
	}
	var parts []string
	if len(back) > 0 {
		parts = append(parts, "set "+listed(back)+" back")
	}
	if len(other) > 0 {
		parts = append(parts, "changed "+listed(other))
	}
	text := strings.Join(parts, " and ") + source
	if ours > 0 {
		text += "; some of the fix's fields still hold our values, by the record"
	}
	return text
}

// listed names the first few of some paths.
func listed(paths []string) string {
	var shown []string
	for _, p := range paths[:min(len(paths), shownSetBack)] {
		shown = append(shown, prose.Shorten(p, shownPath))
	}
	text := strings.Join(shown, ", ")
	if more := len(paths) - shownSetBack; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
