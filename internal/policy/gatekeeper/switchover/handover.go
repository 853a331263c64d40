// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"context"
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Cluster is what a handover reads and writes. Its writes count only for the object as it was read, and are errors
// where somebody else has written it since.
type Cluster interface {
	Reader
	Marker
	// SetAction changes what the policy does at admission.
	SetAction(ctx context.Context, p *v1alpha1.ClusterRegoPolicy, action v1alpha1.AdmissionAction) error
	// Yield has the constraint only record, and keep what it did and which policy enforces in its place; it takes the
	// run's mark away.
	Yield(ctx context.Context, c *Constraint, policy string) error
	// Restore has it enforce again as before.
	Restore(ctx context.Context, c *Constraint) error
}

// Reader reads the two objects of a handover.
type Reader interface {
	Policy(ctx context.Context) (*v1alpha1.ClusterRegoPolicy, error)
	Constraint(ctx context.Context) (*Constraint, error)
}

// Marker keeps in the objects which run of a handover was the last to begin with them; an empty run takes that away.
type Marker interface {
	MarkConstraint(ctx context.Context, c *Constraint, run string) error
	MarkPolicy(ctx context.Context, p *v1alpha1.ClusterRegoPolicy, run string) error
}

// Handover hands the enforcement of one constraint over to its policy, or back. Each step begins only when the one
// before it is confirmed, and each begins with what the cluster says, so that it can be run again after any end.
type Handover struct {
	Cluster Cluster
	// Run is the name of this run, which no other has.
	Run string
	// Check is asked of the two as they are before anything is written, and Back asks it again before its last write.
	// An error keeps all as it is.
	Check func(ctx context.Context, p *v1alpha1.ClusterRegoPolicy, c *Constraint) error
	// Answers errs where Evenkeel's webhook doesn't answer just now, whatever the policy's status says.
	Answers func(ctx context.Context) error
	// Wait waits that long, or until the context ends.
	Wait func(ctx context.Context, d time.Duration) error
	// Timeout bounds how long a step may take to be confirmed, and Delay is how long what is confirmed may take to
	// reach the replicas that report nothing.
	Timeout, Delay time.Duration
	// Told is told each step once it is done, and that it was done before.
	Told func(string)
}

// Forward has the policy enforce, and then the constraint only record.
func (h *Handover) Forward(ctx context.Context) error {
	p, c, action, err := h.read(ctx)
	if err != nil {
		return err
	}
	if c.EnforcedBy() != "" && c.Enforcement() == dryRun && p.Spec.Admission.Action == action {
		if err := h.confirmPolicy(ctx, action); err != nil {
			return h.stopped(ctx, err)
		}
		h.Told(fmt.Sprintf("policy %s enforces in place of constraint %s already", p.Name, c.ID()))
		return nil
	}
	if err := refusesForward(p, c, action); err != nil {
		return err
	}
	if err := h.Check(ctx, p, c); err != nil {
		return err
	}
	return h.stopped(ctx, h.forward(ctx, p, c, action))
}

// forward writes: the two are as they were checked.
func (h *Handover) forward(ctx context.Context, p *v1alpha1.ClusterRegoPolicy, c *Constraint,
	action v1alpha1.AdmissionAction) error {
	p, _, err := h.begin(ctx, p, c)
	if err != nil {
		return err
	}
	if p.Spec.Admission.Action != action {
		if err := h.Cluster.SetAction(ctx, p, action); err != nil {
			return err
		}
	}
	if err := h.confirmPolicy(ctx, action); err != nil {
		return err
	}
	h.Told(fmt.Sprintf("policy %s is in force: %s", p.Name, action))
	if p, c, err = h.held(ctx); err != nil {
		return err
	}
	if err := Enforces(p, action); err != nil {
		return err
	}
	if err := h.Cluster.Yield(ctx, c, p.Name); err != nil {
		return err
	}
	if err := h.keepsPolicy(ctx, action); err != nil {
		return err
	}
	h.Told(fmt.Sprintf("constraint %s only records now: dryrun", c.ID()))
	return h.end(ctx)
}

// refusesForward says why nothing is handed over: there is nothing, or somebody has changed either in between.
func refusesForward(p *v1alpha1.ClusterRegoPolicy, c *Constraint, action v1alpha1.AdmissionAction) error {
	switch now := p.Spec.Admission.Action; {
	case c.EnforcedBy() != "":
		return fmt.Errorf("constraint %s was switched to policy %s, and since then somebody has set its "+
			"enforcementAction to %q or the policy's action to %s: set them as you want them, or take the annotation "+
			"%s off it", c.ID(), c.EnforcedBy(), c.Enforcement(), now, v1alpha1.AnnotationEnforcedBy)
	case c.Lost() != "":
		return fmt.Errorf("constraint %s isn't switched: its %s", c.ID(), c.Lost())
	case action == v1alpha1.AdmissionAudit:
		return fmt.Errorf("constraint %s only records (enforcementAction %s), and so does policy %s: there is nothing "+
			"to switch; delete the constraint once both agree", c.ID(), c.Enforcement(), p.Name)
	case now != v1alpha1.AdmissionAudit && now != action:
		return fmt.Errorf("somebody has set admission.action of policy %s to %s, and the constraint would have it %s: "+
			"set it to Audit, or to that", p.Name, now, action)
	}
	return nil
}

