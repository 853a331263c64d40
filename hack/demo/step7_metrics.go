// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/hack/demo/internal/fleet"
)

const (
	metricPolicy    = "faster-replies"
	metricPolicyDir = "hack/demo/policies/faster_replies"
	metricOwner     = "platform-media"
	metricNamespace = "media"
	metricTargets   = 10
	brotli          = "brotli"
	alertRolledBack = "EvenkeelRemediationRolledBack"
	// The share of the shop's requests that fail: as ever, and for each
	// Deployment that compresses its replies by brotli.
	failedAsEver     = 0.01
	failedCompressed = 0.2
)

// failedRequests plays the shop's metric: it reads from the API server how many
// Deployments do so.
func (d *demo) failedRequests(ctx context.Context) (float64, error) {
	var list appsv1.DeploymentList
	if err := d.client.List(ctx, &list, client.InNamespace(metricNamespace)); err != nil {
		return 0, fmt.Errorf("list the Deployments: %w", err)
	}
	failed := failedAsEver
	for _, o := range list.Items {
		if o.Spec.Template.Annotations[fleet.CompressionKey] == brotli {
			failed += failedCompressed
		}
	}
	return min(failed, 1), nil
}

// listenToMetrics is step 7.
func (d *demo) listenToMetrics(ctx context.Context) error {
	before, err := fleet.Take(ctx, d.client)
	if err != nil {
		return err
	}
	mark := d.recorder.Mark()
	if err := d.applyPolicy(ctx, metricPolicyDir, metricPolicy); err != nil {
		return err
	}
	plan, err := d.awaitPlan(ctx, metricPolicy, nil, metricTargets)
	if err != nil {
		return err
	}
	r, took, err := d.follow(ctx, plan)
	if err != nil {
		return err
	}
	if err := d.expect(ctx, "The canary is healthy, its metric isn't: it is rolled back", took,
		metricSaidNo(r)); err != nil {
		return err
	}
	canary, others := split(r)
	if len(canary) != 1 {
		return fmt.Errorf("plan %s has %d canaries: want 1", r.plan.Name, len(canary))
	}
	if err := d.await(ctx, "Its only writes were the fix and its undoing, on the canary", aftermathLimit,
		d.onlyThere(mark, canary[0])); err != nil {
		return err
	}
	for _, c := range []struct {
		claim string
		check check
	}{
		{"The canary is exactly what it was before", d.asBefore(before, canary[0])},
		{"The other 9 were never touched", d.untouched(before, others)},
	} {
		if err := d.expect(ctx, c.claim, 0, c.check); err != nil {
			return err
		}
	}
	if err := d.await(ctx, "Its owner is paged, with a runbook", alertLimit,
		d.told(alertRolledBack, metricPolicy, metricOwner, statusFiring)); err != nil {
		return err
	}
	return d.evenkeel(ctx, "rollout", "get", plan)
}

// metricSaidNo holds when the plan was rolled back by its metric, the canary alone.
func metricSaidNo(r *rollout) check {
	return func(context.Context) (string, bool, error) {
		s := r.plan.Status
		metric := "no metric was asked"
		if len(s.Analysis) > 0 {
			m := s.Analysis[0]
			metric = fmt.Sprintf("%s %s, before it %s", m.Name, m.LastSample, m.Baseline)
		}
		return fmt.Sprintf("%s (%s): %s", s.Phase, s.Reason, metric),
			s.Phase == v1alpha1.PhaseRolledBack && s.Reason == v1alpha1.ReasonAnalysisFailed && s.Counts.Reverted == 1,
			nil
	}
}
