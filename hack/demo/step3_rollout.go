// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/hack/demo/internal/fleet"
	"evenkeel.dev/evenkeel/hack/demo/internal/screen"
)

const scanLimit = 30 * time.Second

// fixTheFleet is step 3.
func (d *demo) fixTheFleet(ctx context.Context) error {
	if err := d.await(ctx, "The scan finds the 30", scanLimit, d.scanFinds(fleetPolicy, fleet.Violating)); err != nil {
		return err
	}
	before, err := fleet.Take(ctx, d.client)
	if err != nil {
		return err
	}
	mark := d.recorder.Mark()
	earlier, err := d.plans(ctx, fleetPolicy)
	if err != nil {
		return err
	}
	d.show.Say("The policy's owner switches remediation on:")
	if err := d.kubectl(ctx, "patch", "rego", fleetPolicy, "--type=merge", "-p",
		`{"spec":{"remediation":{"mode":"Automatic"}}}`); err != nil {
		return err
	}
	name, err := d.awaitPlan(ctx, fleetPolicy, earlier, fleet.Violating)
	if err != nil {
		return err
	}
	r, took, err := d.follow(ctx, name)
	if err != nil {
		return err
	}
	if err := d.expect(ctx, "The rollout succeeds, every target verified and soaked", took, allDone(r)); err != nil {
		return err
	}
	return d.proveFixed(ctx, before, mark, r)
}

// allDone holds when the rollout succeeded and each of its targets is Done.
func allDone(r *rollout) check {
	return func(context.Context) (string, bool, error) {
		done := 0
		for _, t := range r.targets() {
			if t.record.State == v1alpha1.TargetDone {
				done++
			}
		}
		s := r.plan.Status
		seen := fmt.Sprintf("%s, %d of %d done", s.Phase, done, r.plan.Spec.Plan.Targets)
		return seen, s.Phase == v1alpha1.PhaseSucceeded && done == int(r.plan.Spec.Plan.Targets) &&
			done == int(s.Counts.Done), nil
	}
}

// proveFixed checks what the rollout did by what the API server's watch told,
// not by what Evenkeel says.
func (d *demo) proveFixed(ctx context.Context, before fleet.Snapshot, mark int, r *rollout) error {
	writes, err := d.recorder.Since(mark)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		claim string
		check check
	}{
		{"The canary went first, alone, until it had soaked", canaryAlone(r, writes)},
		{"Each wave began only when the one before it was over", wavesInOrder(r, writes)},
		{"Each of the 30 was written exactly once, by Evenkeel", writtenOnce(before, writes)},
		{"The good ones were never touched", d.untouched(before, before.Where(fleet.Not(fleet.Violates)))},
	} {
		if err := d.expect(ctx, c.claim, 0, c.check); err != nil {
			return err
		}
	}
	if err := d.await(ctx, "0 violate", scanLimit, d.violate(0)); err != nil {
		return err
	}
	if err := d.await(ctx, "The policy's scan says so, too", scanLimit, d.scanFinds(fleetPolicy, 0)); err != nil {
		return err
	}
	return d.await(ctx, "All Deployments are available", availableLimit, d.allAvailable(fleetSizeByThen))
}

// canaryAlone holds when the first write was the canary's, and the next came no
// sooner than the canary's soak after it.
func canaryAlone(r *rollout, writes []fleet.Write) check {
	return func(context.Context) (string, bool, error) {
		if len(writes) < 2 {
			return fmt.Sprintf("only %d writes were seen", len(writes)), false, nil
		}
		wave, planned := waveOf(r)[writes[0].Object]
		gap := writes[1].At.Sub(writes[0].At)
		seen := fmt.Sprintf("%s, the next write %s later", writes[0].Object, screen.Elapsed(gap))
		return seen, planned && wave == 0 && gap >= canarySoak, nil
	}
}