// Back has the constraint enforce as before, and then the policy only record.
func (h *Handover) Back(ctx context.Context) error {
	p, c, action, err := h.read(ctx)
	if err != nil {
		return err
	}
	if err := refusesBack(p, c, action); err != nil {
		return err
	}
	if err := h.Check(ctx, p, c); err != nil {
		return err
	}
	if c.EnforcedBy() == "" && p.Spec.Admission.Action == v1alpha1.AdmissionAudit {
		if err := h.confirmConstraint(ctx); err != nil {
			return h.stopped(ctx, err)
		}
		h.Told(fmt.Sprintf("Gatekeeper enforces constraint %s already, and policy %s only records", c.ID(), p.Name))
		return nil
	}
	return h.stopped(ctx, h.back(ctx, p, c))
}

// back writes: the two are as they were checked.
func (h *Handover) back(ctx context.Context, p *v1alpha1.ClusterRegoPolicy, c *Constraint) error {
	_, c, err := h.begin(ctx, p, c)
	if err != nil {
		return err
	}
	if c.EnforcedBy() != "" {
		if err := h.Cluster.Restore(ctx, c); err != nil {
			return err
		}
	}
	if err := h.confirmConstraint(ctx); err != nil {
		return err
	}
	h.Told(fmt.Sprintf("Gatekeeper enforces constraint %s again", c.ID()))
	if p, c, err = h.heldEnforcing(ctx); err != nil {
		return err
	}
	if err := h.Check(ctx, p, c); err != nil {
		return err
	}
	if was := p.Spec.Admission.Action; was != v1alpha1.AdmissionAudit {
		if err := h.Cluster.SetAction(ctx, p, v1alpha1.AdmissionAudit); err != nil {
			return err
		}
		if err := h.keepsConstraint(ctx, was); err != nil {
			return err
		}
	}
	h.Told(fmt.Sprintf("policy %s only records: Audit", p.Name))
	return h.end(ctx)
}

// refusesBack says why nothing is handed back: nothing was handed over, or somebody has changed either since.
func refusesBack(p *v1alpha1.ClusterRegoPolicy, c *Constraint, action v1alpha1.AdmissionAction) error {
	switch now := p.Spec.Admission.Action; {
	case c.EnforcedBy() != "" && c.Enforcement() != dryRun:
		return fmt.Errorf("somebody has set enforcementAction of constraint %s to %q since it was switched: set it to "+
			"dryrun to switch back, or take the annotation %s off it", c.ID(), c.Enforcement(),
			v1alpha1.AnnotationEnforcedBy)
	case now != v1alpha1.AdmissionAudit && now != action:
		return fmt.Errorf("somebody has set admission.action of policy %s to %s since it was switched to %s: set it "+
			"to that, or to Audit, and run the command again", p.Name, now, action)
	case c.EnforcedBy() == "" && c.Enforcement() == dryRun:
		return fmt.Errorf("constraint %s wasn't switched, and only records: policy %s is left as it is", c.ID(), p.Name)
	}
	return nil
}

// read reads both, with what the policy does in the constraint's place. They must stand for each other.
func (h *Handover) read(ctx context.Context) (*v1alpha1.ClusterRegoPolicy, *Constraint, v1alpha1.AdmissionAction,
	error) {
	c, err := h.Cluster.Constraint(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	p, err := h.Cluster.Policy(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	if err := Stands(p, c); err != nil {
		return nil, nil, "", err
	}
	action, err := c.Action()
	return p, c, action, err
}

// Stands says why a policy doesn't stand for a constraint; nil where it does.
func Stands(p *v1alpha1.ClusterRegoPolicy, c *Constraint) error {
	from := p.Annotations[v1alpha1.AnnotationMigratedFrom]
	switch {
	case from != c.ID():
		return fmt.Errorf("policy %s wasn't migrated from constraint %s", p.Name, c.ID())
	case p.Annotations[v1alpha1.AnnotationMigratedUID] != string(c.Object.GetUID()):
		return fmt.Errorf("constraint %s was deleted and created again since policy %s was made of it: run evenkeel "+
			"migrate gatekeeper apply again", c.ID(), p.Name)
	case c.EnforcedBy() != "" && c.EnforcedBy() != p.Name:
		return fmt.Errorf("policy %s enforces in place of constraint %s, and not policy "+
			"%s", c.EnforcedBy(), c.ID(), p.Name)
	}
	return nil
}
