// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	messageWithinLimits  = "Failures are within the limits; writes go through."
	messageRecovered     = "Two plans in a row succeeded in full; writes go through again and the count starts afresh."
	messageClockWentBack = "The clock went back to before the end of the cooldown."
	messageAhead         = "The breaker opened under a clock that was far ahead; its cooldown restarts."
	messageReleased      = "The policies' breakers that held it open are open no more; writes go through again."
	messageForgotten     = "What it covered is gone, and so is what it had counted."
	messageUnreadable    = "The circuit breaker couldn't be read, which counts as open. See kubectl get " +
		"remediationbreakers, and that the controller may get, create and update them; it is tried again by itself."
)

const (
	// commandReset starts a breaker afresh. The transitions don't know which breaker they are of: Named says it.
	commandReset = "evenkeel breaker reset "
	// unnamed stands for the breaker's name until Named says it.
	unnamed = "NAME"
	// longestName is the longest name of a breaker, in characters: "policy-" or "namespace-", and a name.
	longestName = 80
)

// Named is the status with the breaker's name in the commands of its messages.
func Named(in v1alpha1.RemediationBreakerStatus, breaker string) v1alpha1.RemediationBreakerStatus {
	st := *in.DeepCopy()
	name := func(message string) string {
		return strings.ReplaceAll(message, commandReset+unnamed+" ", commandReset+breaker+" ")
	}
	st.Message = name(st.Message)
	if st.Demoted != nil {
		st.Demoted.Message = name(st.Demoted.Message)
	}
	return st
}

// Held is the status with what is so while a person holds the breaker open: writes don't go through a closed one then.
// Only what is told changes; a closed breaker's own state and its counts stay, and count again afterwards.
func Held(in v1alpha1.RemediationBreakerStatus, spec *v1alpha1.RemediationBreakerSpec,
	now time.Time) v1alpha1.RemediationBreakerStatus {
	st, forced := *in.DeepCopy(), spec.ForcedOpen(now)
	switch atRest := st.State == "" || st.State == v1alpha1.BreakerClosed; {
	case forced && atRest:
		st.Reason, st.Message = v1alpha1.ReasonForcedOpen, messageHeldOpen(spec.ForcedOpenUntilTime)
	case !forced && st.Reason == v1alpha1.ReasonForcedOpen:
		st.Reason, st.Message = v1alpha1.ReasonWithinLimits, messageWithinLimits
	}
	return st
}

// MessagePolicyBreakersOpen is the message to open the global breaker with, when
// TripGlobal says so.
func MessagePolicyBreakersOpen(open int) string {
	return fmt.Sprintf("%d policies' breakers are open at once (limit %d): the fault may not lie with one policy. "+
		"See kubectl get remediationbreakers.", open, globalTripThreshold)
}

func messageOpen(why, only string, next time.Time) string {
	const advice = " No new write%s until %s; then one plan is let through as a probe. Rollbacks go on. " +
		"%s; to start afresh before that time: " + commandReset + unnamed + " --reason \"...\"."
	tail := fmt.Sprintf(advice, "", stamp(next), "Fix the policy or its fix")
	if only != "" {
		tail = " It happened in that namespace alone: others go on." +
			fmt.Sprintf(advice, " in namespace "+only, stamp(next), "Look at what failed there, and who changes it")
	}
	return prose.ShortenCharacters(strings.TrimSpace(why), maxMessage-longestName-utf8.RuneCountInString(tail)) + tail
}

func messageCanary(e Event) string {
	return fmt.Sprintf("The canary of Remediation %s failed.", prose.ShortenCharacters(e.Remediation, 253))
}

func messageConsecutive(failures int32, l limits) string {
	return fmt.Sprintf("%s failed%s (limit %d).", prose.Count(failures, "target"),
		prose.Verb(failures, "", " in a row"), l.consecutive)
}

func messageRatio(st *v1alpha1.RemediationBreakerStatus, l limits) string {
	return fmt.Sprintf("%d of %d outcomes within %s failed (limit %d %% of at least %d).",
		st.Failures, st.Outcomes, l.window, l.ratio, l.minSamples)
}

func messageProbeFailed(e Event) string {
	return fmt.Sprintf("Remediation %s failed while the breaker was half-open (%s).",
		prose.ShortenCharacters(e.Remediation, 253), e.Type)
}

