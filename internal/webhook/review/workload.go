// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// Workloads reads workloads.
type Workloads interface {
	// Get returns a workload as it is now, or nil when there is none. An error means
	// that it isn't known.
	Get(ctx context.Context, owner match.Owner, namespace string) (map[string]any, error)
}

// LiveWorkloads asks the API server itself: what a cache holds may be older than what
// the workload's controller has just made something from.
type LiveWorkloads struct{ Reader client.Reader }

// Get implements Workloads.
func (l LiveWorkloads) Get(ctx context.Context, owner match.Owner, namespace string) (map[string]any, error) {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(owner.APIVersion)
	object.SetKind(owner.Kind)
	err := l.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: owner.Name}, object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s, which makes it: %w", owner.Kind, namespace, owner.Name, err)
	}
	return object.Object, nil
}

// maker is the workload from which a built-in controller makes what a request brings.
// It is read at most once a request, and only for a violation.
type maker struct {
	workloads Workloads
	read      bool
	object    map[string]any
	err       error
}

func (m *maker) get(ctx context.Context, r *policy.Request, owner match.Owner) (map[string]any, error) {
	if !m.read {
		m.read = true
		m.object, m.err = m.workloads.Get(ctx, owner, r.Namespace)
		if uid, _ := policy.Metadata(m.object)["uid"].(string); uid != owner.UID {
			m.object = nil // another one of that name
		}
	}
	return m.object, m.err
}

// standing are those of the violations that stand in the workload's template as well,
// or in an earlier one of it that its controller still makes Pods of: the policy has
// judged them there, or they are older than it, and so the workload still gets what it
// asks for. All others count: nothing that its template doesn't hold has been judged
// before.
func (m *maker) standing(ctx context.Context, judge Judge, r *policy.Request, res *catalog.Result,
	violations []policy.Violation) ([]policy.Violation, error) {
	owner, made := match.Maker(res.Definition, r)
	if !made || len(violations) == 0 {
		return nil, nil
	}
	workload, err := m.get(ctx, r, owner)
	if err != nil || workload == nil {
		return nil, err
	}
	if !match.Concerns(res.Definition, created(workload, owner, r)) {
		return nil, nil
	}
	standing, err := declaredBy(ctx, workload, owner, judge, r, res, violations)
	if err != nil || len(standing) == len(violations) {
		return standing, err
	}
	earlier, err := m.earlier(ctx, r, owner, workload)
	if err != nil || earlier == nil {
		return standing, err
	}
	before, err := declaredBy(ctx, earlier, owner, judge, r, res, policy.NewSince(standing, violations))
	return append(standing, before...), err
}

func declaredBy(ctx context.Context, workload map[string]any, owner match.Owner, judge Judge, r *policy.Request,
	res *catalog.Result, violations []policy.Violation) ([]policy.Violation, error) {
	declared := *r
	declared.Object = asDeclared(r, workload, owner.GroupKind())
	verdict, matched := judge.EvaluateOne(ctx, res.Policy, &declared)
	if !matched || verdict.Err != nil {
		return nil, verdict.Err
	}
	return policy.SameViolations(
		policy.Judged{Object: declared.Object, Violations: verdict.Violations},
		policy.Judged{Object: r.Object, Violations: violations},
	), nil
}

func created(workload map[string]any, owner match.Owner, r *policy.Request) *policy.Request {
	return &policy.Request{
		Operation: policy.Create, Namespace: r.Namespace, NamespaceObject: r.NamespaceObject, Name: owner.Name,
		Object: workload, Now: r.Now,
		Kind: policy.GroupVersionKind{Group: owner.GroupKind().Group, Kind: owner.Kind},
	}
}

// asDeclared is the object of the request with no more than its workload's template
// asks for.
func asDeclared(r *policy.Request, workload map[string]any, kind policy.GroupKind) map[string]any {
	at, _ := policy.TemplatePath(kind)
	value := policy.FieldAt(workload, at)
	template, _ := value.(map[string]any)
	object := maps.Clone(r.Object)
	if r.Kind.GroupKind() != policy.PodKind() {
		object["spec"] = withField(object["spec"], "template", value)
		return object
	}
	metadata := maps.Clone(policy.Metadata(object))
	for _, field := range []string{"labels", "annotations"} {
		delete(metadata, field)
		if written, ok := policy.Metadata(template)[field]; ok {
			metadata[field] = written
		}
	}
	object["metadata"], object["spec"] = metadata, template["spec"]
	return object
}
