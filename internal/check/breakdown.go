// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Share is a part of what was found: that of a namespace, an owner or a policy.
type Share struct {
	// Name is the namespace's, the owner's or the policy's; empty for objects of
	// cluster scope, and for policies without an owner.
	Name string
	// Worst is the highest severity among the policies violated.
	Worst v1alpha1.Severity
	// Objects counts the objects that violate a policy, Violations what they
	// violate, and Policies by how many policies. Waived violations don't count.
	Objects, Violations, Policies int
}

// Breakdown says where the violations are, and whose. Each list has the worst
// first: by severity, then by the number of violations, then by name.
type Breakdown struct {
	Severities, Namespaces, Owners, Policies []Share
}

// Breakdown counts the violations that aren't waived.
func (r *Report) Breakdown() Breakdown {
	return Breakdown{
		Severities: r.shares(func(res *Result) string { return string(res.Policy.Spec.Severity) }),
		Namespaces: r.shares(func(res *Result) string { return text(res.Object, "metadata", "namespace") }),
		Owners:     r.shares(func(res *Result) string { return res.Policy.Spec.Owner }),
		Policies:   r.shares(func(res *Result) string { return res.Policy.Name }),
	}
}

// shares counts the violations by what key says of them.
func (r *Report) shares(key func(*Result) string) []Share {
	type counted struct {
		Share
		objects  map[[4]string]bool
		policies map[string]bool
	}
	byName := map[string]*counted{}
	for i := range r.Results {
		res := &r.Results[i]
		if res.Waived != nil || len(res.Violations) == 0 {
			continue
		}
		name := key(res)
		c := byName[name]
		if c == nil {
			c = &counted{Share: Share{Name: name, Worst: res.Policy.Spec.Severity}, objects: map[[4]string]bool{},
				policies: map[string]bool{}}
			byName[name] = c
		}
		c.Violations += len(res.Violations)
		c.objects[res.identity()], c.policies[res.Policy.Name] = true, true
		if severityRank(res.Policy.Spec.Severity) < severityRank(c.Worst) {
			c.Worst = res.Policy.Spec.Severity
		}
	}
	var out []Share
	for _, c := range byName {
		c.Objects, c.Policies = len(c.objects), len(c.policies)
		out = append(out, c.Share)
	}
	slices.SortFunc(out, func(a, b Share) int {
		return cmp.Or(cmp.Compare(severityRank(a.Worst), severityRank(b.Worst)),
			cmp.Compare(b.Violations, a.Violations), strings.Compare(a.Name, b.Name))
	})
	return out
}

// severityRank orders severities, the worst first; unknown ones come last.
func severityRank(s v1alpha1.Severity) int {
	order := []v1alpha1.Severity{v1alpha1.SeverityCritical, v1alpha1.SeverityHigh, v1alpha1.SeverityMedium,
		v1alpha1.SeverityLow}
	if rank := slices.Index(order, s); rank >= 0 {
		return rank
	}
	return len(order)
}

// WorstFirst are the results by object: objects that violate the most severe
// policies first, then those with the most violations, then in the order of the
// report. Objects whose violations are all waived aren't among them.
func (r *Report) WorstFirst() [][]Result {
	var objects [][]Result
	for start := 0; start < len(r.Results); {
		end := start + 1
		for end < len(r.Results) && r.Results[start].identity() == r.Results[end].identity() &&
			r.Results[start].Line == r.Results[end].Line {
			end++
		}
		if severity, n := weight(r.Results[start:end]); severity >= 0 || n > 0 {
			objects = append(objects, r.Results[start:end])
		}
		start = end
	}
	slices.SortStableFunc(objects, func(a, b []Result) int {
		worstA, violationsA := weight(a)
		worstB, violationsB := weight(b)
		return cmp.Or(cmp.Compare(worstA, worstB), cmp.Compare(violationsB, violationsA))
	})
	return objects
}

// weight is the worst severity among an object's results, and the number of
// violations. What couldn't be judged weighs most; without either it is -1 and 0.
func weight(results []Result) (worst, violations int) {
	worst = -1
	for i := range results {
		res := &results[i]
		switch {
		case res.Err != nil:
			return 0, len(results)
		case res.Waived != nil || len(res.Violations) == 0:
			continue
		}
		violations += len(res.Violations)
		if rank := severityRank(res.Policy.Spec.Severity); worst < 0 || rank < worst {
			worst = rank
		}
	}
	return worst, violations
}
