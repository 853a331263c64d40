// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"cmp"
	"context"
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/manifest/edit"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
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
	// taken are the fixes that were made, by policy; once fix has ended, verdicts are those on what came of it, and
	// reasons why no more fixes were made.
	taken    map[string]taken
	verdicts []catalog.Result
	reasons  map[string]string
}

// taken is a fix that was made: the object before it and after it.
type taken struct {
	before map[string]any
	fixed  check.ProvenFix
}

// fix takes one proven fix after the other, until none is left. It ends, because
// it takes each policy's once.
func (o *object) fix(ctx context.Context) error {
	for {
		verdicts := o.judge(ctx)
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
			o.verdicts, o.reasons = verdicts, reasons
			return o.publish()
		}
	}
}

// publish has rules find from now on what came of the object.
func (o *object) publish() error {
	if o.lookedUp == nil || len(o.taken) == 0 {
		return nil
	}
	o.subject.Beside = nil
	for _, object := range o.subject.LookedUp(o.subject.Object) {
		if err := o.lookedUp.Put(object); err != nil {
			return err
		}
	}
	return nil
}

func (o *object) judge(ctx context.Context) []catalog.Result {
	return o.snapshot.Evaluate(ctx, o.subject.Request(o.now))
}

// take makes a policy's fix, or says why not.
func (o *object) take(ctx context.Context, v *catalog.Result) string {
	if _, again := o.taken[v.Policy]; again {
		return "its fix was made, and the object violates it again"
	}
	if v.FixErr != nil {
		return "its fix can't be known: " + v.FixErr.Error()
	}
	if reason := unfit(v.Definition, v.Actions); reason != "" {
		return reason
	}
	resolved, err := check.ProveFix(ctx, o.snapshot, &o.subject, v.Policy, v.Actions, o.now)
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
		What: prose.OneLine(action.Describe(v.Actions, described))})
	if o.taken == nil {
		o.taken = map[string]taken{}
	}
	o.taken[v.Policy] = taken{before: o.subject.Object, fixed: resolved}
	o.subject.Object, o.stored, o.text = resolved.Object, stored, text
	o.subject.Beside = o.subject.LookedUp(resolved.Object)
	return ""
}

// unfit says why a fix isn't for files.
func unfit(p *v1alpha1.ClusterRegoPolicy, actions []policy.Action) string {
	if reason := check.Unoffered(p, actions); reason != "" {
		return reason
	}
	for _, a := range actions {
		does, _ := action.DefinitionOf(a.Type)
		switch {
		case a.Subresource != "":
			return "its fix changes the status, which no file holds"
		case a.Type == policy.ActionDelete:
			return "its fix deletes the object: a person must decide that, and take it out of the file"
		case does.Allowed.Creates():
			return "its fix makes another object: a person must add it"
		case a.Type != policy.ActionPatch && a.Type != policy.ActionScale:
			return fmt.Sprintf("its fix, %s, is for a running object and changes no file", a.Type)
		}
	}
	return ""
}

// leave reports what is still wrong by the verdicts.
func (o *object) leave() {
	for i := range o.verdicts {
		v := &o.verdicts[i]
		left := Left{File: o.document.File, Line: o.document.Line, Policy: v.Policy}
		if v.Err != nil {
			left.Message, left.Reason, left.Unjudged = "it can't be judged", prose.OneLine(v.Err.Error()), true
			o.report.Left = append(o.report.Left, left)
			left.Unjudged, o.reasons[v.Policy] = false, "it can't be judged to its end"
		}
		left.Unjudged = v.Err == nil && v.FixErr != nil
		for _, violation := range v.Enforced() {
			if violation.Path != "" {
				left.Line = o.document.LineOf(violation.Path)
			}
			left.Message, left.Reason = prose.OneLine(violation.Message), prose.OneLine(cmp.Or(
				o.reasons[v.Policy], "it came with the fix of another object: run fix again"))
			o.report.Left = append(o.report.Left, left)
		}
	}
}
