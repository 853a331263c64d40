// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

func pace(uid types.UID, inFlight int32) *v1alpha1.RemediationStrategy {
	return &v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: "careful", UID: uid},
		Spec: v1alpha1.RemediationStrategySpec{MaxInFlight: ptr.To(intstr.FromInt32(inFlight))}}
}

func automatic(name string) *v1alpha1.ClusterRegoPolicy {
	p := saying(name, "x")
	p.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
	p.Spec.Remediation.StrategyRef = &v1alpha1.StrategyReference{Name: "careful"}
	return p
}

// holds holds what a policy in force says of its remediation.
func holds(t *testing.T, c *catalog.Catalog, name string, mode v1alpha1.RemediationMode, inFlight int32,
	reason string) {
	t.Helper()
	got, follows := c.Snapshot().Definition(name).Spec.Remediation.Mode, c.Snapshot().Follows(name).MaxInFlight
	if got != mode || follows.IntVal != inFlight {
		t.Errorf("%s: mode %s with %s in flight, want %s with %d", name, got, follows, mode, inFlight)
	}
	status, _ := c.Status(name)
	problem := c.Snapshot().Unresolved(name)
	if (problem == nil) != (reason == "") || problem != nil && problem.Reason != reason ||
		status.Unresolved != problem {
		t.Errorf("%s: problem %+v, want %q", name, problem, reason)
	}
	if status.InForce.RemediationMode != mode {
		t.Errorf("%s: the status shows mode %s", name, status.InForce.RemediationMode)
	}
}

func TestAnEditOfAStrategyReachesEachPolicyThatFollowsIt(t *testing.T) {
	other := saying("own", "x")
	other.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
	c := newCatalog(t, automatic("a"), automatic("b"), other)
	holds(t, c, "a", v1alpha1.RemediationDisabled, v1alpha1.DefaultMaxInFlight, v1alpha1.ReasonStrategyNotFound)
	revision, _ := c.Snapshot().Revision("a")
	changes := c.Subscribe()
	set := func(s *v1alpha1.RemediationStrategy) {
		t.Helper()
		if err := c.SetStrategy(s); err != nil {
			t.Fatal(err)
		}
	}
	set(pace("one", 3))
	holds(t, c, "a", v1alpha1.RemediationAutomatic, 3, "")
	holds(t, c, "b", v1alpha1.RemediationAutomatic, 3, "")
	select {
	case <-changes:
	default:
		t.Error("nobody was told of the change")
	}
	set(pace("one", 5))
	holds(t, c, "a", v1alpha1.RemediationAutomatic, 5, "")
	if now, _ := c.Snapshot().Revision("a"); now != revision {
		t.Errorf("the revision became %s: a strategy changes neither verdict nor fix", now)
	}
	before := c.Snapshot()
	if err := c.DeleteStrategy("careful"); err != nil {
		t.Fatal(err)
	}
	holds(t, c, "a", v1alpha1.RemediationDisabled, v1alpha1.DefaultMaxInFlight, v1alpha1.ReasonStrategyNotFound)
	holds(t, c, "own", v1alpha1.RemediationAutomatic, v1alpha1.DefaultMaxInFlight, "")
	shared := pace("shared", 9)
	shared.Name = v1alpha1.DefaultStrategy
	set(shared)
	holds(t, c, "own", v1alpha1.RemediationAutomatic, 9, "")
	if err := c.DeleteStrategy(v1alpha1.DefaultStrategy); err != nil {
		t.Fatal(err)
	}
	holds(t, c, "own", v1alpha1.RemediationAutomatic, v1alpha1.DefaultMaxInFlight, "")
	if before.Strategy("careful") == nil || before.Unresolved("a") != nil {
		t.Error("a snapshot has changed")
	}
	set(pace("two", 7))
	holds(t, c, "a", v1alpha1.RemediationAutomatic, 7, "")
	if is := c.Snapshot().Strategy("careful"); is == nil || is.UID != "two" {
		t.Errorf("the snapshot holds %+v", is)
	}
	if got := said(c.Snapshot().Evaluate(t.Context(), podRequest()))["a"]; got != "x" {
		t.Errorf("verdict %q", got)
	}
}

// TestTheLastGoodRevisionFollowsTheStrategyAsItIs: a policy that doesn't compile keeps its
// rule, and not the strategy of that time.
func TestTheLastGoodRevisionFollowsTheStrategyAsItIs(t *testing.T) {
	c := catalog.New(catalog.Options{})
	if err := c.SetStrategy(pace("one", 3)); err != nil {
		t.Fatal(err)
	}
	if err := c.Set(automatic("a")); err != nil {
		t.Fatal(err)
	}
	broken := automatic("a")
	broken.Spec.Rego.Main = "package p\n\ndeny {{"
	broken.Spec.Remediation.StrategyRef.Name = "elsewhere"
	if err := c.Set(broken); err == nil {
		t.Fatal("Set took it")
	}
	holds(t, c, "a", v1alpha1.RemediationAutomatic, 3, "")
	if err := c.SetStrategy(pace("one", 4)); err != nil {
		t.Fatal(err)
	}
	holds(t, c, "a", v1alpha1.RemediationAutomatic, 4, "")
	if err := c.DeleteStrategy("careful"); err != nil {
		t.Fatal(err)
	}
	holds(t, c, "a", v1alpha1.RemediationDisabled, v1alpha1.DefaultMaxInFlight, v1alpha1.ReasonStrategyNotFound)
	if status, _ := c.Status("a"); status.Err == nil || !strings.Contains(status.Err.Error(), "p.rego") &&
		!strings.Contains(status.Err.Error(), "a.rego") {
		t.Errorf("the error was lost: %+v", status)
	}
}
