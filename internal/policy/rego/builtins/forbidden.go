// SPDX-License-Identifier: Apache-2.0

package builtins

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Forbidden says why a policy may not call a built-in; empty when it may. What is
// refused is whatever leaves the process, gives another answer another time, or
// can't be stopped at the time limit. time.now_ns stays: it returns the time of
// the request.
func Forbidden(b *ast.Builtin) string {
	const (
		leaves    = "it leaves the process, and a verdict must depend on the object and the parameters alone"
		random    = "its result is different each time, and the same object must always get the same verdict"
		unbounded = "it can't be stopped at the time limit"
	)
	switch b.Name {
	case ast.NowNanos.Name:
		return ""
	case ast.JWTDecodeVerify.Name:
		// OPA counts it as non-deterministic for the time alone, which is given.
		return ""
	case ast.HTTPSend.Name, ast.OPARuntime.Name, ast.NetLookupIPAddr.Name:
		return leaves
	case ast.JSONSchemaVerify.Name, ast.JSONMatchSchema.Name:
		return "a schema can refer to another host, so " + leaves
	case ast.NetCIDRExpand.Name, ast.NetCIDRContainsMatches.Name, ast.NetCIDRMerge.Name:
		return unbounded + "; use net.cidr_contains or net.cidr_intersects instead"
	case ast.BitsShiftLeft.Name, ast.ReachablePathsBuiltin.Name, ast.RegoParseModule.Name, ast.RenderTemplate.Name:
		return unbounded
	case ast.GlobMatch.Name:
		// gobwas/glob backtracks: a dozen wildcards run for ever on sixty letters.
		return unbounded + "; use regex.match, startswith or endswith instead"
	}
	switch {
	case b.Name == ast.GlobsMatch.Name:
		return unbounded + ": it tries all ways to match two patterns with one another"
	case strings.HasPrefix(b.Name, "graphql."):
		return unbounded
	case b.IsNondeterministic():
		return random
	}
	return ""
}

// Permitted are OPA's capabilities without the forbidden built-ins and without
// any host to reach.
func Permitted() *ast.Capabilities {
	all := ast.CapabilitiesForThisVersion()
	kept := make([]*ast.Builtin, 0, len(all.Builtins))
	for _, b := range all.Builtins {
		if Forbidden(b) == "" {
			kept = append(kept, b)
		}
	}
	all.Builtins = kept
	all.AllowNet = []string{}
	// Bodies within `not`, `and` and `or` are none that copies are counted in.
	all.FutureKeywords = []string{"contains", "every", "if", "in"}
	return all
}
