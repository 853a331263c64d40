// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// A plan whose records may hold whole objects has fewer targets in a slice, and in all.
func TestSlicesArePlannedByWhatTheirRecordsMayWeigh(t *testing.T) {
	for name, tc := range map[string]struct {
		verbs          []v1alpha1.ActionType
		most, capacity int
	}{
		"patches": {[]v1alpha1.ActionType{v1alpha1.ActionPatch, v1alpha1.ActionRestart}, v1alpha1.MaxTargetsPerSlice,
			v1alpha1.MaxTargets},
		"deletions": {[]v1alpha1.ActionType{v1alpha1.ActionPatch, v1alpha1.ActionDelete}, 20, 27000},
		"creations": {[]v1alpha1.ActionType{v1alpha1.ActionCreate}, 20, 27000},
	} {
		t.Run(name, func(t *testing.T) {
			d := testDraft(250, 0)
			d.rollout.AllowedActions = tc.verbs
			if got := d.capacity(); got != tc.capacity {
				t.Errorf("capacity %d, want %d", got, tc.capacity)
			}
			rem, parts, err := d.build()
			if err != nil {
				t.Fatal(err)
			}
			total := 0
			for i, part := range parts {
				total += len(part.Targets)
				if len(part.Targets) > tc.most || int(part.Index) != i || rem.Spec.Plan.Slices[i] != part.Name {
					t.Errorf("slice %d, %s, of index %d holds %d targets, want at most %d", i, part.Name, part.Index,
						len(part.Targets), tc.most)
				}
			}
			if total != 250 || len(parts[0].Targets) < tc.most*9/10 {
				t.Errorf("%d targets in %d slices, %d in the first", total, len(parts), len(parts[0].Targets))
			}
		})
	}
}
