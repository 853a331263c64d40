// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// Request asks for a verdict on the subject as it is.
func (s *Subject) Request(now time.Time) *policy.Request { return s.requestOf(s.Object, now) }

// requestOf asks for a verdict on the subject as object. What is written in a file is judged itself, whatever
// controller it names: anybody may write that.
func (s *Subject) requestOf(object map[string]any, now time.Time) *policy.Request {
	r := policy.NewAudit(object, s.Namespace, now)
	r.Beside, r.Itself = s.Beside, s.Document != nil
	return r
}

// answer is what a policy found of an object of manifests: violations, or else warnings only.
type answer struct {
	policy   string
	object   [4]string
	violated bool
}

// onceAtOwners takes out of the results on manifests those that their owner's answer for, so that one mistake is found
// once: the controller that the object names is among the manifests, and violates the same policy itself. One that is
// clean, isn't matched or can't be judged answers for nothing.
func onceAtOwners(results []Result) []Result {
	found := map[answer]bool{}
	for i := range results {
		if r := &results[i]; r.Document != nil && len(r.Violations)+len(r.Warnings) > 0 {
			found[answer{r.Policy.Name, r.identity(), len(r.Violations) > 0}] = true
		}
	}
	return slices.DeleteFunc(results, func(r Result) bool {
		if r.Document == nil || r.Err != nil && !r.FixFailed || !match.JudgedAtOwner(r.Policy, r.Object) {
			return false
		}
		owner, _ := match.ControllerOf(r.Object)
		kind := owner.GroupKind()
		at := [4]string{kind.Group, kind.Kind, text(r.Object, "metadata", "namespace"), owner.Name}
		return owner.Name != "" && (found[answer{r.Policy.Name, at, true}] ||
			len(r.Violations) == 0 && found[answer{r.Policy.Name, at, false}])
	})
}
