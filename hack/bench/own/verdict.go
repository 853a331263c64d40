// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/webhook/review"
)

// verdict is what is said of one review, in the form of hack/bench/gator/engine.
type verdict struct {
	Allowed    bool     `json:"allowed"`
	Violations []string `json:"violations"`
}

// teller keeps what its judge finds, whatever becomes of it, for one review.
type teller struct {
	review.Judge
	violations []string
}

func (t *teller) EvaluateWhere(ctx context.Context, r *policy.Request,
	keep func(*v1alpha1.ClusterRegoPolicy) bool) []catalog.Result {
	results := t.Judge.EvaluateWhere(ctx, r, keep)
	for i := range results {
		name := results[i].Definition.Name
		if err := results[i].Err; err != nil {
			t.violations = append(t.violations, fmt.Sprintf("error %s: %s", name, err))
		}
		for _, v := range results[i].Violations {
			action := theirs(results[i].Action())
			t.violations = append(t.violations, fmt.Sprintf("%s %s: %s", action, name, v.Message))
		}
	}
	return results
}

// theirs is an action in Gatekeeper's words.
func theirs(action v1alpha1.AdmissionAction) string {
	switch action {
	case v1alpha1.AdmissionDeny:
		return "deny"
	case v1alpha1.AdmissionWarn:
		return "warn"
	default:
		return "dryrun"
	}
}

// tell prints the verdicts of a cluster with some objects: all of its Namespaces are known, and rules look them
// all up.
func tell(ctx context.Context, rules, file, known, engine string) error {
	snapshot, err := policies(ctx, rules, engine)
	if err != nil {
		return err
	}
	documents, err := manifest.Read(ctx, []string{known}, nil, manifest.Options{})
	if err != nil {
		return err
	}
	objects, in := []map[string]any{}, cluster{}
	for i := range documents {
		object := documents[i].Object
		objects = append(objects, object)
		if object["kind"] == "Namespace" && object["apiVersion"] == "v1" {
			name, _ := policy.Metadata(object)["name"].(string)
			in[name] = object
		}
	}
	bodies, err := lines(file)
	if err != nil {
		return err
	}
	all, err := tellEach(in, snapshot.Seeing(inventory.NewFixed(objects, nil)), bodies)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

func tellEach(in cluster, judge review.Judge, bodies [][]byte) (all []verdict, err error) {
	told := &teller{Judge: judge}
	h, err := handlerIn(in, told)
	if err != nil {
		return nil, err
	}
	for _, body := range bodies {
		told.violations = []string{}
		text, err := answered(h, body)
		if err != nil {
			return nil, err
		}
		var answer struct{ Response *struct{ Allowed bool } }
		if err := json.Unmarshal(text, &answer); err != nil {
			return nil, err
		}
		if answer.Response == nil {
			return nil, errors.New("there is no response in " + string(text))
		}
		slices.Sort(told.violations)
		all = append(all, verdict{answer.Response.Allowed, told.violations})
	}
	return all, nil
}

// cluster has some Namespaces.
type cluster map[string]map[string]any

// Get implements review.Namespaces.
func (c cluster) Get(_ context.Context, name string) (map[string]any, error) { return c[name], nil }
