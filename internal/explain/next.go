// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// next says what happens next, policy by policy. The first reason that holds is
// the one that counts.
func (e *Explanation) next() {
	e.Next = []string{}
	for _, v := range e.Policies {
		if v.Verdict != Clean {
			e.Next = append(e.Next, v.Policy+": "+e.after(v))
		}
	}
	if len(e.Next) == 0 {
		e.Next = append(e.Next, e.nothing())
	}
	e.Next = append(e.Next, e.choices()...)
}

// choices are what the object's owner can do: about the last change that stands, and about those to come, of which an
// opt-out keeps the object free already.
func (e *Explanation) choices() (out []string) {
	for _, t := range e.Plans {
		if t.SameObject && t.At != nil && t.UndoneAt == nil && !working(t.Phase) {
			out = append(out,
				fmt.Sprintf("to undo all that plan %[1]s changed: evenkeel rollout undo %[1]s", t.Plan))
			break
		}
	}
	if e.OptOut != "" {
		return out
	}
	if len(e.Owners) > 0 {
		root := e.Owners[len(e.Owners)-1]
		return append(out, fmt.Sprintf("to keep remediation off %s %s, which makes it, from now on: %s", root.Kind,
			root.Name, root.OptOutCommand()))
	}
	command := e.Object.OptOutCommand()
	if e.IneffectiveOptOut != "" { // what is there already is replaced, and an end that has come taken away
		command += " " + v1alpha1.AnnotationPausedUntil + "- --overwrite"
	}
	return append(out, "to keep remediation off this object from now on: "+command)
}

// nothing says why nothing happens to an object that no policy finds fault with.
func (e *Explanation) nothing() string {
	if plan := e.fixedBy(); plan != "" {
		return plan
	}
	if len(e.Owners) > 0 {
		root := e.Owners[len(e.Owners)-1]
		return "nothing here: a workload is judged and fixed at its root: " + explainCommand(root)
	}
	switch {
	case e.PoliciesUnknown:
		return "unavailable: the policies couldn't be read"
	case len(e.PoliciesLeftOut) > 0:
		return "nothing by the policies that could be asked; of those left out: kubectl describe rego " +
			strings.Join(e.PoliciesLeftOut, " ")
	case len(e.Policies) == 0:
		return "nothing: no policy concerns it"
	}
	return "nothing: it violates no policy"
}

// fixedBy says which plan has fixed the object and isn't done with it; empty when there is none.
func (e *Explanation) fixedBy() string {
	for _, t := range e.Plans {
		if !t.SameObject {
			continue
		}
		switch changed := t.At != nil && t.UndoneAt == nil; {
		case changed && t.Phase.Facts().Undoing():
			return fmt.Sprintf("plan %s, which has fixed it, is being rolled back, and may revert it to what it "+
				"was: %s", t.Plan, t.waits)
		case working(t.Phase) && inFlight(t.State):
			return fmt.Sprintf("plan %s has fixed it, and watches it: %s", t.Plan, t.waits)
		}
	}
	return ""
}

// after says what happens after a verdict.
func (e *Explanation) after(v Verdict) string {
	switch {
	case v.Verdict == Unknown:
		return "unavailable: its namespace couldn't be read"
	case v.Verdict == Unjudged:
		return "nothing until the policy can judge it: fix its Rego"
	case v.Verdict == Waived:
		return "nothing until " + v.WaivedUntil.UTC().Format(time.RFC3339) + ", when its waiver ends"
	case v.Unresolved != "":
		return "nothing: " + v.Unresolved
	case v.Mode == v1alpha1.RemediationDisabled:
		return "nothing: the policy's mode is Disabled"
	case v.Fix == "":
		return "nothing: the policy offers no fix for it; fix it by hand"
	}
	if why := e.untouched(v); why != "" {
		return why
	}
	if e.NamespaceUnknown {
		return "unless its namespace opts out, which isn't known: " + e.byPlans(v)
	}
	return e.byPlans(v)
}

// untouched says why the object itself keeps fixes away; empty when it doesn't.
func (e *Explanation) untouched(v Verdict) string {
	switch {
	case e.Deleting != "":
		return "nothing: the object is being deleted; it counts until it is gone, and waits for " + e.Deleting
	case e.OptOut != "":
		return "skipped: " + e.OptOut
	case len(e.Owners) > 0:
		return e.atOwner()
	case e.ManagedBy != "" && v.Managed != v1alpha1.ManagedRemediate:
		return "skipped: managed by " + e.ManagedBy + "; change it at its source"
	default:
		return ""
	}
}

// atOwner says that an object is fixed where it comes from.
func (e *Explanation) atOwner() string {
	root := e.Owners[len(e.Owners)-1]
	if e.ManagedBy != "" {
		return fmt.Sprintf("skipped: it comes from %s %s, which is managed by %s; change it at its source", root.Kind,
			root.Name, e.ManagedBy)
	}
	return fmt.Sprintf("fixed at its root owner, %s %s: %s", root.Kind, root.Name, explainCommand(root))
}

// explainCommand is the command that explains an object, wherever the caller's context
// points to.
func explainCommand(o v1alpha1.ObjectReference) string {
	command := fmt.Sprintf("evenkeel explain %s/%s", o.Kind, o.Name)
	if o.Namespace != "" {
		command += " -n " + o.Namespace
	}
	return command
}
