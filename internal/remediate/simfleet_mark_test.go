// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// markTheirs is the mark that a person has put in the place of ours.
const markTheirs = "somebody"

// markBefore is the mark of an object of the simulated cluster before anything is written:
// every other one has that of an earlier plan.
func markBefore(i int) string { return []string{"", "an-earlier-plan"}[i%2] }

// endOfMark: the object names the plan that has fixed it, and after an undo what it named
// before; what somebody has made of it is kept, and keeps nothing from being undone.
func (r *rules) endOfMark(i int, obj *simObject, rec v1alpha1.TargetRecord) error {
	want := markBefore(i)
	switch {
	case obj.Remarked && obj.fixes > 0:
		want = markTheirs
	case obj.fixes > obj.undoes && obj.fixes > 0:
		want = r.sim.rem.Name
	}
	if obj.mark != want {
		return fmt.Errorf("%s is %s, was written %d times and undone %d times, and is marked %q: want %q",
			obj.ref.String(), rec.State, obj.fixes, obj.undoes, obj.mark, want)
	}
	return nil
}
