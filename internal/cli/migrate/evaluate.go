// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper/live"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// evaluation judges what lives in the cluster by the policies of some constraints.
type evaluation struct {
	estate *estate
	// own is what each policy finds, and audits what Gatekeeper says of its constraint, by the policy's name.
	own    map[string]*live.Own
	audits map[string]*live.Audit

	snapshot *catalog.Snapshot
	listed   map[string]map[live.ObjectKey]bool // what Gatekeeper's audits list, by policy
	mu       sync.Mutex
}

// newEvaluation compiles the policies as they are in the cluster. One that can't be is told by what it finds.
func newEvaluation(ctx context.Context, e *estate, pairs []pair) (*evaluation, error) {
	v := &evaluation{estate: e, own: map[string]*live.Own{}, audits: map[string]*live.Audit{},
		listed: map[string]map[live.ObjectKey]bool{}}
	force := catalog.New(catalog.Options{})
	for i := range e.templates {
		_ = force.SetTemplate(&e.templates[i]) // what is wrong with it, the policies say that name it
	}
	for _, p := range pairs {
		own := &live.Own{Written: map[live.ObjectKey]time.Time{}}
		audit := e.source.Audit(p.constraint)
		v.own[p.policy.Name], v.audits[p.policy.Name] = own, &audit
		v.listed[p.policy.Name] = map[live.ObjectKey]bool{}
		for _, f := range audit.Findings {
			v.listed[p.policy.Name][f.ObjectKey] = true
		}
		if err := force.Set(p.policy); err != nil {
			own.Unread = append(own.Unread, fmt.Sprintf("policy %s can't be judged by: %v", p.policy.Name, err))
			force.Delete(p.policy.Name)
		}
	}
	force.MarkComplete()
	v.snapshot = force.Snapshot()
	references := v.snapshot.References()
	if len(references) > 0 {
		seen, err := (&listing.Walk{Client: e.objects, Discovery: e.discovery}).Referenced(ctx, references)
		if err != nil {
			return nil, command.Exit(command.ExitFailure, err)
		}
		v.snapshot = v.snapshot.Seeing(seen)
	}
	return v, nil
}

// run judges all objects that the policies concern. each is called with every object, one after the other; nil for
// nobody.
func (v *evaluation) run(ctx context.Context, each func(listing.Found) error) error {
	walk := &listing.Walk{Client: v.estate.objects, Discovery: v.estate.discovery}
	defer v.estate.tells(walk)()
	report, err := check.Run(ctx, v.snapshot, subjects(walk.Objects(ctx, v.snapshot), each),
		check.Options{Now: time.Now(), Lean: true, Took: v.took})
	if err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	for i := range report.Results {
		r := &report.Results[i]
		own := v.own[r.Policy.Name]
		key := live.KeyOf(r.Object)
		if r.Err != nil {
			own.Failed = append(own.Failed, live.Finding{ObjectKey: key, Message: prose.OneLine(r.Err.Error())})
		}
		for _, violation := range r.Violations {
			own.Findings = append(own.Findings, live.Finding{ObjectKey: key, Message: violation.Message})
		}
	}
	for _, gap := range walk.Gaps() {
		for _, own := range v.own {
			own.Unread = append(own.Unread, gap.Problem)
		}
	}
	return v.outside(ctx)
}

// outside reads what Gatekeeper's audits list and no policy judged.
func (v *evaluation) outside(ctx context.Context) error {
	served, err := v.estate.discovery.ServerPreferredResources()
	if err != nil && len(served) == 0 {
		return connect.Failure("ask the cluster which kinds it serves", err)
	}
	for name, own := range v.own {
		own.Outside(ctx, v.estate.objects, served, v.audits[name])
	}
	return nil
}

func subjects(found iter.Seq2[listing.Found, error], each func(listing.Found) error) iter.Seq2[check.Subject, error] {
	return func(yield func(check.Subject, error) bool) {
		for f, err := range found {
			if err == nil && each != nil {
				err = each(f)
			}
			subject := check.Subject{Object: f.Object, Namespace: f.Namespace, Resource: f.Resource}
			if !yield(subject, err) || err != nil {
				return
			}
		}
	}
}

// took keeps when the objects that the comparison may come upon were written.
func (v *evaluation) took(subject *check.Subject, verdicts []catalog.Result) {
	key := live.KeyOf(subject.Object)
	for i := range verdicts {
		name := verdicts[i].Definition.Name
		if len(verdicts[i].Violations) == 0 && !v.listed[name][key] {
			continue
		}
		v.mu.Lock()
		v.own[name].Written[key] = live.Changed(subject.Object)
		v.mu.Unlock()
	}
}
