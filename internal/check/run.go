// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// Options tune Run.
type Options struct {
	// Now is the time of evaluation: what time.now_ns returns, and what waivers
	// expire by. Required.
	Now time.Time
	// Fix asks for Result.Fix.
	Fix bool
	// Among are the policies that a fix must get along with, and is proven by. Default: those that judge.
	Among *catalog.Snapshot
	// Fixed is told the results of each object with their fixes, each proven for itself, and may change what they say
	// of them; by many goroutines at once. Nil for nobody.
	Fixed func(ctx context.Context, results []Result)
	// Clean asks for Report.Clean.
	Clean bool
	// Lean keeps no more of an object in a result than its kind and what names it,
	// so that memory grows with what is found, not with what is looked at.
	Lean bool
	// Took is called after each object with what each policy said of it and how long that took, by many
	// goroutines at once; nil for nobody.
	Took func(subject *Subject, verdicts []catalog.Result)
	// Workers is how many objects are judged at once, with one in their order. Default: one a processor.
	Workers int
	// Judged is called after each object, by many goroutines at once; nil for
	// nobody.
	Judged func()
}

// Run judges every subject by every policy that concerns it, on all processors.
// The report is the same however the work falls. An error of the sequence, or the
// end of the context, ends the run; the report then holds what was judged before.
func Run(ctx context.Context, snapshot *catalog.Snapshot, subjects iter.Seq2[Subject, error], opts Options) (
	*Report, error) {
	if opts.Now.IsZero() {
		return nil, errors.New("check.Options.Now is missing")
	}
	opts.Among = cmp.Or(opts.Among, snapshot)
	workers := make([]worker, cmp.Or(opts.Workers, runtime.GOMAXPROCS(0)))
	queue := make(chan Subject, 4*len(workers))
	var wg sync.WaitGroup
	for i := range workers {
		workers[i] = worker{snapshot: snapshot, opts: opts}
		wg.Go(func() {
			for subject := range queue {
				workers[i].judge(ctx, subject)
			}
		})
	}
	err := feed(ctx, queue, subjects)
	close(queue)
	wg.Wait()

	report := &Report{Policies: len(snapshot.Policies())}
	for i := range workers {
		report.Objects += workers[i].objects
		report.Unconcerned += workers[i].unconcerned
		report.Results = append(report.Results, workers[i].results...)
		report.Clean = append(report.Clean, workers[i].clean...)
	}
	report.Results = onceAtOwners(report.Results)
	Sort(report.Results)
	Sort(report.Clean)
	return report, err
}

func feed(ctx context.Context, queue chan<- Subject, subjects iter.Seq2[Subject, error]) error {
	for subject, err := range subjects {
		if err != nil {
			return err
		}
		select {
		case queue <- subject:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// Each gives subjects that are at hand already.
func Each(subjects []Subject) iter.Seq2[Subject, error] {
	return func(yield func(Subject, error) bool) {
		for _, subject := range subjects {
			if !yield(subject, nil) {
				return
			}
		}
	}
}

// worker judges one object after the other.
type worker struct {
	snapshot             *catalog.Snapshot
	opts                 Options
	objects, unconcerned int
	results, clean       []Result
}

func (w *worker) judge(ctx context.Context, subject Subject) {
	request := subject.Request(w.opts.Now)
	request.Resource = subject.Resource
	verdicts := w.snapshot.Evaluate(ctx, request)
	if ctx.Err() != nil {
		return // what was stopped is no verdict
	}
	if w.opts.Took != nil {
		w.opts.Took(&subject, verdicts)
	}
	w.objects++
	if len(verdicts) == 0 {
		w.unconcerned++
	}
	found := w.found(ctx, subject, verdicts)
	if w.opts.Fixed != nil && len(found) > 0 {
		w.opts.Fixed(ctx, found)
	}
	for _, result := range found {
		result.Subject = w.kept(subject)
		w.results = append(w.results, result)
	}
	if w.opts.Judged != nil {
		w.opts.Judged()
	}
}

// found are the results of a subject's verdicts that say something. Of the others it keeps that they are clean, where
// that is asked for.
func (w *worker) found(ctx context.Context, subject Subject, verdicts []catalog.Result) []Result {
	var found []Result
	for i := range verdicts {
		v := &verdicts[i]
		if v.Err == nil && len(v.Violations)+len(v.Warnings) == 0 {
			if w.opts.Clean {
				w.clean = append(w.clean, Result{Subject: w.kept(subject), Policy: v.Definition, Revision: v.Revision})
			}
			continue
		}
		result := Result{
			Subject: subject, Policy: v.Definition, Revision: v.Revision,
			Violations: v.Violations, Warnings: v.Warnings, Waived: v.Waived, Actions: v.Actions,
			Err: v.Err,
		}
		if v.Err == nil && v.FixErr != nil {
			result.Err, result.FixFailed = v.FixErr, true
		}
		result.locate()
		if w.opts.Fix {
			w.fix(ctx, &result)
		}
		found = append(found, result)
	}
	return found
}

// kept is as much of a subject as its results hold.
func (w *worker) kept(subject Subject) Subject {
	if w.opts.Lean {
		return subject.named()
	}
	return subject
}

// locate finds the lines of all that was found.
func (r *Result) locate() {
	if r.LineOf == nil {
		return
	}
	r.lines = map[string]int{}
	for _, v := range slices.Concat(r.Violations, r.Warnings) {
		if v.Path != "" && r.lines[v.Path] == 0 {
			r.lines[v.Path] = r.LineOf(v.Path)
		}
	}
}