func messageLapsed(p *v1alpha1.BreakerPermit) string {
	return fmt.Sprintf("Remediation %s didn't end before its permit lapsed at %s.", p.Remediation,
		stamp(p.ExpirationTime.Time))
}

func messageProbing(successes int32) string {
	return fmt.Sprintf("Half-open: one plan at a time is let through as a probe. %d of %d succeeded; a failure opens "+
		"the breaker again.",
		successes, successesToClose)
}

func messagePermit(p *v1alpha1.BreakerPermit, successes int32) string {
	return fmt.Sprintf("Half-open: Remediation %s is let through as a probe until %s. %d of %d succeeded; a failure "+
		"opens the breaker again.",
		p.Remediation, stamp(p.ExpirationTime.Time), successes, successesToClose)
}

func messageHeldOpen(until *metav1.Time) string {
	return fmt.Sprintf("A person holds the breaker open%s: no new write begins in its scope; rollbacks go on.",
		v1alpha1.UntilText(until))
}

func messageForced(cb *v1alpha1.RemediationBreaker) string {
	until := " until"
	if cb.Spec.ForcedOpenUntilTime != nil {
		until = v1alpha1.UntilText(cb.Spec.ForcedOpenUntilTime) + ", or until"
	}
	return fmt.Sprintf("Circuit breaker %s is held open by a person (spec.mode: ForcedOpen); no new write%s "+
		`somebody releases it: evenkeel breaker close %s --reason "..."`, cb.Name, until, cb.Name)
}

func messageRefused(breaker string, st *v1alpha1.RemediationBreakerStatus) string {
	where := ""
	if st.OnlyNamespace != "" {
		where = " for namespace " + st.OnlyNamespace + " alone"
	}
	return fmt.Sprintf(
		"Circuit breaker %s is open%s (%s); wait until %s, or, once the cause is dealt with, start it afresh: "+
			commandReset+`%s --reason "..."`, breaker, where, st.Reason, stamp(st.NextProbeTime.Time), breaker)
}

func messageHeld(breaker string, p *v1alpha1.BreakerPermit) string {
	return fmt.Sprintf(
		"Circuit breaker %s is half-open and lets Remediation %s through until %s; wait for its outcome.",
		breaker, p.Remediation, stamp(p.ExpirationTime.Time))
}

func messageNoRemediation(breaker string) string {
	return fmt.Sprintf("Circuit breaker %s is half-open and gives its permit to a named Remediation only; name one.",
		breaker)
}

func messageStorm(rise int64, v Violations, l limits) string {
	return fmt.Sprintf("%s began to violate the policy within %s (limit %d); %d %s now.",
		prose.Count(rise, "object"), l.window, l.newViolations, v.Objects, prose.Verb(v.Objects, "does", "do"))
}

func messageSpent(spent float64, slo *v1alpha1.SLOStrategy) string {
	return fmt.Sprintf("The last hour has spent %.1f %% of the error budget of %s (objective %s %%).", 100*spent,
		slo.Period.Duration, slo.Objective)
}

func messageBurn(spent float64, slo *v1alpha1.SLOStrategy) string {
	return messageSpent(spent, slo) + fmt.Sprintf(" More than %.0f %% in an hour stops automation, whatever the cause.",
		100*maxSpent)
}

func messageSLOUnknown(err error) string {
	return fmt.Sprintf("No answer, which is never a yes: %s.", strings.TrimRight(err.Error(), ". \n"))
}

func messageSLORefused(breaker, why string) string {
	return fmt.Sprintf("The service level objective of circuit breaker %s lets no new write begin: %s It is asked "+
		"again by itself; see the breaker's status.slo, and breaker.slo.query of the policy.",
		breaker, why)
}

func messageDemoted(reason string) string {
	return fmt.Sprintf("The policy's breaker opened %s within %s, at last by %s: only dry runs are made. "+
		"It ends when the policy's rule changes, or by: "+commandReset+unnamed+` --reason "..."`,
		prose.Count(openingsToDemote, "time"), demotionWindow, reason)
}

func messageReset(r *v1alpha1.BreakerResetRecord) string {
	return fmt.Sprintf("Reset by %s: %s. The count starts afresh.", r.By, strings.TrimRight(r.Reason, ". "))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
