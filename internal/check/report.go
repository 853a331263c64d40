// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// Result is what one policy says of one object. Those that say nothing aren't kept.
type Result struct {
	Subject
	// Policy is shared: read it only.
	Policy *v1alpha1.ClusterRegoPolicy
	// Revision is the one that judged.
	Revision string
	// Violations follow the policy's enforcement action, Warnings only ever warn.
	// Values of a Secret are censored in both.
	Violations, Warnings []policy.Violation
	// Waived is the waiver under which the violations don't count; nil while
	// they do.
	Waived *catalog.Waiver
	// Actions are the policy's proposal. They may tell values of a Secret.
	Actions []policy.Action
	// Err is set when the policy couldn't judge the object to its end, or its fix
	// failed. What was found all the same is in the lists.
	Err error
	// FixFailed says that Err is of the fix alone: the object was judged.
	FixFailed bool
	// Fix is the change that resolves the object, as a unified diff of its YAML; empty
	// when it wasn't asked for, or nothing proved to work. Values of a Secret are
	// censored.
	Fix string
	// Fixed is the object as that change leaves it; nil where Fix is empty or removes the object, and
	// of a live object.
	Fixed map[string]any
	// Edits make that change in the file, once they were asked for: package fix.
	Edits []Edit
	// NoFix says why there is none, when it was asked for.
	NoFix string

	lines map[string]int
}

// Edit replaces a part of a file, up to End, which it doesn't take in.
type Edit struct {
	Start, End Position
	Text       string
}

// Position is a place in a file: its line and the column in it, in UTF-16 code units as SARIF has it, both from 1.
type Position struct{ Line, Column int }

// LineAt is the line of the field that a JSON Pointer into the object leads to; 0
// for a live object.
func (r *Result) LineAt(pointer string) int {
	if line, known := r.lines[pointer]; known {
		return line
	}
	return r.Line
}

// identity is what the object is called by: group, kind, namespace and name.
func (r *Result) identity() [4]string {
	kind := kindOf(r.Object)
	name := text(r.Object, "metadata", "name")
	return [4]string{kind.Group, kind.Kind, text(r.Object, "metadata", "namespace"), name}
}

// Counts says that the violations are neither waived nor only recorded.
func (r *Result) Counts() bool {
	return len(r.Violations) > 0 && r.Waived == nil && r.Policy.Spec.Admission.Action != v1alpha1.AdmissionAudit
}

// Report is what the policies say of all objects.
type Report struct {
	// Objects counts those judged, Unconcerned those of them that no policy
	// concerns.
	Objects, Unconcerned int
	// Policies counts the policies that were asked.
	Policies int
	// Incomplete says, in a sentence each, what should have been judged and couldn't
	// be read: the report is silent about it, and silence is no pass.
	Incomplete []string
	// Results are sorted: by file and line, then by kind, namespace and name, then
	// by policy.
	Results []Result
	// Clean are those of the policies that found nothing, in the same order; only
	// when they were asked for.
	Clean []Result
}

// Summary counts what a report holds.
type Summary struct {
	// Violations counts those that aren't waived, BySeverity and ByAction the same
	// by the policy's severity and enforcement action.
	Violations int
	BySeverity map[v1alpha1.Severity]int
	ByAction   map[v1alpha1.AdmissionAction]int
	// Warnings counts what warn rules say, Waived the violations under an
	// waiver, Errors the objects that a policy couldn't judge.
	Warnings, Waived, Errors int
}

// Summary counts what the report holds.
func (r *Report) Summary() Summary {
	s := Summary{BySeverity: map[v1alpha1.Severity]int{}, ByAction: map[v1alpha1.AdmissionAction]int{}}
	for i := range r.Results {
		result := &r.Results[i]
		s.Warnings += len(result.Warnings)
		if result.Err != nil {
			s.Errors++
		}
		if n := len(result.Violations); result.Waived != nil {
			s.Waived += n
		} else if n > 0 {
			s.Violations += n
			s.BySeverity[result.Policy.Spec.Severity] += n
			s.ByAction[result.Policy.Spec.Admission.Action] += n
		}
	}
	return s
}

// Sort puts results in the order of a report.
func Sort(results []Result) {
	slices.SortFunc(results, func(a, b Result) int {
		if order := cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)); order != 0 {
			return order
		}
		x, y := a.identity(), b.identity()
		return cmp.Or(slices.Compare(x[:], y[:]), strings.Compare(a.Policy.Name, b.Policy.Name))
	})
}
