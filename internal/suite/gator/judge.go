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
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	reports "evenkeel.dev/evenkeel/internal/suite"
)

// judge is the policy of a test's constraint, in force.
type judge struct {
	placed *inForce
	// unplaced is what counts for an object in no namespace; nil where the constraint leaves such objects out.
	unplaced *inForce
	// silent says that gator doesn't ask the constraint: nothing is found of any object.
	silent bool
}

// inForce is a policy among all that is in force.
type inForce struct {
	policy   string
	snapshot *catalog.Snapshot
}

func newJudge(fsys fs.FS, suiteFile string, t *test, engine rego.Engine) (*judge, error) {
	read, err := t.documents(fsys, suiteFile)
	if err != nil {
		return nil, err
	}
	config := t.replicated(fsys, suiteFile)
	opts := gatekeeper.Options{Kinds: t.kinds(fsys, suiteFile), InMemory: true}
	migrated := func(read []manifest.Document) (*inForce, error) {
		return enforced(gatekeeper.Migrate(append(read, config), opts), engine, t.Constraint)
	}
	j := &judge{}
	for _, d := range read {
		j.silent = j.silent || !gatekeeper.Enforces(d.Object, gatekeeper.GatorPoint)
	}
	if j.placed, err = migrated(read); err != nil {
		return nil, err
	}
	j.unplaced = j.placed
	switch loose, judged, changed := unplaced(read); {
	case !judged:
		j.unplaced = nil
	case changed:
		j.unplaced, err = migrated(loose)
	}
	return j, err
}

// enforced has what the template and the constraint became judge.
func enforced(items []gatekeeper.Item, engine rego.Engine, constraint string) (*inForce, error) {
	policies := catalog.New(catalog.Options{TimeLimit: reports.TimeLimit, Engine: engine})
	made := ""
	for i := range items {
		if err := enforce(policies, &items[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", items[i].Object, err)
		}
		if items[i].Policy != nil {
			made = items[i].Policy.Name
		}
	}
	if made == "" {
		return nil, fmt.Errorf("%s holds no constraint of the template", constraint)
	}
	policies.MarkComplete()
	return &inForce{policy: made, snapshot: policies.Snapshot()}, nil
}

// unplaced are the documents as they count for an object that is in no namespace, and is none: gator has every
// constraint match it, whatever namespaces are named or selected, unless its scope is Namespaced.
func unplaced(read []manifest.Document) (loose []manifest.Document, judged, changed bool) {
	judged = true
	for _, d := range read {
		scope, _, _ := unstructured.NestedString(d.Object, "spec", "match", "scope")
		judged = judged && scope != "Namespaced"
		object := runtime.DeepCopyJSON(d.Object)
		for _, field := range []string{"namespaces", "namespaceSelector", "scope"} {
			_, there, _ := unstructured.NestedFieldNoCopy(object, "spec", "match", field)
			unstructured.RemoveNestedField(object, "spec", "match", field)
			changed = changed || there
		}
		loose = append(loose, manifest.Document{File: d.File, Line: d.Line, Object: object})
	}
	return loose, judged, changed
}

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
	by, judging := matched(r), j.placed
	if by.Namespace == "" && by.Kind.GroupKind() != policy.NamespaceKind() {
		judging = j.unplaced
	}
	switch {
	case j.silent || judging == nil:
		return nil, nil
	case judging.lacksNamespace(by):
		return unmatched(r), nil
	}
	seeing := judging.snapshot.Seeing(inventory.NewFixed(others, nil))
	result, _ := seeing.EvaluateWhereMatched(ctx, judging.policy, r, by)
	return result.Decision.Violations, result.Decision.Err
}

// matched is a request as gator matches constraints by it: of any operation, or of none, and where the Namespace isn't
// in the inventory, in the namespace that the object says.
func matched(r *policy.Request) *policy.Request {
	by := *r
	by.Operation = policy.Create
	if r.NamespaceObject == nil {
		by.Namespace, _ = policy.Metadata(r.Judged())["namespace"].(string)
	}
	return &by
}

// lacksNamespace says that the constraint can't be said to match for want of the Namespace. Even a selector of
// every namespace asks for it.
func (p *inForce) lacksNamespace(r *policy.Request) bool {
	if r.Namespace == "" || r.NamespaceObject != nil || r.Kind.GroupKind() == policy.NamespaceKind() {
		return false
	}
	return slices.ContainsFunc(p.snapshot.Concerning(r), func(of *v1alpha1.ClusterRegoPolicy) bool {
		return of.Name == p.policy && of.Spec.Match.NamespaceSelector != nil
	})
}

// unmatched is what gator finds of an object of which it can't say for want of the Namespace whether the constraint
// matches: that is a violation.
func unmatched(r *policy.Request) []policy.Violation {
	name, _ := policy.Metadata(r.Judged())["name"].(string)
	return []policy.Violation{{Message: "unable to match constraints: error matching the requested object: " +
		name + " :failed to run Match criteria: namespace selector for namespace-scoped object but missing " +
		"Namespace"}}
}
