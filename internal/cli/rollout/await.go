// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
)

// await finds the plan that a name stands for. Of a policy it waits for the one that is
// to come: its first, or the next when the latest one has ended and another follows.
func (v *viewer) await(ctx context.Context, name string) (*v1alpha1.Remediation, error) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for told := false; ; {
		rem, why, err := v.latest(ctx, name)
		if err != nil || why == "" {
			return rem, err
		}
		if !told {
			fmt.Fprintf(v.errors, "policy %s %s\n", name, why)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
}

// latest finds the plan that a name stands for, and says why there is to be another.
func (v *viewer) latest(ctx context.Context, name string) (rem *v1alpha1.Remediation, why string, err error) {
	rem, err = findPlan(ctx, v.client, name)
	var none *noPlanError
	if errors.As(err, &none) {
		why, err = v.neverPlanned(ctx, name)
		if err != nil || why != "" {
			return nil, "", cmp.Or(err, command.Exit(command.ExitFailure, fmt.Errorf("policy %s: %s", name, why)))
		}
		return nil, "has no plan yet; waiting for one", nil
	}
	if err != nil || rem.Name == name {
		return rem, "", err
	}
	policy, cb := &v1alpha1.ClusterRegoPolicy{}, &v1alpha1.RemediationBreaker{}
	if err := v.client.Get(ctx, client.ObjectKey{Name: name}, policy); err != nil {
		return rem, "", v.passes("read policy "+name, err)
	}
	err = v.client.Get(ctx, client.ObjectKey{Name: v1alpha1.PolicyBreakerPrefix + name}, cb)
	if client.IgnoreNotFound(err) != nil {
		return rem, "", v.passes("read circuit breaker of policy "+name, err)
	}
	return rem, another(policy, rem, cb.Status.Demoted != nil), nil
}

// another says why another plan of a policy is to follow its latest, or is empty. Of a
// policy that is demoted a dry run is all that there will be.
func another(policy *v1alpha1.ClusterRegoPolicy, rem *v1alpha1.Remediation, demoted bool) string {
	mode, scan := policy.Spec.Remediation.Mode, policy.Status.Scan
	seen := policy.Status.ObservedGeneration == policy.Generation
	previewed := rem.Status.Phase == v1alpha1.PhasePreviewed && mode != v1alpha1.RemediationDryRun && !demoted
	switch {
	case !rem.Rests(), mode == "", mode == v1alpha1.RemediationDisabled:
		return ""
	case seen && scan != nil && scan.State == v1alpha1.ScanComplete && scan.Violating == 0:
		return ""
	case rem.RetryAsked():
		return fmt.Sprintf("is to be planned again after plan %s; waiting for that", rem.Name)
	case !seen, previewed, policy.Status.Revision != rem.Spec.Plan.Policy.Revision:
		return fmt.Sprintf("has changed since plan %s ended; waiting for the next one", rem.Name)
	default:
		return ""
	}
}

func (v *viewer) neverPlanned(ctx context.Context, name string) (string, error) {
	policy := &v1alpha1.ClusterRegoPolicy{}
	if err := v.client.Get(ctx, client.ObjectKey{Name: name}, policy); err != nil {
		return "", connect.Failure("read policy "+name, err)
	}
	if mode := policy.Spec.Remediation.Mode; mode == "" || mode == v1alpha1.RemediationDisabled {
		return "no plan is ever made, for spec.remediation.mode is Disabled", nil
	}
	scan := policy.Status.Scan
	seen := policy.Status.ObservedGeneration == policy.Generation && scan != nil && scan.State == v1alpha1.ScanComplete
	if seen && scan.Violating == 0 {
		return "nothing violates it, so there is nothing to plan", nil
	}
	return "", nil
}
