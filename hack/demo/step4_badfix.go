// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/hack/demo/internal/fleet"
)

const (
	harmfulPolicy    = "mirrored-images"
	harmfulPolicyDir = "hack/demo/policies/mirrored_images"
	aftermathLimit   = 20 * time.Second
	// The reasons of Evenkeel's events are part of its API.
	eventRolledBack    = "RolledBack"
	eventBreakerOpened = "BreakerOpened"
)

// undoMark is what step 4 leaves behind and step 5 must find unchanged.
type undoMark struct {
	snapshot fleet.Snapshot
	others   []types.NamespacedName
}

// surviveABadFix is step 4.
func (d *demo) surviveABadFix(ctx context.Context) error {
	before, err := fleet.Take(ctx, d.client)
	if err != nil {
		return err
	}
	mark := d.recorder.Mark()
	name, file, err := d.buildPolicy(ctx, harmfulPolicyDir, func(*v1alpha1.ClusterRegoPolicy) {})
	if err != nil {
		return err
	}
	if name != harmfulPolicy {
		return fmt.Errorf("%s holds policy %s: the demo expects %s", harmfulPolicyDir, name, harmfulPolicy)
	}
	if err := d.kubectl(ctx, "apply", "-f", file); err != nil {
		return err
	}
	plan, err := d.awaitPlan(ctx, harmfulPolicy, nil, fleet.Violating)
	if err != nil {
		return err
	}
	r, took, err := d.follow(ctx, plan)
	if err != nil {
		return err
	}
	if err := d.expect(ctx, "The canary fails and is rolled back", took, rolledBack(r)); err != nil {
		return err
	}
	// One namespace alone doesn't speak against the fix: whoever edits it could have
	// made it fail there.
	if plan, err = d.awaitPlan(ctx, harmfulPolicy, map[string]bool{plan: true}, fleet.Violating); err != nil {
		return err
	}
	again, took, err := d.follow(ctx, plan)
	if err != nil {
		return err
	}
	if err := d.expect(ctx, "A second one, in another namespace, does so too", took, rolledBack(again)); err != nil {
		return err
	}
	return d.proveUndone(ctx, before, mark, r, again)
}

// rolledBack holds when the plan was rolled back and only the canary was tried.
func rolledBack(r *rollout) check {
	return func(context.Context) (string, bool, error) {
		s := r.plan.Status
		seen := fmt.Sprintf("%s, %d reverted, %d skipped", s.Phase, s.Counts.Reverted, s.Counts.Skipped)
		return seen, s.Phase == v1alpha1.PhaseRolledBack && s.Counts.Reverted == 1 &&
			s.Counts.Skipped == r.plan.Spec.Plan.Targets-1, nil
	}
}

func (d *demo) proveUndone(ctx context.Context, before fleet.Snapshot, mark int, first, second *rollout) error {
	canary, others := split(first)
	again, _ := split(second)
	canaries := slices.Concat(canary, again)
	if len(canary) != 1 || len(again) != 1 || canary[0].Namespace == again[0].Namespace {
		return fmt.Errorf("the canaries are %v: want one of each plan, in two namespaces", canaries)
	}
	others = slices.DeleteFunc(others, func(o types.NamespacedName) bool { return o == again[0] })
	d.undone = undoMark{before, others}
	if err := d.await(ctx, "Its only writes were the fix and its undoing, on the two canaries", aftermathLimit,
		d.onlyThere(mark, canaries...)); err != nil {
		return err
	}
	for _, c := range []struct {
		claim string
		check check
	}{
		{"The first canary is exactly what it was", d.asBefore(before, canary[0])},
		{"The second is, too", d.asBefore(before, again[0])},
		{"The other 28 were never touched", d.untouched(before, others)},
	} {
		if err := d.expect(ctx, c.claim, 0, c.check); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		claim string
		check check
	}{
		{"The second canary is available again", d.available(again[0], nil)},
		{"The policy's circuit breaker is open, the global one isn't", d.breakerOpen},
		{"An event escalates the rollback", d.event(eventRolledBack, "Remediation", second.plan.Name)},
		{"An event escalates the open breaker",
			d.event(eventBreakerOpened, "RemediationBreaker", v1alpha1.PolicyBreakerPrefix+harmfulPolicy)},
	} {
		if err := d.await(ctx, c.claim, aftermathLimit, c.check); err != nil {
			return err
		}
	}
	return nil
}

// split is the plan's canary and its other targets.
func split(r *rollout) (canary, others []types.NamespacedName) {
	for _, t := range r.targets() {
		if t.wave == 0 {
			canary = append(canary, t.object)
		} else {
			others = append(others, t.object)
		}
	}
	return canary, others
}

// onlyThere holds when the writes are two to each canary, all Evenkeel's.
func (d *demo) onlyThere(mark int, canaries ...types.NamespacedName) check {
	return func(context.Context) (string, bool, error) {
		writes, err := d.recorder.Since(mark)
		if err != nil {
			return "", false, err
		}
		for _, w := range writes {
			if !slices.Contains(canaries, w.Object) || !ours(w.Manager) {
				return "", false, fmt.Errorf("%s was written by %q", w.Object, w.Manager)
			}
		}
		return fmt.Sprintf("%d writes to %v", len(writes), canaries), len(writes) == 2*len(canaries), nil
	}
}

// asBefore holds when nothing that is declared differs from before.
func (d *demo) asBefore(before fleet.Snapshot, key types.NamespacedName) check {
	return func(ctx context.Context) (string, bool, error) {
		now, err := fleet.Take(ctx, d.client)
		if err != nil {
			return "", false, err
		}
		if now.Items[key] == nil {
			return fmt.Sprintf("%s is gone", key), false, nil
		}
		difference, err := fleet.Difference(before.Items[key], now.Items[key])
		if err != nil || difference != "" {
			return difference, false, err
		}
		return fmt.Sprintf("%s: nothing declared differs", key), true, nil
	}
}

func (d *demo) breakerOpen(ctx context.Context) (string, bool, error) {
	global, err := d.breakerState(ctx, v1alpha1.GlobalBreakerName)
	if err != nil {
		return "", false, err
	}
	var b v1alpha1.RemediationBreaker
	key := client.ObjectKey{Name: v1alpha1.PolicyBreakerPrefix + harmfulPolicy}
	if err := d.client.Get(ctx, key, &b); client.IgnoreNotFound(err) != nil {
		return "", false, fmt.Errorf("read RemediationBreaker %s: %w", key.Name, err)
	}
	seen := fmt.Sprintf("%s %s (%s)", key.Name, b.Status.State, b.Status.Reason)
	return seen, b.Status.State == v1alpha1.BreakerOpen && b.Status.OnlyNamespace == "" &&
		global != v1alpha1.BreakerOpen, nil
}

// event holds when the API server has a warning event with that reason about
// the object.
func (d *demo) event(reason, kind, name string) check {
	return func(ctx context.Context) (string, bool, error) {
		var list eventsv1.EventList
		if err := d.client.List(ctx, &list); err != nil {
			return "", false, fmt.Errorf("list the events: %w", err)
		}
		for _, e := range list.Items {
			if e.Reason == reason && e.Regarding.Kind == kind && e.Regarding.Name == name {
				d.show.Say("Event about %s %s: %s", kind, name, e.Note)
				return fmt.Sprintf("%s %s", e.Type, e.Reason), e.Type == "Warning", nil
			}
		}
		return fmt.Sprintf("no event %s about %s %s", reason, kind, name), false, nil
	}
}
