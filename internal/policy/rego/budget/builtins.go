// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// allowed are the built-in functions that need no cap: what they make and take is at most in proportion to one operand,
// or they are stopped between results.
const allowed = `
	all any assign cast_boolean cast_null cast_object cast_string contains count endswith eq
	is_array is_boolean is_null is_number is_object is_set is_string print startswith substring trace
	trim_prefix trim_space trim_suffix type_name walk
	internal.print internal.test_case
	base64.is_valid graph.reachable object.get
	crypto.hmac.equal crypto.hmac.md5 crypto.hmac.sha1 crypto.hmac.sha256 crypto.hmac.sha512
	crypto.md5 crypto.sha1 crypto.sha256
	net.cidr_contains net.cidr_intersects net.cidr_is_valid net.cidr_overlap
	rego.metadata.chain rego.metadata.rule semver.compare semver.is_valid
	strings.any_prefix_match strings.any_suffix_match strings.count
	time.add_date time.clock time.date time.diff time.now_ns time.parse_duration_ns time.parse_ns time.parse_rfc3339_ns
	time.weekday uri.is_valid uri.parse uuid.parse`

// Refusals says why policies may not call a built-in function, by its name. Those that leave the process, give another
// result another time, or can't be stopped are refused, and all that aren't allowed or capped by name.
func Refusals() map[string]string {
	reviewed := caps()
	for _, name := range strings.Fields(allowed) {
		reviewed[name] = limit{}
	}
	out := map[string]string{}
	for _, b := range ast.Builtins {
		if _, found := reviewed[b.Name]; !found {
			out[b.Name] = refused(b)
		}
	}
	return out
}

func refused(b *ast.Builtin) string {
	const (
		leaves    = "it leaves the process, and a verdict must depend on the object and the parameters alone"
		random    = "its result is different each time, and the same object must always get the same verdict"
		unbounded = "it can't be stopped at the time limit"
	)
	switch b.Name {
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
	case ast.GlobsMatch.Name:
		return unbounded + ": it tries all ways to match two patterns with one another"
	}
	switch {
	case strings.HasPrefix(b.Name, "graphql."):
		return unbounded
	case b.IsNondeterministic():
		return random
	}
	return "it isn't among the functions that policies may call"
}

// Permitted are OPA's capabilities with the functions that policies may call, and without any host to reach.
func Permitted() *ast.Capabilities {
	all := ast.CapabilitiesForThisVersion()
	refusals := Refusals()
	all.Builtins = slices.DeleteFunc(all.Builtins, func(b *ast.Builtin) bool { return refusals[b.Name] != "" })
	all.AllowNet = []string{}
	all.FutureKeywords = []string{"contains", "every", "if", "in"}
	return all
}
