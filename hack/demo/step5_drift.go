// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/hack/demo/internal/fleet"
	"evenkeel.dev/evenkeel/hack/demo/internal/screen"
)

const (
	driftUser  = "night-shift"
	driftLimit = 30 * time.Second
	driftPatch = `[{"op":"replace","path":"/spec/template/spec/containers/0/securityContext/privileged","value":true}]`
)

// correctDrift is step 5.
func (d *demo) correctDrift(ctx context.Context) error {
	key := client.ObjectKey{Namespace: "payments", Name: "api"}
	if err := d.allowBreakGlass(ctx); err != nil {
		return err
	}
	earlier, err := d.plans(ctx, fleetPolicy)
	if err != nil {
		return err
	}
	if err := d.refuseDrift(ctx, key); err != nil {
		return err
	}
	mark := d.recorder.Mark()
	if err := d.kubectl(ctx, append(driftArgs(key), "--as="+driftUser, "--as-group="+breakGlass)...); err != nil {
		return err
	}
	if err := d.await(ctx, "A fixed field is set back, by break-glass", driftLimit, d.setBack(mark, key)); err != nil {
		return err
	}
	if err := d.await(ctx, "It is found and fixed again", driftLimit, d.fixedAgain(mark, key)); err != nil {
		return err
	}
	return d.proveEndsWell(ctx, earlier, key)
}

func driftArgs(key client.ObjectKey) []string {
	return []string{"-n", key.Namespace, "patch", "deployment", key.Name, "--type=json", "-p", driftPatch}
}

// allowBreakGlass lets the group that the policy exempts edit workloads.
func (d *demo) allowBreakGlass(ctx context.Context) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: breakGlass},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: breakGlass}},
	}
	if err := d.client.Create(ctx, binding); err != nil {
		return fmt.Errorf("grant the group %s its permissions: %w", breakGlass, err)
	}
	return nil
}

// refuseDrift shows that setting the field back is refused to everybody else.
func (d *demo) refuseDrift(ctx context.Context, key client.ObjectKey) error {
	began := d.now()
	output, accepted, err := d.stage.Kubectl(ctx, driftArgs(key)...)
	if err != nil {
		return err
	}
	took := d.now().Sub(began)
	return d.expect(ctx, "Setting a fixed field back is refused, even to an administrator", took,
		func(context.Context) (string, bool, error) {
			if accepted || !strings.Contains(output, fleetPolicy) {
				return "kubectl patch said: " + output, false, nil
			}
			return "by policy " + fleetPolicy, true, nil
		})
}

// setBack holds when the watch told of a write by somebody else.
func (d *demo) setBack(mark int, key client.ObjectKey) check {
	return func(context.Context) (string, bool, error) {
		writes, err := d.recorder.Since(mark)
		if err != nil || len(writes) == 0 {
			return "no write seen", false, err
		}
		w := writes[0]
		return fmt.Sprintf("%s by %s", w.Object, w.Manager), w.Object == key && !ours(w.Manager), nil
	}
}

// fixedAgain holds when Evenkeel has written the object after the drift, and it
// violates no longer. The figure is the time between the two writes.
func (d *demo) fixedAgain(mark int, key client.ObjectKey) check {
	return func(ctx context.Context) (string, bool, error) {
		var o appsv1.Deployment
		if err := d.client.Get(ctx, key, &o); err != nil {
			return "", false, fmt.Errorf("read Deployment %s: %w", key, err)
		}
		writes, err := d.recorder.Since(mark)
		if err != nil || len(writes) < 2 {
			return "not yet", false, err
		}
		seen := fmt.Sprintf("%s after the drift", screen.Elapsed(writes[1].At.Sub(writes[0].At)))
		return seen, writes[1].Object == key && ours(writes[1].Manager) && !fleet.Violates(&o), nil
	}
}

// proveEndsWell checks that the new plan ends well, and that step 4 stays undone.
func (d *demo) proveEndsWell(ctx context.Context, earlier map[string]bool, key client.ObjectKey) error {
	for _, c := range []struct {
		claim string
		limit time.Duration
		check check
	}{
		{"Its plan succeeds, soak included", driftLimit, d.newPlanSucceeds(earlier)},
		{"0 violate again, by the policy's scan", scanLimit, d.scanFinds(fleetPolicy, 0)},
		{"The fixed Deployment is available", availableLimit, d.available(key, nil)},
	} {
		if err := d.await(ctx, c.claim, c.limit, c.check); err != nil {
			return err
		}
	}
	if err := d.expect(ctx, "The bad fix wasn't tried again: its breaker is still open", 0, d.breakerOpen); err != nil {
		return err
	}
	var rest []client.ObjectKey
	for _, other := range d.undone.others {
		if other != key {
			rest = append(rest, other)
		}
	}
	return d.expect(ctx, "Nothing else was touched meanwhile", 0, d.untouched(d.undone.snapshot, rest))
}

// newPlanSucceeds holds when a plan besides the earlier ones has succeeded.
func (d *demo) newPlanSucceeds(earlier map[string]bool) check {
	return func(ctx context.Context) (string, bool, error) {
		names, err := d.plans(ctx, fleetPolicy)
		if err != nil {
			return "", false, err
		}
		seen := "no plan yet"
		for name := range names {
			if earlier[name] {
				continue
			}
			var plan v1alpha1.Remediation
			if err := d.client.Get(ctx, client.ObjectKey{Name: name}, &plan); err != nil {
				return "", false, fmt.Errorf("read Remediation %s: %w", name, err)
			}
			seen = fmt.Sprintf("%s, %d of %d targets done", plan.Status.Phase, plan.Status.Counts.Done,
				plan.Spec.Plan.Targets)
			if plan.Status.Phase == v1alpha1.PhaseSucceeded {
				return seen, true, nil
			}
		}
		return seen, false, nil
	}
}
