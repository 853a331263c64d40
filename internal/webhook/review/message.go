// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/override"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// maxWaiverName bounds the name of a waiver in a warning.
const maxWaiverName = 100

// denial is the message of a refused request: for each policy its name and
// title, one line for each violation, the fix and the runbook.
func denial(r *policy.Request, v *verdict, blocking []finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is refused by ", serving.Describe(r))
	left, more := serving.MaxViolationLines, 0
	for i, f := range blocking {
		if left == 0 {
			more += len(f.violations)
			continue
		}
		if i > 0 {
			b.WriteString("\nand by ")
		}
		shown := f.violations[:min(left, len(f.violations))]
		left, more = left-len(shown), more+len(f.violations)-len(shown)
		writeFinding(&b, r, &f, shown)
	}
	if more > 0 {
		fmt.Fprintf(&b, "\nand %d more %s", more, prose.Plural(more, "violation"))
	}
	for _, f := range v.failed {
		fmt.Fprintf(&b, "\nBesides, %s", prose.Shorten(failureText(f), serving.MaxLineBytes))
	}
	return b.String()
}

func writeFinding(b *strings.Builder, r *policy.Request, f *finding, shown []policy.Violation) {
	fmt.Fprintf(b, "policy %s (%s): %s", f.policy, f.severity, prose.OneLine(f.title))
	for _, violation := range shown {
		b.WriteString("\n- " + prose.Shorten(violation.Text(), serving.MaxLineBytes))
	}
	if fix := action.Hint(f.actions, holdsSecrets(r)); fix != "" {
		b.WriteString("\n  Fix: " + fix)
	} else if f.fixErr != nil {
		b.WriteString("\n  Fix: not known, " + prose.Shorten(reasonText(f.policy, f.fixErr), serving.MaxLineBytes))
	}
	if f.altered {
		b.WriteString("\n  It violated this before, but what violates has been changed, for example what a container " +
			"runs: so it counts. Leave that as it was, put it right, or ask for a waiver.")
	}
	if f.runbook != "" {
		b.WriteString("\n  Runbook: " + f.runbook)
	}
}

// unjudged is the message of a request that is refused because some policy
// couldn't be evaluated.
func unjudged(r *policy.Request, v *verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is refused because it couldn't be judged:", serving.Describe(r))
	refusing := v.refusing()
	for i, f := range refusing {
		if i == serving.MaxViolationLines {
			fmt.Fprintf(&b, "\nand %d more", len(refusing)-i)
			break
		}
		b.WriteString("\n- " + prose.Shorten(failureText(f), serving.MaxLineBytes))
	}
	if len(refusing) == 1 && refusing[0].policy == "" {
		b.WriteString("\nTry again; if it persists, ask those who run Evenkeel to find out why it can't read " +
			"namespaces: evenkeel doctor")
		return b.String()
	}
	b.WriteString("\nTry again; if it persists, have the policy's owner fix the rule, or set its " +
		"admission.failurePolicy to Ignore or its admission.action to Warn. In an emergency: evenkeel policy " +
		"override NAME --enforcement Warn --for 2h --reason REASON")
	return b.String()
}

func failureText(f failure) string {
	if f.policy == "" {
		return prose.OneLine(f.err.Error())
	}
	if f.partly {
		return fmt.Sprintf("policy %s could not be evaluated to its end: %s", f.policy, reasonText(f.policy, f.err))
	}
	return fmt.Sprintf("policy %s could not be evaluated: %s", f.policy, reasonText(f.policy, f.err))
}

func reasonText(name string, err error) string {
	return prose.OneLine(strings.TrimPrefix(err.Error(), "policy "+name+": "))
}

// warnings are the warning headers of the answer: warned violations, violations
// that are waived or that an update didn't bring, and policies that were skipped.
func warnings(v *verdict) []string {
	var out []string
	for _, f := range v.findings {
		if suffix, visible := warningSuffix(&f); visible {
			for _, violation := range f.violations {
				text := fmt.Sprintf("policy %s: %s", f.policy, violation.Text())
				out = append(out, prose.Shorten(text, serving.MaxWarningBytes-len(suffix))+suffix)
			}
		}
	}
	if !v.failsClosed() {
		for _, f := range v.failed {
			prefix := "not judged: "
			if f.partly {
				prefix = ""
			}
			out = append(out, prose.Shorten(prefix+failureText(f), serving.MaxWarningBytes))
		}
	}
	return serving.BoundedWarnings(out, " of Evenkeel's policies")
}

func warningSuffix(f *finding) (suffix string, visible bool) {
	switch {
	case f.atWorkload:
		return "", false
	case f.waived != nil:
		return waivedSuffix(f.waived), f.action != v1alpha1.AdmissionAudit
	case f.old:
		return " (already violated before this change; not blocked)", true
	case f.action == v1alpha1.AdmissionWarn:
		return overriddenSuffix(f.overridden), true
	default:
		return "", false
	}
}

// waivedSuffix leaves room for the violation, however long the names are.
func waivedSuffix(w *catalog.Waiver) string {
	return fmt.Sprintf(" (waived by %s until %s; not blocked)",
		prose.Shorten(w.Ref(), maxWaiverName), w.ExpirationTime.UTC().Format(time.RFC3339))
}

// overriddenSuffix tells whoever is warned that the policy will refuse this again.
func overriddenSuffix(o *override.Override) string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf(" (policy overridden from %s to %s until %s; not blocked)", o.Declared, o.Action, o.UntilText())
}

func holdsSecrets(r *policy.Request) bool { return r.Kind.Group == "" && r.Kind.Kind == "Secret" }
