// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"testing"

	"evenkeel.dev/evenkeel/internal/action"
)

func TestCollide(t *testing.T) {
	field := func(path string, had bool) []action.Field {
		return []action.Field{{Path: path, HasBefore: had, HasAfter: true}}
	}
	cases := map[string]struct {
		reason string
		a, b   []action.Field
		want   bool
	}{
		"Different places go together": {reason: "each is undone alone", a: field("/data/a", true),
			b: field("/data/b", true)},
		"One place can't": {reason: "who is right?", a: field("/data/a", true),
			b: field("/data/a", true), want: true},
		"A place within the other can't": {reason: "undoing the outer takes the inner along",
			a: field("/metadata/labels", false), b: field("/metadata/labels/team", false), want: true},
		"The other way round neither": {
			reason: "the same", a: field("/metadata/labels/team", false), b: field("/metadata/labels", false),
			want: true},
		"A name that begins like the other is another": {reason: "it is no part of it", a: field("/data/a", true),
			b: field("/data/ab", true)},
		"Two new elements of a list can't": {
			reason: "undoing the first moves the second", a: field("/spec/tolerations/1", false),
			b: field("/spec/tolerations/2", false), want: true},
		"A new element and a change of another can": {
			reason: "the element keeps its place", a: field("/spec/containers/1", false),
			b: field("/spec/containers/0/image", true)},
		"New keys that are numbers of different maps can": {
			reason: "they aren't in one list", a: field("/data/1", false), b: field("/metadata/labels/2", false)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := action.Collide(tc.a, tc.b); got != tc.want {
				t.Errorf("%s\nCollide: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
