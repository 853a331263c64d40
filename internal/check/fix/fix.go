// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Options tune Run.
type Options struct {
	// Now is the time of evaluation, by which waivers expire. Required.
	Now time.Time
	// Namespace is that of objects that name none, Namespaces are those known
	// besides the ones among the documents: see check.Of.
	Namespace  string
	Namespaces map[string]map[string]any
	// LookedUp is what the rules of the policies find where they look objects up, which Run keeps in step with what
	// it fixes; nil where they look nothing up.
	LookedUp *inventory.Fixed
}

// Change is one fix that was made.
type Change struct {
	// File and Line say where the first changed field stood before.
	File string
	Line int
	// Policy is the policy whose fix it is, What the fix in short.
	Policy, What string
}

// String is the change as compilers print places.
func (c Change) String() string { return fmt.Sprintf("%s:%d %s: %s", c.File, c.Line, c.Policy, c.What) }

// Left is a violation that is still there.
type Left struct {
	File string
	Line int
	// Policy is the policy that is violated, Message the violation, and Reason why
	// it wasn't fixed.
	Policy, Message, Reason string
	// Unjudged says that the policy couldn't judge the object at all.
	Unjudged bool
}

// String is the violation as compilers print places.
func (l Left) String() string {
	return fmt.Sprintf("%s:%d %s: %s (%s)", l.File, l.Line, l.Policy, l.Message, l.Reason)
}

// File is a file that changes.
type File struct {
	Name          string
	Before, After []byte
}

// Report is what became of the documents.
type Report struct {
	Changes []Change
	Left    []Left
	// Files are those that change, in the order of the documents.
	Files []File
}

// Run fixes the documents, which manifest.Read gave, in the texts of their files. A
// document whose file isn't among the texts is left out. Nothing is written.
func Run(ctx context.Context, snapshot *catalog.Snapshot, documents []manifest.Document, texts map[string][]byte,
	opts Options) (*Report, error) {
	if opts.Now.IsZero() {
		return nil, errors.New("fix.Options.Now is missing")
	}
	r := &run{snapshot: snapshot, now: opts.Now, lookedUp: opts.LookedUp, report: &Report{}}
	subjects := check.Of(documents, opts.Namespace, opts.Namespaces)
	for begin := 0; begin < len(documents); {
		end := begin + 1
		for end < len(documents) && documents[end].File == documents[begin].File {
			end++
		}
		name := documents[begin].File
		if text, given := texts[name]; given {
			if err := r.file(ctx, File{Name: name, Before: text}, documents[begin:end],
				subjects[begin:end]); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		begin = end
	}
	return r.report, r.leave(ctx)
}

// run is one Run on its way.
type run struct {
	snapshot *catalog.Snapshot
	now      time.Time
	lookedUp *inventory.Fixed
	report   *Report
	// objects are those that were fixed as far as they can be.
	objects []*object
}

// leave reports what is still wrong, of all objects as they are now: the fix of one may heal what rules find of
// another, or bring it.
func (r *run) leave(ctx context.Context) error {
	for _, o := range r.objects {
		if r.lookedUp != nil && len(r.report.Changes) > 0 {
			o.verdicts = o.judge(ctx)
		}
		o.leave()
	}
	return ctx.Err() // what was stopped is no verdict
}

// file fixes what is in one file.
func (r *run) file(ctx context.Context, f File, documents []manifest.Document, subjects []check.Subject) error {
	expected := make([]map[string]any, len(documents))
	var after bytes.Buffer
	at := 0
	for i := 0; i < len(documents); {
		place := documents[i].Place()
		if place.Start < at || place.End > len(f.Before) {
			return errors.New("it has changed since it was read: try again")
		}
		page := f.Before[place.Start:place.End]
		same := i
		for ; i < len(documents) && documents[i].Place().Start == place.Start; i++ {
			o := &object{run: r, document: &documents[i], subject: subjects[i], text: page, stored: documents[i].Object}
			if err := o.fix(ctx); err != nil {
				return err
			}
			r.objects = append(r.objects, o)
			page, expected[i] = o.text, o.stored
		}
		if same == i {
			return errors.New("an object has no place in it")
		}
		after.Write(f.Before[at:place.Start])
		after.Write(page)
		at = place.End
	}
	after.Write(f.Before[at:])
	if f.After = after.Bytes(); bytes.Equal(f.Before, f.After) {
		return ctx.Err()
	}
	if err := proves(ctx, f, expected); err != nil {
		return err
	}
	r.report.Files = append(r.report.Files, f)
	return ctx.Err()
}

// proves reads a file as it will be, and compares what it holds with what it should.
func proves(ctx context.Context, f File, expected []map[string]any) error {
	documents, err := manifest.Read(ctx, []string{"-"}, bytes.NewReader(f.After), manifest.Options{})
	if err != nil {
		return fmt.Errorf("the fixed text can't be read, so the file stays as it is: %w", err)
	}
	if len(documents) != len(expected) {
		return fmt.Errorf("the fixed text holds %s instead of %d, so the file stays as it is",
			prose.Count(len(documents), "object"), len(expected))
	}
	for i := range documents {
		got, gotErr := json.Marshal(documents[i].Object)
		want, wantErr := json.Marshal(expected[i])
		if gotErr != nil || wantErr != nil || !slices.Equal(got, want) {
			return fmt.Errorf("the fixed text doesn't hold what it should from line %d on, so the file stays as it is",
				documents[i].Line)
		}
	}
	return nil
}
