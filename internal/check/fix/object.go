// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/manifest/edit"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// described is how many operations of a fix are told.
const described = 4

// object is one object on its way to being fixed.
type object struct {
	*run
	document *manifest.Document
	// subject holds the object as admission would see it, stored as it is written,
	// and text the document that it is written in.
	subject check.Subject
	stored  map[string]any
	text    []byte
}

// fix takes one proven fix after the other, until none is left. It ends, because
// each takes a policy off those that are violated and adds none.
func (o *object) fix(ctx context.Context) error {
	for {
		verdicts := o.judge(ctx, o.subject.Object)
		if err := ctx.Err(); err != nil {
			return err // what was stopped is no verdict
		}
		reasons := map[string]string{}
		progress := false
		for i := range verdicts {
			v := &verdicts[i]
			if len(v.Enforced()) == 0 || v.Err != nil {
				continue
			}
			if reasons[v.Policy] = o.take(ctx, v); reasons[v.Policy] == "" {
				progress = true
				break
			}
		}
		if !progress {
			o.leave(verdicts, reasons)
			return ctx.Err()
		}
	}
}

func (o *object) judge(ctx context.Context, object map[string]any) []catalog.Result {
	return o.snapshot.Evaluate(ctx, policy.NewAudit(object, o.subject.Namespace, o.now))
}

// take makes a policy's fix, or says why not.
func (o *object) take(ctx context.Context, v *catalog.Result) string {
	if v.FixErr != nil {
		return "its fix can't be known: " + v.FixErr.Error()
	}
	if reason := unfit(v.Definition, v.Actions); reason != "" {
		return reason
	}
	resolved, err := check.ProveHarmless(ctx, o.snapshot, &o.subject, v.Policy, v.Actions, o.now)
	if err != nil {
		return err.Error()
	}
	stored := unfilled(o.document, o.subject.Object, resolved.Object)
	text, err := edit.Set(o.text, o.document.Place().Pointer, asWritten(o.document, o.text, stored))
	if err != nil {
		return err.Error()
	}
	line := o.document.Line
	if fields := action.Diff(o.subject.Object, resolved.Object); len(fields) > 0 {
		line = o.document.LineOf(fields[0].Path)
	}
	o.report.Changes = append(o.report.Changes, Change{
		File: o.document.File, Line: line, Policy: v.Policy,
		What: policy.OneLine(action.Describe(v.Actions, described))})
	o.subject.Object, o.stored, o.text = resolved.Object, stored, text
	return ""
}

// unfit says why a fix isn't for files.
func unfit(p *v1alpha1.ClusterRegoPolicy, actions []policy.Action) string {
	if len(actions) == 0 {
		return "the policy offers no fix for it"
	}
	strategy := p.Spec.Remediation.DeepCopy()
	strategy.SetDefaults()
	if verb, add, forbidden := action.Forbidden(strategy.AllowedActions, actions); forbidden {
		return fmt.Sprintf("its fix uses %q, which the policy's allowedActions leave out: add %s to them", verb, add)
	}
	for _, a := range actions {
		switch {
		case a.Subresource != "":
			return "its fix changes the status, which no file holds"
		case a.Type == policy.ActionDelete:
			return "its fix deletes the object: a person must decide that, and take it out of the file"
		case a.Type == policy.ActionCreate:
			return "its fix makes another object: a person must add it"
		case a.Type != policy.ActionPatch && a.Type != policy.ActionScale:
			return fmt.Sprintf("its fix, %s, is for a running object and changes no file", a.Type)
		}
	}
	return ""
}

// leave reports what is still wrong.
func (o *object) leave(verdicts []catalog.Result, reasons map[string]string) {
	for i := range verdicts {
		v := &verdicts[i]
		left := Left{File: o.document.File, Line: o.document.Line, Policy: v.Policy}
		if v.Err != nil {
			left.Message, left.Reason, left.Unjudged = "it can't be judged", policy.OneLine(v.Err.Error()), true
			o.report.Left = append(o.report.Left, left)
			left.Unjudged, reasons[v.Policy] = false, "it can't be judged to its end"
		}
		for _, violation := range v.Enforced() {
			if violation.Path != "" {
				left.Line = o.document.LineOf(violation.Path)
			}
			left.Message, left.Reason = policy.OneLine(violation.Message), policy.OneLine(reasons[v.Policy])
			o.report.Left = append(o.report.Left, left)
		}
	}
}
