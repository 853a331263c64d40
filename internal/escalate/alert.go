// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"strings"
	"time"
	"unicode"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Names of the alerts, part of the API: routes, silences and rules match on them.
// Each has a runbook, see RunbookPage.
const (
	// AlertRemediationStuck: a plan can neither go on nor end.
	AlertRemediationStuck = "EvenkeelRemediationStuck"
	// AlertRollbackIncomplete: some write of a failed wave couldn't be undone.
	AlertRollbackIncomplete = "EvenkeelRollbackIncomplete"
	// AlertRemediationRolledBack: a plan did harm and was undone; its policy isn't
	// planned again until somebody acts.
	AlertRemediationRolledBack = "EvenkeelRemediationRolledBack"
	// AlertApprovalOverdue: nobody has answered a plan in time.
	AlertApprovalOverdue = "EvenkeelApprovalOverdue"
	// AlertWaveFailed: a plan holds a wave that has failed (onFailure: Hold). It isn't one of the plans that
	// are held: an open breaker, which the same failure opens, may hide those.
	AlertWaveFailed = "EvenkeelWaveFailed"
	// AlertRemediationHeld: a plan has waited for longer than its deadline.
	AlertRemediationHeld = "EvenkeelRemediationHeld"
	// AlertRemediationNoProgress: a plan has made no progress for twice its deadline,
	// whatever phases it has gone through.
	AlertRemediationNoProgress = "EvenkeelRemediationNoProgress"
	// AlertRemediationFailedTargets: a plan ended, but some targets couldn't be fixed, or were set back by others.
	AlertRemediationFailedTargets = "EvenkeelRemediationFailedTargets"
	// AlertManagedByOther: objects violate that another tool manages or keeps
	// setting back; their owners must fix them.
	AlertManagedByOther = "EvenkeelManagedByOther"
	// AlertBreakerOpen: a circuit breaker stops automated writes of its scope.
	AlertBreakerOpen = "EvenkeelBreakerOpen"
	// AlertPolicyDemoted: a policy's breaker opened so often that only dry runs are
	// made for it.
	AlertPolicyDemoted = "EvenkeelPolicyDemoted"
	// AlertPolicyNotCompiling: a policy's newest version isn't in force, or the strategy that it
	// refers to isn't.
	AlertPolicyNotCompiling = "EvenkeelPolicyNotCompiling"
	// AlertScanIncomplete: some kind of a policy couldn't be listed for long.
	AlertScanIncomplete = "EvenkeelScanIncomplete"
)

// Values of the label severity.
const (
	// SeverityPage calls a person now.
	SeverityPage = "page"
	// SeverityTicket is for the next working hours.
	SeverityTicket = "ticket"
	// SeverityInfo is to be known, and asks for nothing by itself.
	SeverityInfo = "info"
)

// Identity is what tells one alert from another: its labels. It holds nothing
// that changes while the fault lasts.
type Identity struct {
	// Name is one of the alerts' names.
	Name string
	// Severity is page, ticket or info.
	Severity string
	// Cluster is the cluster's name, as the manager's flags give it.
	Cluster string
	// Namespace is the namespace that a breaker covers; else the controller's own.
	Namespace string
	// Policy is the policy concerned; empty for what concerns several.
	Policy string
	// Owner is the team that answers for the policy.
	Owner string
	// Scope is a breaker's: Global, Policy or Namespace.
	Scope string
}

// Alert is one thing that waits for a person.
type Alert struct {
	Identity
	// Summary is one line. Description holds the evidence and what to do.
	Summary, Description string
	// RunbookURL is the alert's runbook, PolicyRunbookURL the policy's own, and
	// DashboardURL where to look.
	RunbookURL, PolicyRunbookURL, DashboardURL string
	// Since is when the fault began, as far as the objects tell.
	Since time.Time
	// StartsAt is when the alert is due: Since, or a deadline later. Zero means
	// that it doesn't begin from what is known now.
	StartsAt time.Time
	// GoesOn keeps an alert that fires already: what is known now neither begins
	// nor ends it (a scan that is under way, say).
	GoesOn bool
}

func (a Alert) fires(now time.Time) bool {
	return !a.StartsAt.IsZero() && !a.StartsAt.After(now)
}

// RunbookPage is the page of docs/runbooks on an alert, without its ending:
// remediation-held for EvenkeelRemediationHeld.
func RunbookPage(alertName string) string {
	var page strings.Builder
	for i, r := range strings.TrimPrefix(alertName, "Evenkeel") {
		if unicode.IsUpper(r) && i > 0 {
			page.WriteByte('-')
		}
		page.WriteRune(unicode.ToLower(r))
	}
	return page.String()
}

// urgency says how soon a person must look, before the policy's own severity counts.
type urgency int

const (
	// calm: nothing gets worse by waiting, or a person wanted it so.
	calm urgency = iota
	// normal: automation has stopped somewhere, and objects are as they were.
	normal
	// urgent: objects hold values that nobody chose, or all automation has stopped.
	urgent
)

// severityOf is the label of an alert by its urgency and its policy's severity.
// A policy that is gone, or whose severity isn't known, counts as High.
func severityOf(u urgency, policy v1alpha1.Severity) string {
	switch {
	case u == calm:
		return SeverityInfo
	case policy == v1alpha1.SeverityCritical:
		return SeverityPage
	case u == urgent && policy != v1alpha1.SeverityMedium && policy != v1alpha1.SeverityLow:
		return SeverityPage
	case u == normal && policy == v1alpha1.SeverityLow:
		return SeverityInfo
	default:
		return SeverityTicket
	}
}
