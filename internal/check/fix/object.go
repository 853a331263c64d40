// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"fmt"
	"maps"

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
			if reasons[v.Policy] = o.take(ctx, v, verdicts); reasons[v.Policy] == "" {
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
func (o *object) take(ctx context.Context, v *catalog.Result, before []catalog.Result) string {
	if reason := unfit(v); reason != "" {
		return reason
	}
	resolved, err := check.ProveFix(ctx, o.snapshot, &o.subject, v.Policy, v.Actions, o.now)
	if err != nil {
		return err.Error()
	}
	if reason := check.Harms(v.Policy, before, o.judge(ctx, resolved.Object)); reason != "" {
		return reason
	}
	stored := o.unfilled(resolved.Object)
	text, err := edit.Set(o.text, o.document.Place().Pointer, o.asWritten(stored))
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
func unfit(v *catalog.Result) string {
	if v.FixErr != nil {
		return "its fix can't be known: " + v.FixErr.Error()
	}
	if len(v.Actions) == 0 {
		return "the policy offers no fix for it"
	}
	strategy := v.Definition.Spec.Remediation.DeepCopy()
	strategy.SetDefaults()
	if verb, add, forbidden := action.Forbidden(strategy.AllowedActions, v.Actions); forbidden {
		return fmt.Sprintf("its fix uses %q, which the policy's allowedActions leave out: add %s to them", verb, add)
	}
	for _, a := range v.Actions {
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

// unfilled takes the namespace out again that wasn't written.
func (o *object) unfilled(after map[string]any) map[string]any {
	written, _ := o.document.Object["metadata"].(map[string]any)
	if _, named := written["namespace"]; named {
		return after
	}
	metadata, _ := after["metadata"].(map[string]any)
	filled, _ := o.subject.Object["metadata"].(map[string]any)
	if metadata["namespace"] == nil || metadata["namespace"] != filled["namespace"] {
		return after
	}
	after, metadata = maps.Clone(after), maps.Clone(metadata)
	delete(metadata, "namespace")
	after["metadata"] = metadata
	if len(metadata) == 0 && written == nil {
		delete(after, "metadata")
	}
	return after
}

// asWritten leaves out what an item of a typed list has from its list.
func (o *object) asWritten(object map[string]any) map[string]any {
	if o.document.Place().Pointer == "" || edit.Holds(o.text, o.document.Place().Pointer+"/kind") {
		return object
	}
	object = maps.Clone(object)
	delete(object, "apiVersion")
	delete(object, "kind")
	return object
}
