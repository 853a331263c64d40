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
)

// shown is how many differences are printed.
const shown = 20

// finding is one violation: which object violates, and the message, which names the constraint.
type finding struct{ object, message string }

// compare has Gatekeeper's engine and evenkeel judge the same objects by the same ConstraintTemplates and constraints,
// as they are. Each violation of either must be one of the other, word for word and as often. The engine is fed as
// Gatekeeper's audit feeds it, not as gator test does: see gator/engine.
func compare(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "evenkeel-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	rules, objects := filepath.Join(work, "rules"), filepath.Join(work, "objects")
	if err := writeEstate(rules, objects, o.objects, o.seed); err != nil {
		return err
	}
	here, err := root()
	if err != nil {
		return err
	}
	own, engine := filepath.Join(work, "evenkeel"), filepath.Join(work, "engine")
	if err := goBuild(ctx, filepath.Join(here, "..", ".."), own, "./cmd/evenkeel"); err != nil {
		return err
	}
	if err := goBuild(ctx, filepath.Join(here, "gator"), engine, "./engine"); err != nil {
		return err
	}
	theirs, err := findings(ctx, tool{name: "Gatekeeper's engine", command: []string{engine,
		"--rules", filepath.Join(rules, "all.yaml"), "--objects", filepath.Join(objects, "all.yaml")}}, gatorFindings)
	if err != nil {
		return err
	}
	ours, err := findings(ctx, tool{name: "evenkeel check",
		command: []string{own, "check", "-p", rules, "-o", "json", objects}}, ownFindings)
	if err != nil {
		return err
	}
	if err := same(theirs, ours); err != nil {
		return err
	}
	fmt.Printf("%d objects, seed %d: Gatekeeper %s and evenkeel find the same %d violations\n", o.objects, o.seed,
		gatorVersion, len(ours))
	return nil
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
