// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/display"
)

// Draw tells the explanation to people.
func (e *Explanation) Draw(style display.Style) []string {
	d := &drawing{style: style}
	d.title(strings.TrimSpace(e.Object.String()))
	for i, o := range e.Owners {
		d.add("%smade by %s", strings.Repeat("  ", i+1), o.String())
	}
	d.maybe("  the chain of owners ends there: ", e.OwnersEnd)
	d.maybe("  managed by ", e.ManagedBy)
	d.maybe("  "+v1alpha1.AnnotationLastRemediation+" names plan ", e.LastRemediation)
	d.maybe("  opted out: ", e.OptOut)
	d.maybe("  not opted out: ", style.Busy(e.IneffectiveOptOut))
	if e.NamespaceUnknown && e.OptOut == "" {
		d.add("  %s", style.Busy("whether its namespace opts out isn't known: it couldn't be read"))
	}
	d.maybe("  being deleted; waits for: ", e.Deleting)
	e.drawPolicies(d)
	e.drawPlans(d)
	e.drawEvents(d)
	if len(e.Breakers) > 0 {
		d.section("Breakers")
		for _, b := range e.Breakers {
			d.add("  %s  %s", style.Busy(b.Name+" is "+string(b.State)), b.Message)
		}
	}
	d.section("Next")
	for _, line := range e.Next {
		d.add("  %s", line)
	}
	if len(e.Unread) > 0 {
		d.section("Not read")
		for _, line := range e.Unread {
			d.add("  %s", style.Bad(line))
		}
	}
	return d.lines
}

func (e *Explanation) drawPolicies(d *drawing) {
	d.section("Policies")
	switch {
	case e.PoliciesUnknown:
		d.add("  unavailable: they couldn't be read")
	case len(e.Policies) == 0 && len(e.PoliciesLeftOut) == 0:
		d.add("  none concerns it")
	}
	for _, v := range e.Policies {
		paint := map[string]func(string) string{Clean: d.style.Good, Violates: d.style.Bad, Waived: d.style.Busy,
			Unjudged: d.style.Bad, Unknown: d.style.Busy}[v.Verdict]
		d.add("  %s  %s (%s, %s, remediation %s)", paint(fmt.Sprintf("%-8s", v.Verdict)), v.Policy, v.Severity,
			v.Enforcement, v.Mode)
		d.maybe("            overridden: ", d.style.Busy(v.Override))
		d.maybe("            strategy: ", v.Strategy)
		d.maybe("            the manager doesn't evaluate it: ", d.style.Bad(v.NotLookedUp))
		for _, m := range v.Messages {
			d.add("            %s", m)
		}
		if v.WaivedUntil != nil {
			d.add("            waived until %s by %s", v.WaivedUntil.UTC().Format(time.RFC3339), v.Waiver)
		}
		d.maybe("            fix: ", v.Fix)
	}
	d.maybe("  left out, see below: ", d.style.Bad(strings.Join(e.PoliciesLeftOut, ", ")))
}

func (e *Explanation) drawPlans(d *drawing) {
	d.section("Plans")
	switch {
	case e.PlansUnknown:
		d.add("  unavailable: they couldn't be read")
	case len(e.Plans) == 0:
		d.add("  none has held it, as far as the history goes")
	}
	for _, t := range e.Plans {
		d.add("  %s of policy %s, %s: %s in %s%s", t.Plan, t.Policy, t.Phase, t.State, wave(t.Wave), because(t))
		if !t.SameObject {
			d.add("    that was an earlier object of this name")
		}
		d.maybe("    because: ", t.Title)
		d.maybe("    why: ", t.Why)
		if t.At != nil {
			d.add("    written at %s%s", t.At.Format(time.RFC3339), undone(t))
			d.maybe("    owner of the policy: ", t.Owner)
			d.maybe("    runbook: ", t.Runbook)
		}
		for _, c := range t.Changes {
			if c.Before == "" && c.After == "" {
				d.add("    %s", c.What)
				continue
			}
			d.add("    %s: %s → %s", c.What, orNothing(c.Before), orNothing(c.After))
		}
		d.seen(t.Evidence)
		for _, line := range strings.Split(strings.TrimRight(t.Proposal, "\n"), "\n") {
			d.maybe("    ", line)
		}
	}
}

// seen tells why an object failed its verification.
func (d *drawing) seen(evidence []string) {
	if len(evidence) == 0 {
		return
	}
	d.add("    seen before anything was undone:")
	for _, line := range evidence {
		d.add("      %s", d.style.Bad(line))
	}
}

func because(t Touch) string {
	if t.Reason == "" {
		return ""
	}
	return strings.TrimSuffix(" ("+t.Reason+": "+t.Message, ": ") + ")"
}

func undone(t Touch) string {
	if t.UndoneAt == nil {
		return ""
	}
	return ", undone at " + t.UndoneAt.Format(time.RFC3339)
}

func orNothing(value string) string {
	if value == "" {
		return "(no field)"
	}
	return value
}

// drawing collects lines.
type drawing struct {
	style display.Style
	lines []string
}

func (d *drawing) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *drawing) title(text string) { d.lines = append(d.lines, d.style.Bold(text)) }

func (d *drawing) section(title string) {
	d.lines = append(d.lines, "")
	d.title(title)
}

// maybe adds a line unless there is nothing to say.
func (d *drawing) maybe(before, text string) {
	if text != "" {
		d.add("%s%s", before, text)
	}
}
