// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// TestAWriteMeetsWritesOfTheStatusAndNoOthers: Gatekeeper writes the status of a constraint at each audit, which is no
// reason to give up; a person's change is.
func TestAWriteMeetsWritesOfTheStatusAndNoOthers(t *testing.T) {
	cases := map[string]struct {
		conflicts int // how many patches find the status written meanwhile
		change    func(*metav1.ObjectMeta)
		meanwhile bool // the change comes with the conflict
		fails     error
		want      string
	}{
		"alone":                        {},
		"the status is written once":   {conflicts: 1},
		"the status is written always": {conflicts: 100, want: "change constraint a"},
		"the spec is changed":          {change: func(m *metav1.ObjectMeta) { m.Generation++ }, want: "somebody else"},
		"it is another object":         {change: func(m *metav1.ObjectMeta) { m.UID = "u2" }, want: "somebody else"},
		"the spec is changed " +
			"meanwhile": {conflicts: 1, meanwhile: true, change: func(m *metav1.ObjectMeta) {
			m.Generation++
		}, want: "somebody else"},
		"it is switched by somebody else": {change: func(m *metav1.ObjectMeta) {
			m.Annotations = map[string]string{v1alpha1.AnnotationEnforcementAction: ""}
		}, want: "somebody else"},
		"another annotation is set": {change: func(m *metav1.ObjectMeta) {
			m.Annotations = map[string]string{"team": "x"}
		}},
		"it may not be written": {fails: errors.New("forbidden"), want: "forbidden"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			was := &metav1.ObjectMeta{UID: "u1", Generation: 3, ResourceVersion: "1"}
			now := was.DeepCopy()
			if tc.change != nil && !tc.meanwhile {
				tc.change(now)
			}
			version, patched := 1, false
			read := func() (metav1.Object, error) {
				now.ResourceVersion = fmt.Sprint(version)
				return now.DeepCopy(), nil
			}
			err := write("constraint a", was, read, func(guard map[string]any) error {
				if version <= tc.conflicts {
					if version++; tc.meanwhile {
						tc.change(now)
					}
					return apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("modified"))
				}
				patched = tc.fails == nil
				if guard["resourceVersion"] != fmt.Sprint(version) || guard["uid"] != "u1" {
					t.Errorf("the patch is guarded by %v", guard)
				}
				return tc.fails
			})
			if tc.want == "" && (err != nil || !patched) {
				t.Errorf("it ended as %v, patched %t", err, patched)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || patched) {
				t.Errorf("it ended as %v, patched %t, want %q", err, patched, tc.want)
			}
		})
	}
}
