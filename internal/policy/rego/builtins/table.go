// SPDX-License-Identifier: Apache-2.0

package builtins

import (
	"cmp"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Treatment is what becomes of a policy that calls a built-in function.
type Treatment string

// The treatments.
const (
	// Allowed is called as OPA has it.
	Allowed Treatment = "allowed"
	// Capped is refused at run time where its result could be too large.
	Capped Treatment = "capped"
	// Refused doesn't compile.
	Refused Treatment = "refused"
)

// Builtin is one of OPA's built-in functions, and how policies may use it. One that
// nobody has looked at has no Treatment.
type Builtin struct {
	Name      string
	Treatment Treatment
	Why       string
}

// All are all that OPA has, sorted by name.
func All() []Builtin {
	caps, safe := estimates(), safe()
	var out []Builtin
	for _, b := range ast.Builtins {
		row := Builtin{Name: b.Name}
		switch reason := Forbidden(b); {
		case reason != "":
			row.Treatment, row.Why = Refused, reason
		case caps[b.Name].why != "":
			row.Treatment, row.Why = Capped, caps[b.Name].why
		case safe[b.Name] != "":
			row.Treatment, row.Why = Allowed, safe[b.Name]
		}
		out = append(out, row)
	}
	slices.SortFunc(out, func(a, b Builtin) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b Builtin) bool { return a.Name == b.Name })
}

// safe says of built-ins why they need no cap.
func safe() map[string]string {
	out := map[string]string{}
	for _, group := range []struct {
		why   string
		names []string
	}{
		{"it gives true or false", []string{
			"eq", "equal", "neq", "lt", "lte", "gt", "gte", "internal.member_2", "internal.member_3", "all", "any",
			"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string", "cast_boolean",
			"cast_null",
			"contains", "startswith", "endswith", "strings.any_prefix_match", "strings.any_suffix_match",
			"base64.is_valid", "semver.is_valid", "uri.is_valid", "crypto.hmac.equal",
			"net.cidr_contains", "net.cidr_intersects", "net.cidr_is_valid", "net.cidr_overlap"}},
		{"it gives one number", []string{"count", "strings.count", "semver.compare", "time.now_ns", "time.parse_ns",
			"time.parse_rfc3339_ns", "time.parse_duration_ns", "time.add_date"}},
		{"it gives a few short values",
			[]string{"time.clock", "time.date", "time.diff", "time.weekday", "type_name", "uuid.parse", "uri.parse",
				"crypto.md5", "crypto.sha1", "crypto.sha256", "crypto.hmac.md5", "crypto.hmac.sha1",
				"crypto.hmac.sha256",
				"crypto.hmac.sha512"}},
		{"it gives a part of its operand, or the operand itself",
			[]string{"object.get", "max", "min", "substring", "cast_object", "cast_string",
				"trim_prefix", "trim_space", "trim_suffix", "graph.reachable"}},
		{"it gives one part after the other, and is stopped between them", []string{"walk"}},
		{"it binds a name", []string{"assign"}},
		{"the compiler puts a constant in its place", []string{"rego.metadata.chain", "rego.metadata.rule"}},
		{"it does nothing here", []string{"print", "internal.print", "trace", "internal.test_case"}},
	} {
		for _, name := range group.names {
			out[name] = group.why
		}
	}
	return out
}