// wavesInOrder holds when no write of a wave came before one of an earlier wave,
// nor sooner than the soak after the last of the wave before.
func wavesInOrder(r *rollout, writes []fleet.Write) check {
	return func(context.Context) (string, bool, error) {
		waves := waveOf(r)
		figure := ""
		for i := 1; i < len(writes); i++ {
			last, next := waves[writes[i-1].Object], waves[writes[i].Object]
			gap := writes[i].At.Sub(writes[i-1].At)
			switch {
			case next < last:
				return fmt.Sprintf("%s of %s came after %s of %s", writes[i].Object, waveName(int(next)),
					writes[i-1].Object, waveName(int(last))), false, nil
			case next > last && gap < waveSoak:
				return fmt.Sprintf("%s began %s after %s", waveName(int(next)), screen.Elapsed(gap),
					waveName(int(last))), false, nil
			case next > last:
				figure += fmt.Sprintf(", %s", screen.Elapsed(gap))
			}
		}
		return fmt.Sprintf("pauses of %s", figure[min(2, len(figure)):]), figure != "", nil
	}
}

func waveOf(r *rollout) map[types.NamespacedName]int32 {
	waves := map[types.NamespacedName]int32{}
	for _, t := range r.targets() {
		waves[t.object] = t.wave
	}
	return waves
}

// writtenOnce holds when the writes are one for each object that violated
// before, all by Evenkeel, and each made the generation go up by one.
func writtenOnce(before fleet.Snapshot, writes []fleet.Write) check {
	return func(context.Context) (string, bool, error) {
		seen := map[types.NamespacedName]bool{}
		for _, w := range writes {
			old := before.Items[w.Object]
			switch {
			case old == nil || !fleet.Violates(old):
				return fmt.Sprintf("%s was written, which didn't violate", w.Object), false, nil
			case seen[w.Object] || w.Generation != old.Generation+1:
				return fmt.Sprintf("%s was written more than once", w.Object), false, nil
			case !ours(w.Manager):
				return fmt.Sprintf("%s was written by %q", w.Object, w.Manager), false, nil
			}
			seen[w.Object] = true
		}
		want := before.Count(fleet.Violates)
		return fmt.Sprintf("%d objects, %d writes", len(seen), len(writes)), len(seen) == want, nil
	}
}

// untouched holds when nothing declared of the objects has changed since, and
// Evenkeel owns no more of their fields than it did.
func (d *demo) untouched(before fleet.Snapshot, keys []types.NamespacedName) check {
	return func(ctx context.Context) (string, bool, error) {
		for _, key := range keys {
			var now appsv1.Deployment
			if err := d.client.Get(ctx, key, &now); err != nil {
				return "", false, fmt.Errorf("read Deployment %s: %w", key, err)
			}
			old := before.Items[client.ObjectKey(key)]
			difference, err := fleet.Difference(old, &now)
			if err != nil {
				return "", false, err
			}
			if difference != "" || now.Generation != old.Generation || lastWrite(&now) != lastWrite(old) {
				return fmt.Sprintf("%s has changed: generation %d was %d\n%s", key, now.Generation, old.Generation,
					difference), false, nil
			}
		}
		return fmt.Sprintf("%d with the same generation, declaration and managers", len(keys)), true, nil
	}
}

// lastWrite is what the API server keeps of Evenkeel's latest writes to an object.
func lastWrite(o *appsv1.Deployment) (all string) {
	for _, entry := range o.ManagedFields {
		if ours(entry.Manager) && entry.Subresource == "" {
			all += fmt.Sprintf("%s %s %s\n", entry.Manager, entry.Time, entry.FieldsV1)
		}
	}
	return all
}

// ours says that a field manager is Evenkeel: its fixes and its rollbacks write
// under names of their own.
func ours(manager string) bool {
	return manager == v1alpha1.FieldManager || strings.HasPrefix(manager, v1alpha1.FieldManager+"-")
}
