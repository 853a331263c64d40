// SPDX-License-Identifier: Apache-2.0

package gator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	reports "evenkeel.dev/evenkeel/internal/policy/suite"
)

// judge is the policy of a test's constraint, in force.
type judge struct {
	policy   string
	snapshot *catalog.Snapshot
	// silent says that gator doesn't ask the constraint: nothing is found of any object.
	silent bool
}

// newJudge migrates the test's template and constraint.
func newJudge(fsys fs.FS, suiteFile string, t *test, engine rego.Engine) (*judge, error) {
	read, err := t.documents(fsys, suiteFile)
	if err != nil {
		return nil, err
	}
	policies := catalog.New(catalog.Options{TimeLimit: reports.TimeLimit, Engine: engine})
	made, silent := "", false
	for _, d := range read {
		silent = silent || !gatekeeper.Enforces(d.Object, gatekeeper.GatorPoint)
	}
	opts := gatekeeper.Options{Kinds: t.kinds(fsys, suiteFile), InMemory: true}
	for _, item := range gatekeeper.Migrate(append(read, t.replicated(fsys, suiteFile)), opts) {
		if err := enforce(policies, &item); err != nil {
			return nil, fmt.Errorf("%s: %w", item.Object, err)
		}
		if item.Policy != nil {
			made = item.Policy.Name
		}
	}
	if made == "" {
		return nil, fmt.Errorf("%s holds no constraint of the template", t.Constraint)
	}
	policies.MarkComplete()
	return &judge{policy: made, snapshot: policies.Snapshot(), silent: silent}, nil
}

// documents are the objects in the files that the test names.
func (t *test) documents(fsys fs.FS, suiteFile string) ([]manifest.Document, error) {
	switch {
	case t.Template == "" || t.Constraint == "":
		return nil, errors.New("template or constraint is missing: give their paths")
	case t.Expansion != "":
		return nil, errors.New("expansion: Evenkeel judges workloads themselves by their pod template, and " +
			"expands nothing else: leave the test to gator")
	}
	template, err := documents(fsys, suiteFile, t.Template)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	constraint, err := documents(fsys, suiteFile, t.Constraint)
	if err != nil {
		return nil, fmt.Errorf("constraint: %w", err)
	}
	return append(template, constraint...), nil
}

// replicated is the Config that gator acts as if there were: every object of an inventory can be looked up. Of
// an inventory that can't be read, its case tells.
func (t *test) replicated(fsys fs.FS, suiteFile string) manifest.Document {
	var kinds []any
	for i := range t.Cases {
		others, _ := t.Cases[i].others(fsys, suiteFile)
		for _, object := range others {
			gvk := (&unstructured.Unstructured{Object: object}).GroupVersionKind()
			kinds = append(kinds, map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind})
		}
	}
	return manifest.Document{Object: map[string]any{"apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config",
		"metadata": map[string]any{"name": "config"},
		"spec":     map[string]any{"sync": map[string]any{"syncOnly": kinds}}}}
}

// kinds are those of the objects that the cases give, which constraints on every kind judge. What can't be read,
// its case tells.
func (t *test) kinds(fsys fs.FS, suiteFile string) (kinds []gatekeeper.Kind) {
	for i := range t.Cases {
		objects, err := documents(fsys, suiteFile, t.Cases[i].Object)
		if t.Cases[i].Object == "" || err != nil {
			continue
		}
		for _, d := range objects {
			kinds = append(kinds, gatekeeper.KindOf(d.Object))
			if r, err := reviewed(d.Object); err == nil {
				kinds = append(kinds, gatekeeper.Kind{Group: r.Kind.Group, Kind: r.Kind.Kind})
			}
		}
	}
	return kinds
}

// enforce puts what an object of Gatekeeper's became in force.
func enforce(policies *catalog.Catalog, item *gatekeeper.Item) error {
	switch {
	case item.Err != nil:
		return item.Err
	case item.State == gatekeeper.NeedsWork:
		return errors.New("it can't be migrated: " + strings.Join(item.Notes, "; "))
	case item.Template != nil:
		return policies.SetTemplate(item.Template)
	case item.Policy != nil:
		item.Policy.SetDefaults()
		item.Policy.Spec.Admission.Operations = []v1alpha1.Operation{v1alpha1.OperationCreate,
			v1alpha1.OperationUpdate, v1alpha1.OperationDelete}
		return policies.Set(item.Policy)
	}
	return nil
}

// violations are what is found of an object beside others.
func (j *judge) violations(ctx context.Context, r *policy.Request, others []map[string]any) (
	[]policy.Violation, error) {
	if j.silent {
		return nil, nil
	}
	by := *r
	by.Operation = policy.Create // gator matches a request of any operation, and one of none
	if j.lacksNamespace(&by) {
		return unmatched(r)
	}
	seeing := j.snapshot.Seeing(inventory.NewFixed(others, nil))
	result, _ := seeing.EvaluateWhereMatched(ctx, j.policy, r, &by)
	return result.Decision.Violations, result.Decision.Err
}

// lacksNamespace says that the constraint can't be said to match for want of the Namespace. Even a selector of
// every namespace asks for it.
func (j *judge) lacksNamespace(r *policy.Request) bool {
	namespaces := policy.GroupKind{Kind: "Namespace"}
	if r.Namespace == "" || r.NamespaceObject != nil || r.Kind.GroupKind() == namespaces {
		return false
	}
	return slices.ContainsFunc(j.snapshot.Concerning(r), func(p *v1alpha1.ClusterRegoPolicy) bool {
		return p.Name == j.policy && p.Spec.Match.NamespaceSelector != nil
	})
}

// unmatched is what gator finds of an object of which it can't say for want of the Namespace whether the constraint
// matches: that is a violation.
func unmatched(r *policy.Request) ([]policy.Violation, error) {
	metadata := policy.Metadata(r.Judged())
	if namespace, _ := metadata["namespace"].(string); namespace == "" {
		return nil, fmt.Errorf("metadata.namespace is missing of an object in the namespace %s: write it, as the "+
			"API server does", r.Namespace)
	}
	name, _ := metadata["name"].(string)
	return []policy.Violation{{Message: "unable to match constraints: error matching the requested object: " +
		name + " :failed to run Match criteria: namespace selector for namespace-scoped object but missing " +
		"Namespace"}}, nil
}
