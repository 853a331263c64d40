// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
)

// evaluator judges one object by every policy that concerns it.
type evaluator interface {
	Evaluate(ctx context.Context, r *policy.Request) []catalog.Result
}

// namespaceReader finds the Namespace that an object lives in; nil when unknown.
type namespaceReader interface {
	get(name string) map[string]any
}

// judge turns objects of one kind into records, for one pass and the watch that
// follows it. One goroutine at a time may use it.
type judge struct {
	policies   evaluator
	tallies    map[string]*tally
	kind       policy.GroupVersionKind
	resource   string
	namespaces namespaceReader
	clock      clock.PassiveClock
	// failed is told the policy of every evaluation error.
	failed func(policy string)

	// compliant holds what is shared for each set of policies, by their names.
	compliant map[string]*compliance
	buf       []byte
}

// judge evaluates the object. One that is being deleted counts until it is gone, since a
// finalizer may keep it, and what it runs, for good; but nothing is to be fixed there.
func (j *judge) judge(ctx context.Context, u *unstructured.Unstructured) *judged {
	out := &judged{key: keyOf(u.GetNamespace(), u.GetName())}
	leaving := u.GetDeletionTimestamp() != nil
	var clean []*tally
	var faults []fault
	results := j.policies.Evaluate(ctx, j.request(u))
	for i := range results {
		t := j.tallies[results[i].Policy]
		if t == nil || t.revision != results[i].Revision {
			continue
		}
		f := faultOf(t, &results[i], leaving)
		if f.failed {
			j.failed(t.policy)
		}
		if f == (fault{}) {
			clean = append(clean, t)
		} else {
			faults = append(faults, f)
		}
	}
	if len(clean)+len(faults) == 0 {
		return out
	}
	complies := j.complianceWith(clean)
	if len(faults) == 0 {
		out.record = &complies.record
		return out
	}
	out.record = &record{clean: complies, faults: faults,
		uid: string(u.GetUID()), resourceVersion: u.GetResourceVersion()}
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
func faultOf(t *tally, d *catalog.Result, leaving bool) fault {
	err := cmp.Or(d.Err, d.FixErr)
	if err == nil && len(d.Violations) == 0 {
		return fault{}
	}
	f := fault{tally: t, failed: err != nil}
	if err != nil {
		f.message = err.Error()
	}
	switch {
	case d.Waived != nil:
		f.waived = true
	case len(d.Violations) > 0:
		f.violations, f.fixable = int32(len(d.Violations)), len(d.Actions) > 0 && !leaving
		f.message = d.Violations[0].Message
		if leaving {
			f.message = "being deleted: " + f.message
		}
		if err != nil {
			f.message = prose.Shorten(f.message, maxMessage/2) + " (besides: " + err.Error() + ")"
		}
	}
	f.message = prose.Shorten(f.message, maxMessage)
	return f
}

func (j *judge) complianceWith(clean []*tally) *compliance {
	j.buf = j.buf[:0]
	for _, t := range clean {
		j.buf = append(append(j.buf, t.policy...), ',')
	}
	if c := j.compliant[string(j.buf)]; c != nil {
		return c
	}
	c := newCompliance(clean)
	j.compliant[string(j.buf)] = c
	return c
}
