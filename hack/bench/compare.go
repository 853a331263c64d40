// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/hack/bench/internal/reviews"
)

// shown is how many differences are printed.
const shown = 20

// finding is one violation: which object violates, and the message, which names the constraint.
type finding struct{ object, message string }

// compare has Gatekeeper's engine and evenkeel judge the same objects by the same ConstraintTemplates and
// constraints, as they are, and what the API server would ask of these objects. Each violation of either must be
// one of the other, word for word and as often. The engine is fed as Gatekeeper's audit and its webhook feed it,
// not as gator test does: see gator/engine.
func compare(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "evenkeel-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	files, asked, err := writeEstate(work, o.objects, o.seed)
	if err != nil {
		return err
	}
	programs, err := buildCompared(ctx, work)
	if err != nil {
		return err
	}
	fmt.Printf("judging %d objects and %d reviews of them, each by both\n", o.objects, asked)
	found, err := compareAudits(ctx, programs, files)
	if err != nil {
		return err
	}
	counted, err := compareReviews(ctx, programs, files)
	if err != nil {
		return err
	}
	fmt.Printf("%d objects, seed %d: Gatekeeper %s and evenkeel find the same %d violations\n", o.objects, o.seed,
		gatorVersion, found)
	fmt.Println(counted)
	return nil
}

// compared are the programs: evenkeel, its webhook, and Gatekeeper's engine.
type comparedPrograms struct{ own, webhook, engine string }

func buildCompared(ctx context.Context, work string) (p comparedPrograms, err error) {
	here, err := root()
	if err != nil {
		return p, err
	}
	in := func(name string) string { return filepath.Join(work, name) }
	p = comparedPrograms{in("evenkeel"), in("own"), in("engine")}
	for _, build := range []struct{ says, module, program, pkg string }{
		{"building evenkeel", filepath.Join(here, "..", ".."), p.own, "./cmd/evenkeel"},
		{"building its webhook", filepath.Join(here, "own"), p.webhook, "."},
		{"building Gatekeeper's engine; it takes minutes, once", filepath.Join(here, "gator"), p.engine,
			"./engine"},
	} {
		fmt.Println(build.says)
		if err := goBuild(ctx, build.module, build.program, build.pkg); err != nil {
			return p, err
		}
	}
	return p, nil
}

// compareAudits says how many violations both find.
func compareAudits(ctx context.Context, p comparedPrograms, files estateFiles) (int, error) {
	theirs, err := findings(ctx, tool{name: "Gatekeeper's engine", command: []string{p.engine,
		"--rules", filepath.Join(files.rules, "all.yaml"), "--objects", filepath.Join(files.objects, "all.yaml")}},
		gatorFindings)
	if err != nil {
		return 0, err
	}
	ours, err := findings(ctx, tool{name: "evenkeel check",
		command: []string{p.own, "check", "-p", files.rules, "-o", "json", files.objects}}, ownFindings)
	if err != nil {
		return 0, err
	}
	return len(ours), same(theirs, ours)
}

// compareReviews has reviews judged by Evenkeel's webhook by the compiled engine, and by topdown alone.
func compareReviews(ctx context.Context, p comparedPrograms,
	files estateFiles) (counted reviews.Counted, err error) {
	asked, err := reviews.Read(files.reviews)
	if err != nil {
		return counted, err
	}
	arguments := []string{"--rules", filepath.Join(files.rules, "all.yaml"), "--reviews", files.reviews,
		"--known", filepath.Join(files.objects, "all.yaml")}
	var theirs []reviews.Verdict
	if err := (judge{name: "Gatekeeper's engine", command: []string{p.engine}}).ask(ctx, &theirs,
		arguments...); err != nil {
		return counted, err
	}
	for _, j := range []judge{
		{name: "evenkeel's webhook", command: []string{p.webhook}},
		{name: "evenkeel's webhook, topdown", command: []string{p.webhook, "--engine", "topdown"}},
	} {
		var ours []reviews.Verdict
		if err := j.ask(ctx, &ours, arguments...); err != nil {
			return counted, err
		}
		if counted, err = reviews.Same(asked, theirs, ours); err != nil {
			return counted, fmt.Errorf("%s: %w", j.name, err)
		}
	}
	return counted, nil
}

func findings(ctx context.Context, t tool, read func([]byte) ([]finding, error)) ([]finding, error) {
	output, err := run(ctx, t)
	if err != nil {
		return nil, err
	}
	found, err := read(output)
	if err != nil {
		return nil, fmt.Errorf("read what %s says: %w", t.name, err)
	}
	slices.SortFunc(found, func(a, b finding) int {
		return strings.Compare(a.object+"\n"+a.message, b.object+"\n"+b.message)
	})
	return found, nil
}

// same says what one finds and the other doesn't.
func same(theirs, ours []finding) error {
	if len(theirs) == 0 {
		return errors.New("nothing is found: that proves nothing")
	}
	counts := map[finding]int{}
	for _, f := range theirs {
		counts[f]++
	}
	for _, f := range ours {
		counts[f]--
	}
	var differences []string
	for f, n := range counts {
		if n > 0 {
			differences = append(differences, fmt.Sprintf("%s: Gatekeeper alone: %s", f.object, f.message))
		} else if n < 0 {
			differences = append(differences, fmt.Sprintf("%s: evenkeel alone: %s", f.object, f.message))
		}
	}
	if len(differences) == 0 {
		return nil
	}
	slices.Sort(differences)
	return fmt.Errorf("%d differences, Gatekeeper finds %d violations and evenkeel %d:\n%s", len(differences),
		len(theirs), len(ours), strings.Join(differences[:min(shown, len(differences))], "\n"))
}

type named struct{ Kind, Namespace, Name string }

func (n named) String() string { return n.Kind + " " + n.Namespace + "/" + n.Name }

func ownFindings(output []byte) (found []finding, err error) {
	var report struct {
		Results []struct {
			Object     named
			Violations []struct{ Message string }
			Error      string
		}
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return nil, err
	}
	for _, r := range report.Results {
		if r.Error != "" {
			found = append(found, finding{r.Object.String(), "error: " + r.Error})
		}
		for _, v := range r.Violations {
			found = append(found, finding{r.Object.String(), v.Message})
		}
	}
	return found, nil
}

func gatorFindings(output []byte) (found []finding, err error) {
	var results []struct {
		Msg             string
		ViolatingObject struct {
			Kind     string
			Metadata named
		}
	}
	if err := json.Unmarshal(output, &results); err != nil {
		return nil, err
	}
	for _, r := range results {
		object := r.ViolatingObject.Metadata
		object.Kind = r.ViolatingObject.Kind
		found = append(found, finding{object.String(), r.Msg})
	}
	return found, nil
}
