// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Bounds of what is sent back. The API server cuts warnings off beyond 256
// characters each and 4096 in all.
const (
	MaxViolationLines = 10
	MaxLineBytes      = 512
	MaxWarnings       = 10
	MaxWarningBytes   = 256
)

// BoundedWarnings are the first warnings, and how many more there are of something.
func BoundedWarnings(all []string, of string) []string {
	if len(all) <= MaxWarnings {
		return all
	}
	more := len(all) - MaxWarnings
	return append(all[:MaxWarnings], fmt.Sprintf("and %d more %s%s", more, prose.Plural(more, "warning"), of))
}

// Describe names the object: "Deployment shop/web".
func Describe(r *policy.Request) string {
	name := r.Name
	if name == "" {
		if prefix, ok := policy.Metadata(r.Judged())["generateName"].(string); ok {
			name = prefix + "*"
		}
	}
	if r.Namespace != "" {
		name = r.Namespace + "/" + name
	}
	if s, ok := policy.SubresourceOf(r); ok {
		return s.Name + " of " + s.Parent.Kind + " " + name
	}
	return r.Kind.Kind + " " + name
}
