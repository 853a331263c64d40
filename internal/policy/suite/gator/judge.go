// SPDX-License-Identifier: Apache-2.0

package gator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/policy/rego"
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
	for _, item := range gatekeeper.Migrate(read, gatekeeper.Options{}) {
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
		// A constraint judges whatever request it is given.
		item.Policy.Spec.Admission.Operations = []v1alpha1.Operation{v1alpha1.OperationCreate,
			v1alpha1.OperationUpdate, v1alpha1.OperationDelete}
		return policies.Set(item.Policy)
	}
	return nil
}

// violations are what is found of an object.
func (j *judge) violations(ctx context.Context, r *policy.Request) ([]policy.Violation, error) {
	if j.silent {
		return nil, nil
	}
	result, _ := j.snapshot.EvaluateOne(ctx, j.policy, r)
	return result.Decision.Violations, result.Decision.Err
}
