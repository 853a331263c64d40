// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	approvalPolicy    = "team-named"
	approvalPolicyDir = "hack/demo/policies/team_named"
	approvalOwner     = "platform-search"
	approver          = "alice"
	approverRole      = "evenkeel-approver"
	approvalTargets   = 10
	alertOverdue      = "EvenkeelApprovalOverdue"
	alertLimit        = 30 * time.Second
	statusFiring      = "firing"
	statusResolved    = "resolved"
)

// awaitApproval is step 6.
func (d *demo) awaitApproval(ctx context.Context) error {
	mark := d.recorder.Mark()
	if err := d.applyPolicy(ctx, approvalPolicyDir, approvalPolicy); err != nil {
		return err
	}
	plan, err := d.awaitPlan(ctx, approvalPolicy, nil, approvalTargets)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		claim string
		check check
	}{
		{"It waits for a person", d.inPhase(plan, v1alpha1.PhaseAwaitingApproval)},
		{"Nobody answers in time: the owner is paged, by Alertmanager's routing tree",
			d.told(alertOverdue, approvalPolicy, approvalOwner, statusFiring)},
	} {
		if err := d.await(ctx, c.claim, alertLimit, c.check); err != nil {
			return err
		}
	}
	if err := d.expect(ctx, "Nothing was written meanwhile", 0, d.nothingWritten(mark)); err != nil {
		return err
	}
	if err := d.approve(ctx, plan); err != nil {
		return err
	}
	return d.proveApproved(ctx, plan)
}

// applyPolicy builds the policy of a directory and applies it.
func (d *demo) applyPolicy(ctx context.Context, dir, want string) error {
	name, file, err := d.buildPolicy(ctx, dir, func(*v1alpha1.ClusterRegoPolicy) {})
	if err != nil {
		return err
	}
	if name != want {
		return fmt.Errorf("%s holds policy %s: the demo expects %s", dir, name, want)
	}
	return d.kubectl(ctx, "apply", "-f", file)
}

// approve gives a person the permission to answer, who then does.
func (d *demo) approve(ctx context.Context, plan string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: approver},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: approverRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: approver}},
	}
	args := []string{"rollout", "approve", plan, "--comment=seen and wanted", "--as=" + approver}
	output, ok, err := d.stage.Evenkeel(ctx, args...)
	if err != nil {
		return err
	}
	if err := d.expect(ctx, "Who has no permission to answer can't", 0, func(context.Context) (string, bool, error) {
		return "Forbidden", !ok && strings.Contains(output, "forbidden"), nil
	}); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	if err := d.client.Create(ctx, binding); err != nil {
		return fmt.Errorf("grant %s the permission to approve: %w", approver, err)
	}
	return d.evenkeel(ctx, args...)
}

func (d *demo) proveApproved(ctx context.Context, plan string) error {
	r, took, err := d.follow(ctx, plan)
	if err != nil {
		return err
	}
	if err := d.expect(ctx, "After the yes it is rolled out", took, allDone(r)); err != nil {
		return err
	}
	if err := d.expect(ctx, "The record names who said yes", 0, func(context.Context) (string, bool, error) {
		a := r.plan.Status.Approval
		if a == nil {
			return "nobody", false, nil
		}
		return fmt.Sprintf("%s by %s: %s", a.Decision, a.Approver, a.Comment), a.Approver == approver &&
			a.Decision == v1alpha1.DecisionApprove, nil
	}); err != nil {
		return err
	}
	return d.await(ctx, "The owner is told that it is over", alertLimit,
		d.told(alertOverdue, approvalPolicy, approvalOwner, statusResolved))
}

// inPhase holds when a plan is in the phase.
func (d *demo) inPhase(plan string, phase v1alpha1.RemediationPhase) check {
	return func(ctx context.Context) (string, bool, error) {
		var rem v1alpha1.Remediation
		if err := d.client.Get(ctx, client.ObjectKey{Name: plan}, &rem); err != nil {
			return "", false, fmt.Errorf("read Remediation %s: %w", plan, err)
		}
		return string(rem.Status.Phase), rem.Status.Phase == phase, nil
	}
}

// told holds when the owner, and nobody else, was told of one alert about the
// policy, and it has the status now.
func (d *demo) told(alert, policy, owner, status string) check {
	return func(context.Context) (string, bool, error) {
		told := d.around.Told(alert, policy)
		if len(told) == 0 {
			return "nobody was told yet", false, nil
		}
		last := told[len(told)-1]
		for _, n := range told {
			if n.To != owner {
				return "", false, fmt.Errorf("%s was told of %s, which is %s's", n.To, alert, owner)
			}
			if n.Runbook == "" {
				return "", false, fmt.Errorf("%s names no runbook", alert)
			}
		}
		return fmt.Sprintf("%s, %s, to %s", alert, last.Status, last.To), last.Status == status, nil
	}
}

// nothingWritten holds when no Deployment was written since.
func (d *demo) nothingWritten(mark int) check {
	return func(context.Context) (string, bool, error) {
		writes, err := d.recorder.Since(mark)
		return fmt.Sprintf("%d writes", len(writes)), len(writes) == 0, err
	}
}
