// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/cli/request"
	"evenkeel.dev/evenkeel/internal/display"
)

// retry asks for another verification of a wave that failed, or for another plan, and says
// what keeps that plan from being made now.
func retry(ctx context.Context, c client.Client, rem *v1alpha1.Remediation, reason string) (string, error) {
	if why := cantRetry(rem); why != "" {
		return "", command.Exit(command.ExitFailure, fmt.Errorf("remediation %s %s", rem.Name, why))
	}
	if err := ask(ctx, c, rem, "retryToken", request.NewToken(), reason); err != nil {
		return "", err
	}
	if !rem.Phase().Final() {
		return "remediation " + rem.Name + " is verified once more", nil
	}
	said := "policy " + rem.Spec.Plan.Policy.Name + " is planned again"
	breakers := &v1alpha1.RemediationBreakerList{}
	if err := c.List(ctx, breakers); err != nil {
		return said + ", once its circuit breakers let it be; " +
			connect.Failure("list circuit breakers", err).Error(), nil
	}
	if held := keptBack(rem, breakers.Items); len(held) > 0 {
		said += ", once its circuit breakers let it be:"
		for _, why := range held {
			said += "\n- " + why
		}
	}
	return said, nil
}

// cantRetry is why nothing of a plan can be tried again; empty when something can.
func cantRetry(rem *v1alpha1.Remediation) string {
	switch {
	case rem.Phase().Final():
		return ""
	case rem.Phase() != v1alpha1.PhaseHeld:
		return fmt.Sprintf("is %s: there is nothing to retry", rem.Phase())
	case rem.Status.HeldFrom != v1alpha1.PhaseVerifying:
		return fmt.Sprintf("is held, and goes on by itself once nothing holds it; there is nothing to retry. %s: %s",
			rem.Status.Reason, rem.Status.Message)
	}
	return ""
}

// keptBack says of each breaker that keeps a policy's next plan back what it waits for.
func keptBack(rem *v1alpha1.Remediation, breakers []v1alpha1.RemediationBreaker) (out []string) {
	for i := range breakers {
		cb := &breakers[i]
		if why := display.BreakerHolds(cb); why != "" && (display.Rollout{Remediation: rem}).CoveredBy(cb) {
			out = append(out, why)
		}
	}
	return out
}
