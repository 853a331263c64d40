// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/hack/bench/internal/own"
	"evenkeel.dev/evenkeel/hack/bench/internal/reviews"
)

// compare has Gatekeeper's engine and evenkeel check judge the same objects by the same ConstraintTemplates and
// constraints, and both webhooks judge reviews of these objects. Each violation of either must be one of the other,
// word for word and as often. The engine is fed as Gatekeeper's audit and its webhook feed it, not as gator test does:
// see gator/engine.
func (b *bench) compare(ctx context.Context) error {
	asked, err := writeEstate(b.in, b.objects, b.seed)
	if err != nil {
		return err
	}
	checker, err := b.checker(ctx)
	if err != nil {
		return err
	}
	engine, err := b.gatekeeper(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("comparing %d objects and %d reviews of them\n", b.objects, asked)
	q := own.Question{Rules: b.in("rules/all.yaml"), Known: b.in("objects/all.yaml")}
	var audit []audited
	if err := engine.ask(ctx, q, &audit); err != nil {
		return err
	}
	var theirs []string
	for _, a := range audit {
		theirs = append(theirs, a.Object+": "+a.Message)
	}
	text, err := output(exec.CommandContext(ctx, checker, "check", "-p", b.in("rules"), "-o", "json", b.in("objects")))
	if err != nil {
		return err
	}
	ours, err := findings(text)
	if err != nil {
		return err
	}
	if err := same(theirs, ours); err != nil {
		return err
	}
	q.Reviews = b.in("reviews")
	summary, err := compareReviews(ctx, engine, q)
	if err != nil {
		return err
	}
	fmt.Printf("%d objects, seed %d: Gatekeeper %s and evenkeel find the same %d violations\n%s\n", b.objects, b.seed,
		gatorVersion, len(ours), summary)
	return nil
}

// compareReviews compares the verdicts of Gatekeeper's webhook with those of Evenkeel's, by each of its engines.
func compareReviews(ctx context.Context, engine program, q own.Question) (summary string, err error) {
	webhook, err := worker("judge")
	if err != nil {
		return "", err
	}
	var theirs, ours []reviews.Verdict
	if err := engine.ask(ctx, q, &theirs); err != nil {
		return "", err
	}
	for _, q.Engine = range []string{"compiled", "topdown"} {
		if err := webhook.ask(ctx, q, &ours); err != nil {
			return "", err
		}
		if summary, err = reviews.Same(q.Reviews, theirs, ours); err != nil {
			return "", fmt.Errorf("evenkeel's webhook, %s: %w", q.Engine, err)
		}
	}
	return summary, nil
}

// findings are those of evenkeel check's JSON: "KIND NAMESPACE/NAME: MESSAGE".
func findings(output []byte) (all []string, err error) {
	var report struct {
		Results []struct {
			Object     struct{ Kind, Namespace, Name string }
			Violations []struct{ Message string }
			Error      string
		}
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return nil, fmt.Errorf("read the output of evenkeel check: %w", err)
	}
	for _, r := range report.Results {
		object := fmt.Sprintf("%s %s/%s: ", r.Object.Kind, r.Object.Namespace, r.Object.Name)
		if r.Error != "" {
			all = append(all, object+"error: "+r.Error)
		}
		for _, v := range r.Violations {
			all = append(all, object+v.Message)
		}
	}
	return all, nil
}

// same compares findings, in any order.
func same(theirs, ours []string) error {
	slices.Sort(theirs)
	slices.Sort(ours)
	if diff := cmp.Diff(theirs, ours); diff != "" {
		return fmt.Errorf("violations differ: %d of Gatekeeper, %d of Evenkeel (-Gatekeeper +Evenkeel):\n%s",
			len(theirs), len(ours), diff)
	}
	if len(ours) == 0 {
		return errors.New("nothing is found: that proves nothing")
	}
	return nil
}
