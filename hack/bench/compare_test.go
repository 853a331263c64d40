// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/hack/bench/internal/own"
)

var (
	generatedSeeds   = flag.String("seeds", "1", "seeds of the objects that TestVerdictsAreGatekeepers generates")
	generatedObjects = flag.Int("generated", 3000, "how many objects it generates for each seed")
)

// TestVerdictsAreGatekeepers has Gatekeeper's engine and evenkeel check evaluate the same objects by the same
// ConstraintTemplates and constraints (estate/rules.yaml), and both webhooks evaluate reviews of these objects. Each
// violation of either must be one of the other, word for word and as often. The engine is fed as Gatekeeper's audit and
// its webhook feed it, not as gator test does: see gator/engine.
func TestVerdictsAreGatekeepers(t *testing.T) {
	if os.Getenv("EVENKEEL_EXHAUSTIVE") == "" {
		t.Skip("make compare-gator and make test-nightly run it: building Gatekeeper's engine takes minutes")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	tools := &bench{here: here, work: t.TempDir()}
	checker, err := tools.checker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	engine, err := tools.gatekeeper(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range strings.Fields(*generatedSeeds) {
		t.Run(text, func(t *testing.T) {
			seed, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			b := &bench{work: t.TempDir()}
			summary, err := b.compare(t.Context(), checker, engine, *generatedObjects, seed)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(summary)
		})
	}
}

// compare compares the verdicts on the objects of a seed, and on reviews of them.
func (b *bench) compare(ctx context.Context, checker string, engine program, objects int, seed uint64) (
	summary string, err error) {
	if _, err := writeEstate(b.in, objects, seed); err != nil {
		return "", err
	}
	q := own.Question{Rules: b.in("rules/all.yaml"), Known: b.in("objects/all.yaml")}
	var audit []audited
	if err := engine.ask(ctx, q, &audit); err != nil {
		return "", err
	}
	var theirs []string
	for _, a := range audit {
		theirs = append(theirs, a.Object+": "+a.Message)
	}
	text, err := output(exec.CommandContext(ctx, checker, "check", "-p", b.in("rules"), "-o", "json", b.in("objects")))
	if err != nil {
		return "", err
	}
	ours, err := findings(text)
	if err != nil {
		return "", err
	}
	if err := same(theirs, ours); err != nil {
		return "", err
	}
	q.Reviews = b.in("reviews")
	if summary, err = compareReviews(ctx, engine, q); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d objects: Gatekeeper %s and evenkeel find the same %d violations\n%s", objects, gatorVersion,
		len(ours), summary), nil
}

// compareReviews compares the verdicts of Gatekeeper's webhook with those of Evenkeel's, by each of its engines.
func compareReviews(ctx context.Context, engine program, q own.Question) (summary string, err error) {
	webhook, err := worker("judge")
	if err != nil {
		return "", err
	}
	var theirs, ours []own.Verdict
	if err := engine.ask(ctx, q, &theirs); err != nil {
		return "", err
	}
	for _, q.Engine = range []string{"compiled", "topdown"} {
		if err := webhook.ask(ctx, q, &ours); err != nil {
			return "", err
		}
		if summary, err = sameVerdicts(q.Reviews, theirs, ours); err != nil {
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

func TestFindingsAreCompared(t *testing.T) {
	ours, err := findings([]byte(`{"results":[{"object":{"kind":"Pod","namespace":"shop","name":"a"},"error":"late",` +
		`"violations":[{"message":"no owner"}]}]}`))
	a, b := "Pod shop/a: error: late", "Pod shop/a: no owner"
	if err != nil || !slices.Equal(ours, []string{a, b}) {
		t.Fatalf("%q, %v", ours, err)
	}
	if err := same([]string{b, a}, ours); err != nil {
		t.Error(err)
	}
	for name, theirs := range map[string][]string{"one missed": {a}, "one too many": {a, b, b}, "another": {a, "x"}} {
		if err := same(theirs, ours); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	if err := same(nil, nil); err == nil {
		t.Error("nothing passes for the same")
	}
}
