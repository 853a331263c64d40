// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	if said, known := withoutPolicy(ctx, c, rem); known {
		return said, nil
	}
	said := "policy " + rem.Spec.Plan.Policy.Name + " is planned again"
	later, err := laterPlan(ctx, c, rem)
	if err != nil {
		return said + "; " + err.Error(), nil
	}
	if later != nil {
		said += fmt.Sprintf(" once plan %[1]s of it has ended, which is %[2]s (%[3]s); see: evenkeel rollout get %[1]s",
			later.Name, later.Status.Phase, later.Status.Reason)
	}
	breakers := &v1alpha1.RemediationBreakerList{}
	if err := c.List(ctx, breakers); err != nil {
		return said + ", once its circuit breakers let it be; " +
			connect.Failure("list circuit breakers", err).Error(), nil
	}
	if held := keptBack(rem, breakers.Items, time.Now()); len(held) > 0 {
		said += ", once its circuit breakers let it be:"
		for _, why := range held {
			said += "\n- " + why
		}
	}
	return said, nil
}

// withoutPolicy is what a retry comes to where the plan's policy isn't the one that is there, or
// isn't known to be; false where it is.
func withoutPolicy(ctx context.Context, c client.Client, rem *v1alpha1.Remediation) (string, bool) {
	name, policy := rem.Spec.Plan.Policy.Name, &v1alpha1.ClusterRegoPolicy{}
	switch err := c.Get(ctx, client.ObjectKey{Name: name}, policy); {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("policy %s is gone: nothing is planned again, and an alert of remediation %s ends",
			name, rem.Name), true
	case err != nil:
		return fmt.Sprintf("policy %s is planned again if it is still there; %s", name,
			connect.Failure("read policy "+name, err)), true
	case string(policy.UID) != rem.Spec.Plan.Policy.UID:
		return fmt.Sprintf("policy %s was deleted and recreated since: nothing is planned again for "+
			"remediation %s, whose alert ends, and the new policy is planned without it", name, rem.Name), true
	}
	return "", false
}

// laterPlan is a plan of the same policy that was made after an ended one and hasn't ended; nil for none.
func laterPlan(ctx context.Context, c client.Client, rem *v1alpha1.Remediation) (*v1alpha1.Remediation, error) {
	plans := &v1alpha1.RemediationList{}
	err := c.List(ctx, plans, client.MatchingLabels{v1alpha1.LabelPolicy: rem.Labels[v1alpha1.LabelPolicy]})
	if err != nil {
		return nil, connect.Failure("list remediations", err)
	}
	for i := range plans.Items {
		if p := &plans.Items[i]; p.UID != rem.UID && !p.Phase().Final() &&
			p.Spec.Plan.Policy.Name == rem.Spec.Plan.Policy.Name {
			return p, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// cantRetry is why nothing of a plan can be tried again; empty when something can.
func cantRetry(rem *v1alpha1.Remediation) string {
	switch {
	case rem.Phase().Final():
		return ""
	case !rem.Phase().Facts().Holds:
		return fmt.Sprintf("is %s: there is nothing to retry", rem.Phase())
	case !rem.Status.WaveFailed():
		return fmt.Sprintf("is held, and goes on by itself once nothing holds it; there is nothing to retry. %s: %s",
			rem.Status.Reason, rem.Status.Message)
	}
	return ""
}

// keptBack says of each breaker that keeps a policy's next plan back what it waits for.
func keptBack(rem *v1alpha1.Remediation, breakers []v1alpha1.RemediationBreaker, now time.Time) (out []string) {
	for i := range breakers {
		cb := &breakers[i]
		if why := display.BreakerHolds(cb, now); why != "" && (display.Rollout{Remediation: rem}).CoveredBy(cb) {
			out = append(out, why)
		}
	}
	return out
}
