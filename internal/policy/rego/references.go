// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/prose"
)

// References are the other objects that the policy's rules may look up, with what of them is kept. They
// are shared: read them only.
func (c *Compiled) References() []inventory.Reference { return c.references }

// referencesOf reads match.references. Rules that look objects up where none are referred to would
// never deny.
func (c *Compiled) referencesOf(p *v1alpha1.ClusterRegoPolicy) ([]inventory.Reference, error) {
	named := p.Spec.Match.References
	bare := len(p.Spec.Match.Kinds) == 0 // a template: the policies that name it have the match
	if c.lookedUp != nil && len(named) == 0 && !bare {
		at := *c.lookedUp
		at.Message = "the rules look other objects up in " + c.lookedUp.Message + ", and match.references names " +
			"none, so that there never are any: name their kinds there"
		return nil, &compile.Error{Problems: []compile.Problem{at}}
	}
	root := c.compiler.RuleTree.Child(ast.DefaultRootDocument.Value)
	if len(named) > 0 && root.Child(ast.String(inventory.Root)) != nil {
		return nil, &compile.Error{Problems: []compile.Problem{{Message: "a package is named " + inventory.Root +
			", under which the objects of match.references stand: give it another name"}}}
	}
	out := make([]inventory.Reference, 0, len(named))
	for i := range named {
		fields, _ := c.lookups.Fields(named[i].APIGroup, named[i].Kind)
		r, err := inventory.ReferenceOf(&named[i], fields)
		if err == nil {
			r.Version, err = c.versionOf(&named[i], named)
		}
		if err != nil {
			return nil, &compile.Error{Problems: []compile.Problem{{Message: "spec.match.references: " + err.Error()}}}
		}
		out = append(out, r)
	}
	return out, nil
}

// versionOf is the version of one reference among all of a policy: where it names none, the one that the rules name. In
// a version that no reference is of, there would never be any object.
func (c *Compiled) versionOf(r *v1alpha1.ReferencedKind, among []v1alpha1.ReferencedKind) (string, error) {
	open := false
	var covered []string
	for i := range among {
		if among[i].APIGroup != r.APIGroup || among[i].Kind != r.Kind {
			continue
		}
		open = open || among[i].Version == ""
		covered = append(covered, among[i].Version)
	}
	missing := slices.DeleteFunc(c.lookups.Versions(r.APIGroup, r.Kind), func(version string) bool {
		return slices.Contains(covered, version)
	})
	switch {
	case len(missing) == 0 || len(missing) == 1 && open && r.Version != "":
		return r.Version, nil
	case len(missing) == 1 && open:
		return missing[0], nil
	}
	return "", fmt.Errorf("the rules look %s up in %s, in which no object would ever be seen, since none of its "+
		"entries is of that version: name one version in the rules and in the entry, or add an entry for each", r.Kind,
		someOf(missing))
}

// mostVersions is how many versions a message names.
const mostVersions = 10

// someOf are the first of some versions, and how many others there are.
func someOf(versions []string) string {
	var shown []string
	for _, version := range versions[:min(len(versions), mostVersions)] {
		shown = append(shown, prose.Shorten(version, compile.MostOfName))
	}
	if more := len(versions) - len(shown); more > 0 {
		shown = append(shown, prose.Count(more, "other"))
	}
	return strings.Join(shown, " and ")
}
