// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const planLimit = 30 * time.Second

// rollout is a plan with its records, as the API server holds them at one time.
type rollout struct {
	plan    v1alpha1.Remediation
	slices  []v1alpha1.RemediationSlice
	breaker v1alpha1.BreakerState
	scan    *v1alpha1.ScanStatus
}

// target is one object of a plan with what was done to it.
type target struct {
	object client.ObjectKey
	wave   int32
	record v1alpha1.TargetRecord
}

// targets are all of a plan in the order of the rollout.
func (r *rollout) targets() []target {
	var all []target
	for _, slice := range r.slices {
		for i, planned := range slice.Targets {
			t := target{
				object: client.ObjectKey{Namespace: planned.Object.Namespace, Name: planned.Object.Name},
				wave:   planned.Wave,
				record: v1alpha1.TargetRecord{State: v1alpha1.TargetPending},
			}
			if i < len(slice.Records) {
				t.record = slice.Records[i]
			}
			if t.record.Wave != nil {
				t.wave = *t.record.Wave
			}
			all = append(all, t)
		}
	}
	return all
}

// plans are the names of a policy's plans.
func (d *demo) plans(ctx context.Context, policy string) (map[string]bool, error) {
	var list v1alpha1.RemediationList
	if err := d.client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list the Remediations: %w", err)
	}
	names := map[string]bool{}
	for _, plan := range list.Items {
		if plan.Spec.Plan.Policy.Name == policy {
			names[plan.Name] = true
		}
	}
	return names, nil
}

// awaitPlan claims that the policy gets a plan besides the earlier ones, for so
// many targets, and returns its name.
func (d *demo) awaitPlan(ctx context.Context, policy string, earlier map[string]bool, targets int32) (string, error) {
	name := ""
	err := d.await(ctx, "A plan stands, the canary first", planLimit, func(ctx context.Context) (string, bool, error) {
		names, err := d.plans(ctx, policy)
		if err != nil {
			return "", false, err
		}
		for found := range names {
			if !earlier[found] {
				name = found
			}
		}
		if name == "" {
			return "no plan yet", false, nil
		}
		var plan v1alpha1.Remediation
		if err := d.client.Get(ctx, client.ObjectKey{Name: name}, &plan); err != nil {
			return "", false, fmt.Errorf("read Remediation %s: %w", name, err)
		}
		if plan.Spec.Plan.Targets != targets || plan.Spec.Plan.Waves[0].Targets != 1 {
			return "", false, fmt.Errorf("plan %s has %d targets in waves of %v: want %d, with a canary of 1",
				name, plan.Spec.Plan.Targets, plan.Spec.Plan.Waves, targets)
		}
		return planFigure(plan.Spec.Plan.Waves), true, nil
	})
	return name, err
}

func planFigure(waves []v1alpha1.PlannedWave) string {
	parts := make([]string, len(waves))
	total := int32(0)
	for i, wave := range waves {
		parts[i] = fmt.Sprint(wave.Targets)
		total += wave.Targets
	}
	return fmt.Sprintf("%s = %d targets", strings.Join(parts, " + "), total)
}

// readRollout reads the whole state of a plan.
func (d *demo) readRollout(ctx context.Context, name string) (*rollout, error) {
	r := &rollout{}
	if err := d.client.Get(ctx, client.ObjectKey{Name: name}, &r.plan); err != nil {
		return nil, fmt.Errorf("read Remediation %s: %w", name, err)
	}
	for _, slice := range r.plan.Spec.Plan.Slices {
		var s v1alpha1.RemediationSlice
		if err := d.client.Get(ctx, client.ObjectKey{Name: slice}, &s); err != nil {
			return nil, fmt.Errorf("read RemediationSlice %s: %w", slice, err)
		}
		r.slices = append(r.slices, s)
	}
	policy, err := d.policy(ctx, r.plan.Spec.Plan.Policy.Name)
	if err != nil {
		return nil, err
	}
	r.scan = policy.Status.Scan
	r.breaker, err = d.breakerState(ctx, v1alpha1.PolicyBreakerPrefix+policy.Name)
	return r, err
}

// breakerState is that of a breaker, or empty while there's none.
func (d *demo) breakerState(ctx context.Context, name string) (v1alpha1.BreakerState, error) {
	var b v1alpha1.RemediationBreaker
	err := d.client.Get(ctx, client.ObjectKey{Name: name}, &b)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read RemediationBreaker %s: %w", name, err)
	}
	return b.Status.State, nil
}
