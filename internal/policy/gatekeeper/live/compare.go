// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/internal/prose"
)

// Verdict says whether two agree.
type Verdict string

// What a comparison comes to.
const (
	Equal     Verdict = "Equal"
	Different Verdict = "Different"
	// Unknown: nothing differs of what could be compared, and not everything could be.
	Unknown Verdict = "Unknown"
)

// Own is what Evenkeel finds by the policy of one constraint.
type Own struct {
	Findings []Finding
	// Failed are objects that the policy couldn't judge, with why.
	Failed []Finding
	// Unread says what couldn't be read, in a sentence each.
	Unread []string
	// Written are the objects that were looked at and concern the comparison, with when each was last written.
	Written map[ObjectKey]time.Time
	// Unconcerned are objects that the audit lists and the policy doesn't concern, with when each was last written.
	Unconcerned map[ObjectKey]time.Time
}

// Comparison is what the two say of one constraint.
type Comparison struct {
	Verdict Verdict `json:"verdict"`
	// Gatekeeper and Evenkeel count the violations that each found.
	Gatekeeper int `json:"gatekeeper"`
	Evenkeel   int `json:"evenkeel"`
	// OnlyGatekeeper and OnlyEvenkeel are what one of the two alone finds, sorted.
	OnlyGatekeeper []Finding `json:"onlyGatekeeper,omitempty"`
	OnlyEvenkeel   []Finding `json:"onlyEvenkeel,omitempty"`
	// Notes say what differs, or isn't known, and isn't a finding.
	Notes []string `json:"notes,omitempty"`
}

// Compare holds what Evenkeel finds of what lives in the cluster against Gatekeeper's audit.
func Compare(audit *Audit, own *Own) Comparison {
	c := Comparison{Gatekeeper: audit.Total, Evenkeel: len(own.Findings)}
	if audit.Unknown != "" {
		c.Notes = []string{audit.Unknown}
		c.Verdict = Unknown
		return c
	}
	unknown := append(slices.Clone(own.Unread), c.theirs(audit, own)...)
	theirs := byObject(audit.Findings)
	for _, f := range distinct(own.Findings) {
		switch {
		case theirs[f]:
		case !audit.Time.After(own.Written[f.ObjectKey]):
			unknown = append(unknown, since(f, audit.Time))
		case !audit.Cut():
			c.OnlyEvenkeel = append(c.OnlyEvenkeel, f)
		}
	}
	for _, f := range own.Failed {
		unknown = append(unknown, fmt.Sprintf("%s: Evenkeel couldn't judge it: %s", f.ObjectKey, f.Message))
	}
	c.conclude(audit, unknown)
	return c
}

// theirs keeps what Gatekeeper alone finds, and says of what it finds what isn't known.
func (c *Comparison) theirs(audit *Audit, own *Own) []string {
	var unknown []string
	ours := byObject(own.Findings)
	for _, f := range distinct(audit.Findings) {
		written, judged := own.Written[f.ObjectKey]
		at, outside := own.Unconcerned[f.ObjectKey]
		if outside {
			written = at
		}
		switch {
		case ours[f]:
		case !judged && !outside:
			unknown = append(unknown, fmt.Sprintf("%s: Gatekeeper's audit found it, and it isn't there any more, or "+
				"no policy's kind", f.ObjectKey))
		case !audit.Time.After(written):
			unknown = append(unknown, since(f, audit.Time))
		default:
			c.OnlyGatekeeper = append(c.OnlyGatekeeper, f)
			if outside {
				c.Notes = append(c.Notes, fmt.Sprintf("%s: the policy doesn't concern it: see spec.match", f.ObjectKey))
			}
		}
	}
	return unknown
}

// conclude sets the verdict. Where Gatekeeper's list is cut only the numbers tell of what isn't in it.
func (c *Comparison) conclude(audit *Audit, unknown []string) {
	numbers := audit.Cut() && c.Gatekeeper != c.Evenkeel
	if audit.Cut() {
		c.Notes = append(c.Notes, fmt.Sprintf("Gatekeeper lists %d of %s (--constraint-violations-limit): the others "+
			"are compared by their number", len(audit.Findings), prose.Count(audit.Total, "violation")))
	}
	c.Notes = append(c.Notes, unknown...)
	sortFindings(c.OnlyGatekeeper)
	sortFindings(c.OnlyEvenkeel)
	switch {
	case len(c.OnlyGatekeeper)+len(c.OnlyEvenkeel) > 0 || numbers && len(unknown) == 0:
		c.Verdict = Different
	case len(unknown) > 0:
		c.Verdict = Unknown
	default:
		c.Verdict = Equal
	}
}

func since(f Finding, at time.Time) string {
	return fmt.Sprintf("%s: it was written after Gatekeeper's audit began (%s): wait for the next one", f.ObjectKey,
		at.UTC().Format(time.RFC3339))
}

func distinct(findings []Finding) []Finding {
	out := make([]Finding, 0, len(findings))
	seen := map[Finding]bool{}
	for _, f := range findings {
		if f.Message = audited(f.Message); !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
	}
	return out
}

func byObject(findings []Finding) map[Finding]bool {
	out := map[Finding]bool{}
	for _, f := range distinct(findings) {
		out[f] = true
	}
	return out
}

func sortFindings(findings []Finding) {
	slices.SortFunc(findings, func(a, b Finding) int { return cmp.Compare(a.String(), b.String()) })
}
