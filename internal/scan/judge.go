// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// evaluator judges one object by every policy that concerns it.
type evaluator interface {
	EvaluateWhere(ctx context.Context, r *policy.Request, keep func(*v1alpha1.ClusterRegoPolicy) bool) []catalog.Result
}

// namespaceReader finds the Namespace that an object lives in; nil when unknown.
type namespaceReader interface {
	get(name string) map[string]any
}

// judge turns objects of one kind into records, for one pass and the watch that
// follows it. One goroutine at a time may use it.
type judge struct {
	policies evaluator
	tallies  map[string]*index.Tally
	// gone says that a policy isn't there any more, since the pass began: it costs nothing more.
	gone       func(policy string) bool
	kind       policy.GroupVersionKind
	resource   string
	namespaces namespaceReader
	clock      clock.PassiveClock
	// failed is told the policy of every evaluation error.
	failed func(policy string)

	// shared is what records have in common.
	shared index.Shared
}

// judge evaluates the object. One that is being deleted counts until it is gone, since a
// finalizer may keep it, and what it runs, for good; but nothing is to be fixed there.
func (j *judge) judge(ctx context.Context, u *unstructured.Unstructured) *index.Judged {
	out := &index.Judged{Key: index.KeyOf(u.GetNamespace(), u.GetName())}
	leaving := u.GetDeletionTimestamp() != nil
	var clean []*index.Tally
	var faults []index.Fault
	results := j.policies.EvaluateWhere(ctx, j.request(u), func(p *v1alpha1.ClusterRegoPolicy) bool {
		return !j.gone(p.Name)
	})
	for i := range results {
		t := j.tallies[results[i].Policy]
		if t == nil || t.Revision != results[i].Revision {
			continue
		}
		f := faultOf(t, &results[i], leaving)
		if f.Failed {
			j.failed(t.Policy)
		}
		if f == (index.Fault{}) {
			clean = append(clean, t)
		} else {
			faults = append(faults, f)
		}
	}
	if len(clean)+len(faults) == 0 {
		return out
	}
	out.Record = j.shared.Record(clean, faults, out.Key, string(u.GetUID()), u.GetResourceVersion())
	return out
}

func (j *judge) request(u *unstructured.Unstructured) *policy.Request {
	var namespace map[string]any
	if u.GetNamespace() != "" {
		namespace = j.namespaces.get(u.GetNamespace())
	}
	r := policy.NewAudit(u.Object, namespace, j.clock.Now())
	r.Kind, r.Resource = j.kind, j.resource // a list's items need not say
	return r
}

// faultOf is zero for a decision that found nothing wrong. The object of one that is
// leaving is being deleted.
func faultOf(t *index.Tally, d *catalog.Result, leaving bool) index.Fault {
	err := cmp.Or(d.Err, d.FixErr)
	if err == nil && len(d.Violations) == 0 {
		return index.Fault{}
	}
	f := index.Fault{Tally: t, Failed: err != nil, Unknown: policy.LookupUnknown(err)}
	if err != nil {
		f.Message = err.Error()
	}
	switch {
	case d.Waived != nil:
		f.Waived = true
	case len(d.Violations) > 0:
		f.Violations, f.Fixable = int32(len(d.Violations)), len(d.Actions) > 0 && !leaving
		f.Message = d.Violations[0].Message
		if leaving {
			f.Message = "being deleted: " + f.Message
		}
		if err != nil {
			f.Message = prose.Shorten(f.Message, index.MaxMessage/2) + " (besides: " + err.Error() + ")"
		}
	}
	f.Message = prose.Shorten(f.Message, index.MaxMessage)
	return f
}
