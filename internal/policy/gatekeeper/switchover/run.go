// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Two runs at once never take enforcement from both objects. Each marks the constraint and then the policy as its own,
// and reads both after that. Its last write, which takes enforcement from one object, counts only while that one has
// its mark, and follows a look at the other that found its mark there, too, and that it enforces. A run that would
// take enforcement from the other after this look has to mark both anew, or else finds that the first has done so.

// begin marks both objects, which are as they were checked, and reads them again.
func (h *Handover) begin(ctx context.Context, p *v1alpha1.ClusterRegoPolicy, c *Constraint) (
	*v1alpha1.ClusterRegoPolicy, *Constraint, error) {
	if err := h.Cluster.MarkConstraint(ctx, c, h.Run); err != nil {
		return nil, nil, err
	}
	if err := h.Cluster.MarkPolicy(ctx, p, h.Run); err != nil {
		return nil, nil, err
	}
	return h.held(ctx)
}

// held reads both, which must have the mark of this run.
func (h *Handover) held(ctx context.Context) (*v1alpha1.ClusterRegoPolicy, *Constraint, error) {
	p, c, _, err := h.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	if p.Annotations[v1alpha1.AnnotationHandover] != h.Run ||
		c.Object.GetAnnotations()[v1alpha1.AnnotationHandover] != h.Run {
		return nil, nil, fmt.Errorf("another switch or switch-back of constraint %s has begun meanwhile, and this one "+
			"gives way to it", c.ID())
	}
	return p, c, nil
}

// end takes the marks of this run away that its last write has left.
func (h *Handover) end(ctx context.Context) error {
	p, c, _, err := h.read(ctx)
	if err != nil {
		return err
	}
	if p.Annotations[v1alpha1.AnnotationHandover] == h.Run {
		if err := h.Cluster.MarkPolicy(ctx, p, ""); err != nil {
			return err
		}
	}
	if c.Object.GetAnnotations()[v1alpha1.AnnotationHandover] == h.Run {
		return h.Cluster.MarkConstraint(ctx, c, "")
	}
	return nil
}

// grace bounds what is still done, and read, when a run has been interrupted.
const grace = 5 * time.Second

func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), grace)
}

// keepsPolicy has the constraint enforce again where the policy no longer does since the constraint has ceased to.
func (h *Handover) keepsPolicy(ctx context.Context, action v1alpha1.AdmissionAction) error {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	p, err := h.Cluster.Policy(ctx)
	if err == nil {
		err = Enforces(p, action)
	}
	if err == nil {
		return nil
	}
	c, unread := h.Cluster.Constraint(ctx)
	if unread != nil {
		return fmt.Errorf("%w; the constraint was to enforce again: %w", err, unread)
	}
	if failed := h.Cluster.Restore(ctx, c); failed != nil {
		return fmt.Errorf("%w; constraint %s was to enforce again: %w", err, c.ID(), failed)
	}
	return fmt.Errorf("%w; constraint %s has got its enforcementAction back", err, c.ID())
}

// keepsConstraint has the policy enforce again where the constraint no longer does since the policy has ceased to.
func (h *Handover) keepsConstraint(ctx context.Context, was v1alpha1.AdmissionAction) error {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	err := h.stillEnforces(ctx)
	if err == nil {
		return nil
	}
	p, unread := h.Cluster.Policy(ctx)
	if unread != nil {
		return fmt.Errorf("%w; the policy was to enforce again: %w", err, unread)
	}
	if failed := h.Cluster.SetAction(ctx, p, was); failed != nil {
		return fmt.Errorf("%w; policy %s was to enforce again: %w", err, p.Name, failed)
	}
	return fmt.Errorf("%w; policy %s has got admission.action %s back", err, p.Name, was)
}

// stopped adds to an error who enforces now, as the cluster says. Where the run was interrupted that is told, too.
func (h *Handover) stopped(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	after, cancel := afterwards(ctx)
	defer cancel()
	now := h.standing(after)
	if ctx.Err() != nil {
		h.Told("stopped: " + now) // of a command that was interrupted no error is told
	}
	return fmt.Errorf("%w; %s", err, now)
}

// standing says what both are set to, and what to do.
func (h *Handover) standing(ctx context.Context) string {
	c, err := h.Cluster.Constraint(ctx)
	p, failed := h.Cluster.Policy(ctx)
	switch {
	case failed == nil && apierrors.IsNotFound(err):
		return alone(p)
	case err != nil || failed != nil:
		return "who enforces now couldn't be read: see evenkeel migrate gatekeeper status"
	}
	return together(p, c)
}

// alone says what a policy is set to whose constraint has been deleted, and what to do.
func alone(p *v1alpha1.ClusterRegoPolicy) string {
	if action := p.Spec.Admission.Action; action != v1alpha1.AdmissionAudit {
		return fmt.Sprintf("the constraint has been deleted, and policy %s is set to enforce alone (admission.action "+
			"%s): leave it so, or set it to Audit where nothing is to be enforced", p.Name, action)
	}
	return fmt.Sprintf("the constraint has been deleted, and policy %s only records: nothing is enforced until you "+
		"set its admission.action", p.Name)
}

// together says what a policy and its constraint are set to, and what to do.
func together(p *v1alpha1.ClusterRegoPolicy, c *Constraint) string {
	are := fmt.Sprintf("constraint %s has enforcementAction %q, and policy %s admission.action %s", c.ID(),
		c.Enforcement(), p.Name, p.Spec.Admission.Action)
	again := "evenkeel migrate gatekeeper switch " + c.ID()
	back := "evenkeel migrate gatekeeper switch-back " + c.ID()
	switch StateOf(c, p) {
	case Both:
		return fmt.Sprintf("both are set to enforce: %s; go on with %s, or %s", are, again, back)
	case Evenkeel:
		return fmt.Sprintf("policy %s alone is set to enforce: %s; go back with %s", p.Name, are, back)
	case Gatekeeper:
		return fmt.Sprintf("Gatekeeper alone is set to enforce constraint %s: %s; go on with %s", c.ID(), are, again)
	default:
		if c.EnforcedBy() == "" {
			back = "its enforcementAction, which somebody else has set"
		}
		return fmt.Sprintf("neither is set to enforce: %s; have Gatekeeper enforce again with %s", are, back)
	}
}
