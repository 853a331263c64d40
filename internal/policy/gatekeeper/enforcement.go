// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"cmp"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Gatekeeper's enforcement points (its pkg/util/enforcement_action.go).
const (
	// WebhookPoint is also the name of its webhook.
	WebhookPoint = "validation.gatekeeper.sh"
	auditPoint   = "audit.gatekeeper.sh"
	// policyPoint is that of the ValidatingAdmissionPolicies that Gatekeeper makes of templates in CEL.
	policyPoint = "vap.k8s.io"
	allPoints   = "*"
	// GatorPoint is that of gator, which runs test suites.
	GatorPoint = "gator.gatekeeper.sh"
)

// scopedAction is what a constraint does at some enforcement points.
type scopedAction struct {
	Action            string `json:"action"`
	EnforcementPoints []struct {
		Name string `json:"name"`
	} `json:"enforcementPoints"`
}

func (s scopedAction) at(point string) bool {
	for _, p := range s.EnforcementPoints {
		if p.Name == point || p.Name == allPoints {
			return true
		}
	}
	return false
}

// Enforces says whether a constraint is asked at an enforcement point at all.
func Enforces(object map[string]any, point string) bool {
	c, err := readConstraint(object)
	return err != nil || c.EnforcementAction != scoped || slices.ContainsFunc(c.Scoped,
		func(s scopedAction) bool { return s.at(point) })
}

// ActionOf is what the policy of a constraint does at admission in its place.
func ActionOf(object map[string]any) (v1alpha1.AdmissionAction, error) {
	c, err := readConstraint(object)
	if err != nil {
		return "", err
	}
	action, _, err := c.enforcement()
	return action, err
}

// scoped is the enforcementAction whose scopedEnforcementActions count.
const scoped = "scoped"

// enforcement is what a policy does at admission in the constraint's place, with what to know of it.
func (c *constraint) enforcement() (v1alpha1.AdmissionAction, []string, error) {
	if c.EnforcementAction != scoped {
		action, err := admissionAction(cmp.Or(c.EnforcementAction, "deny"))
		return action, nil, err
	}
	for _, s := range c.Scoped {
		if _, err := admissionAction(s.Action); err != nil {
			return "", nil, fmt.Errorf("scopedEnforcementActions: %w", err)
		}
	}
	strictest, audited := c.strictestAt(WebhookPoint), c.strictestAt(auditPoint) != ""
	switch {
	case strictest == "" && !audited:
		return "", nil, fmt.Errorf("scopedEnforcementActions name neither %s nor %s: it enforces nothing in a cluster",
			WebhookPoint, auditPoint)
	case strictest == "":
		note := "Gatekeeper's webhook doesn't ask it; Evenkeel's records what it finds"
		return v1alpha1.AdmissionAudit, []string{note}, nil
	case !audited:
		return strictest, []string{"Gatekeeper's audit leaves it out, Evenkeel's scan doesn't"}, nil
	}
	return strictest, nil, nil
}

// LostAt says what a policy can't do in the place of a constraint that Kubernetes itself enforces, by the
// ValidatingAdmissionPolicy that Gatekeeper makes of its template, and more strictly than Gatekeeper's webhook does;
// empty for none.
func LostAt(object map[string]any) string {
	c, err := readConstraint(object)
	if err != nil {
		return ""
	}
	return c.lost()
}

func (c *constraint) lost() string {
	if c.EnforcementAction != scoped || strictness(c.strictestAt(policyPoint)) <=
		max(strictness(c.strictestAt(WebhookPoint)), strictness(v1alpha1.AdmissionAudit)) {
		return ""
	}
	return fmt.Sprintf("scopedEnforcementActions are stricter at %s than at %s, and a policy has one action at "+
		"admission: give both points the same action, or leave out %s where the template has no CEL, by which nothing "+
		"is enforced there", policyPoint, WebhookPoint, policyPoint)
}

// strictestAt is the strictest of the actions at an enforcement point; empty for none.
func (c *constraint) strictestAt(point string) (strictest v1alpha1.AdmissionAction) {
	for _, s := range c.Scoped {
		if action, _ := admissionAction(s.Action); s.at(point) && strictness(action) > strictness(strictest) {
			strictest = action
		}
	}
	return strictest
}

func admissionAction(action string) (v1alpha1.AdmissionAction, error) {
	switch action {
	case "deny":
		return v1alpha1.AdmissionDeny, nil
	case "warn":
		return v1alpha1.AdmissionWarn, nil
	case "dryrun":
		return v1alpha1.AdmissionAudit, nil
	}
	return "", fmt.Errorf("enforcementAction %q: give deny, warn, dryrun or scoped", action)
}

func strictness(action v1alpha1.AdmissionAction) int {
	return slices.Index([]v1alpha1.AdmissionAction{"", v1alpha1.AdmissionAudit, v1alpha1.AdmissionWarn,
		v1alpha1.AdmissionDeny}, action)
}
