// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Problem is one thing that is wrong with a strategy.
type Problem struct {
	// Field is where, below the spec of a RemediationStrategy, or spec.remediation of a policy:
	// "steps[1].targets".
	Field string
	// Message says what is wrong there and what would be right.
	Message string
}

// The longest times of a strategy, where the API type names none.
const (
	maxSoak             = 7 * 24 * time.Hour
	maxProgressDeadline = 24 * time.Hour
	maxApprovalTimeout  = 30 * 24 * time.Hour
	maxEscalation       = 7 * 24 * time.Hour
	maxHistoryAge       = 5 * 365 * 24 * time.Hour
)

// ValidatePolicy lists what is wrong with what a policy says of remediation itself.
func ValidatePolicy(r *v1alpha1.PolicyRemediation) []Problem {
	var p problems
	oneOf(&p, "mode", r.Mode, v1alpha1.RemediationDisabled, v1alpha1.RemediationDryRun, v1alpha1.RemediationManual,
		v1alpha1.RemediationAutomatic)
	for i, action := range r.AllowedActions {
		oneOf(&p, fmt.Sprintf("allowedActions[%d]", i), action, v1alpha1.ActionTypes()...)
	}
	checkRemoved(&p, r.RemovedFromPolicy, " of the RemediationStrategy that strategyRef names")
	return p
}

// checkRemoved refuses settings that have another place now, as the API's schema does.
func checkRemoved(p *problems, removed any, of string) {
	now := map[string]string{"canary": "steps[0]", "waves": "steps", "soak": "soak in the steps",
		"budget": "maxInFlight, maxPerNamespace and maxTargets"}
	for i, v := 0, reflect.ValueOf(removed); i < v.NumField(); i++ {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); !v.Field(i).IsZero() {
			p.add(name, "it is gone: set %s%s", cmp.Or(now[name], name), of)
		}
	}
}

// Validate lists what is wrong with a strategy, in the order of its fields;
// nothing when a rollout can be made from it. It is the one judge of strategies,
// for admission and for policies in files, and leaves nothing to the API's
// schema. A field left at its zero value stands for its default and is right.
func Validate(s *v1alpha1.RemediationStrategySpec) []Problem {
	var p problems
	checkSteps(&p, s.Steps)
	checkStages(&p, s.Stages)
	checkLimits(&p, s)
	p.lasts("progressDeadline", s.ProgressDeadline, time.Second, maxProgressDeadline)
	if s.RetryLimit != nil {
		p.within("retryLimit", *s.RetryLimit, 0, 20)
	}
	checkWindows(&p, s.Windows)
	checkAnalysis(&p, s.Analysis)
	checkHealth(&p, s.Health)
	p.lasts("approval.timeout", s.Approval.Timeout, time.Second, maxApprovalTimeout)
	oneOf(&p, "onFailure", s.OnFailure, v1alpha1.FailureRollback, v1alpha1.FailureHold)
	oneOf(&p, "rollbackScope", s.RollbackScope, v1alpha1.RollbackWave, v1alpha1.RollbackAll)
	oneOf(&p, "managedObjects", s.ManagedObjects, v1alpha1.ManagedNotify, v1alpha1.ManagedRemediate)
	p.lasts("escalation.deadline", s.Escalation.Deadline, time.Second, maxEscalation)
	p.within("history.limit", s.History.Limit, 1, 100)
	p.lasts("history.maxAge", s.History.MaxAge, time.Second, maxHistoryAge)
	checkBreaker(&p, &s.Breaker)
	checkRemoved(&p, s.RemovedFromStrategy, "")
	return p
}

func (p Problem) String() string { return p.Field + ": " + p.Message }

type problems []Problem

func (p *problems) add(field, format string, args ...any) {
	*p = append(*p, Problem{Field: field, Message: fmt.Sprintf(format, args...)})
}

// addErr adds an error, or nothing for nil.
func (p *problems) addErr(field string, err error) {
	if err != nil {
		p.add(field, "%v", err)
	}
}

// within takes 0 as unset.
func (p *problems) within(field string, value, low, high int32) {
	if value != 0 && (value < low || value > high) {
		p.add(field, "%d: must be from %d to %d", value, low, high)
	}
}

// lasts takes 0 as unset.
func (p *problems) lasts(field string, d metav1.Duration, low, high time.Duration) {
	if d.Duration != 0 && (d.Duration < low || d.Duration > high) {
		p.add(field, "%s: must be from %s to %s", d.Duration, low, high)
	}
}

// atMost bounds the length of a list.
func (p *problems) atMost(field string, length, most int) {
	if length > most {
		p.add(field, "%d are listed: list at most %d", length, most)
	}
}

// oneOf takes an empty value as unset.
func oneOf[T ~string](p *problems, field string, value T, allowed ...T) {
	if value != "" && !slices.Contains(allowed, value) {
		names := make([]string, len(allowed))
		for i, name := range allowed {
			names[i] = string(name)
		}
		p.add(field, "%q isn't supported: use one of %s%s", value, strings.Join(names, " "),
			prose.DidYouMean(string(value), names))
	}
}
