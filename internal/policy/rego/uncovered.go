// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/prose"
)

// uncovered is an error where rules look kinds up by name that match.references doesn't name, beside others that it
// does: there never would be any, and a rule that misses nothing would never deny.
func (c *Compiled) uncovered(references []v1alpha1.ReferencedKind) error {
	if len(references) == 0 {
		return nil // a template, or nothing is looked up
	}
	kinds := slices.DeleteFunc(c.lookups.Kinds(), func(kind policy.GroupVersionKind) bool {
		return slices.ContainsFunc(references, func(r v1alpha1.ReferencedKind) bool { return covers(&r, kind) })
	})
	if len(kinds) == 0 {
		return nil
	}
	places := facts.LookupsAt(c.compiler, inventory.Root)
	var problems []compile.Problem
	for _, kind := range kinds {
		version := kind.Version
		if kind.Group != "" {
			version = kind.Group + "/" + version
		}
		message := fmt.Sprintf("the rules look %s of %s up, which match.references doesn't name, so that there "+
			"never is any: name it there", prose.Shorten(kind.Kind, compile.MostOfName),
			prose.Shorten(version, compile.MostOfName))
		problem := compile.At(places[kind], "", message)
		if problem.File == "" && c.lookedUp != nil {
			problem = *c.lookedUp
			problem.Message = message
		}
		problems = append(problems, problem)
	}
	return compile.ErrorOf(problems)
}

func covers(r *v1alpha1.ReferencedKind, kind policy.GroupVersionKind) bool {
	return r.APIGroup == kind.Group && r.Kind == kind.Kind && (r.Version == "" || r.Version == kind.Version)
}
