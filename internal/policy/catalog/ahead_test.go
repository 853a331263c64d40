// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// listing knows all kinds but some, which are still being listed.
type listing struct {
	*inventory.Fixed
	underway map[string]bool
}

func (l *listing) Unknown(references []inventory.Reference) (out []inventory.Unknown) {
	for _, r := range references {
		if l.underway[r.Kind] {
			out = append(out, inventory.Unknown{Reference: r, Err: errors.New("not yet"), Pending: true})
		}
	}
	return out
}

// lookingUp says something, once it has looked a kind up.
func lookingUp(generation int64, says, kind string) *v1alpha1.ClusterRegoPolicy {
	p := saying("p", says)
	p.Generation = generation
	if kind != "" {
		p.Spec.Match.References = []v1alpha1.ReferencedKind{{Kind: kind}}
		p.Spec.Rego.Main = strings.Replace(p.Spec.Rego.Main, "input.pod", "{ count(data.inventory.cluster.v1."+kind+
			") >= 0; input.pod }", 1)
	}
	return p
}

// TestARevisionWaitsForWhatItLooksUp goes through edits of a policy whose new kinds take a while to be listed.
func TestARevisionWaitsForWhatItLooksUp(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	known := &listing{Fixed: inventory.NewFixed(nil, nil), underway: map[string]bool{"Node": true, "Service": true}}
	c := catalog.New(catalog.Options{Inventory: known, Clock: clock})
	set := func(p *v1alpha1.ClusterRegoPolicy) func() error { return func() error { return c.Set(p) } }
	advance := func() error {
		c.Advance()
		return nil
	}
	steps := []struct {
		when       string
		do         func() error
		generation int64 // in force
		ahead      int64 // 0 for nothing
		follows    string
	}{
		{"its first definition is in force at once", set(lookingUp(1, "a", "Node")), 1, 0, "Node"},
		{"an edit of what it says is too", set(lookingUp(2, "b", "")), 2, 0, ""},
		{"one that looks something up waits", set(lookingUp(3, "c", "Node")), 2, 3, "Node"},
		{"set anew, too", set(lookingUp(3, "c", "Node")), 2, 3, "Node"},
		{"asked too early, too", advance, 2, 3, "Node"},
		{"an edit meanwhile takes its place", set(lookingUp(4, "d", "Service")), 2, 4, "Service"},
		{"one that is broken keeps what is in force", func() error {
			if c.Set(lookingUp(5, "", "{")) == nil {
				return errors.New("it compiles")
			}
			return nil
		}, 2, 0, ""},
		{"its correction waits", set(lookingUp(6, "e", "Node")), 2, 6, "Node"},
		{"back to what is in force", set(lookingUp(7, "b", "")), 7, 0, ""},
		{"once more", set(lookingUp(8, "e", "Node")), 7, 8, "Node"},
		{"it is listed", func() error {
			known.underway["Node"] = false
			return advance()
		}, 8, 0, "Node"},
		{"another kind", set(lookingUp(9, "f", "Service")), 8, 9, "Service"},
		{"for half a minute", func() error {
			clock.Step(longestAhead / 2)
			return advance()
		}, 8, 9, "Service"},
		{"edited meanwhile", set(lookingUp(10, "g", "Service")), 8, 10, "Service"},
		{"longer than any may wait", func() error {
			clock.Step(longestAhead/2 + 1)
			return advance()
		}, 10, 0, "Service"},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.when, err)
		}
		status, _ := c.Status("p")
		ahead := int64(0)
		if status.Ahead != nil {
			ahead = status.Ahead.Generation
			if len(status.Ahead.Awaits) != 1 || status.Ahead.Awaits[0].Reference.Kind != step.follows {
				t.Errorf("%s: it waits for %+v", step.when, status.Ahead.Awaits)
			}
		}
		if status.Generation != step.generation || ahead != step.ahead {
			t.Errorf("%s: %d is in force, %d ahead; want %d and %d", step.when, status.Generation, ahead,
				step.generation, step.ahead)
		}
		follows := false
		for _, r := range c.Snapshot().References() {
			follows = follows || r.Kind == step.follows
		}
		if follows != (step.follows != "") {
			t.Errorf("%s: what it looks up is followed: %t", step.when, follows)
		}
	}
}

// longestAhead is the minute that the documentation says.
const longestAhead = time.Minute

// TestPoliciesOfATemplateWaitForWhatItLooksUp has a template's rules begin to look something up.
func TestPoliciesOfATemplateWaitForWhatItLooksUp(t *testing.T) {
	known := &listing{Fixed: inventory.NewFixed(nil, nil), underway: map[string]bool{"Node": true}}
	c := catalog.New(catalog.Options{Inventory: known})
	p := by("a", `{"says": "red"}`)
	p.Spec.Match.References = []v1alpha1.ReferencedKind{{Kind: "Node"}}
	looking := templateOf(2, func(t *v1alpha1.RegoTemplate) {
		t.Spec.Rego.Main = strings.Replace(saysParameter, "if input.pod",
			"if { count(data.inventory.cluster.v1.Node) >= 0; input.pod }", 1)
	})
	known.underway["Node"] = false
	if err := errors.Join(c.SetTemplate(templateOf(1)), c.Set(p)); err != nil {
		t.Fatal(err)
	}
	before, _ := c.Snapshot().Revision("a")
	known.underway["Node"] = true
	if err := c.SetTemplate(looking); err != nil {
		t.Fatal(err)
	}
	if now, _ := c.Snapshot().Revision("a"); now != before || len(c.Snapshot().Naming("t")) != 1 {
		t.Error("the policy doesn't wait for what its template looks up")
	}
	known.underway["Node"] = false
	c.Advance()
	if now, _ := c.Snapshot().Revision("a"); now == before {
		t.Error("the template isn't in force though what it looks up is known")
	}
}

// TestWhatWaitsFollowsItsStrategy changes the strategy of a policy that waits.
func TestWhatWaitsFollowsItsStrategy(t *testing.T) {
	known := &listing{Fixed: inventory.NewFixed(nil, nil), underway: map[string]bool{"Node": true}}
	c := catalog.New(catalog.Options{Inventory: known})
	p := lookingUp(2, "b", "Node")
	p.Spec.Remediation.StrategyRef = &v1alpha1.StrategyReference{Name: "s"}
	if err := errors.Join(c.Set(saying("p", "a")), c.Set(p)); err != nil {
		t.Fatal(err)
	}
	s := &v1alpha1.RemediationStrategy{}
	s.Name = "s"
	if err := c.SetStrategy(s); err != nil {
		t.Fatal(err)
	}
	known.underway["Node"] = false
	c.Advance()
	if status, _ := c.Status("p"); status.Generation != 2 || status.Unresolved != nil {
		t.Errorf("generation %d is in force, and its strategy is %v", status.Generation, status.Unresolved)
	}
}
