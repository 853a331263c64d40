// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// Observation is all that a phase may look at: the plan, the few persisted facts
// of its status, and the state of the world as it was read just now.
type Observation struct {
	Now time.Time
	// UID is the plan's: a later one may have its name, and its hash.
	UID    types.UID
	Spec   v1alpha1.RemediationSpec
	Status v1alpha1.RemediationStatus
	// Requests are the latest that people have made of the plan.
	Requests []v1alpha1.RequestRecord
	// MostInWave is how many targets of a wave may be written and not soaked; 0: any
	// number. What is more waits until those have soaked.
	MostInWave int
	// Targets are all targets of the plan, in order.
	Targets []TargetView
	// Stop says why no target may be begun any more: the policy has changed, or
	// somebody deletes the plan. Empty: go on.
	Stop string
	// StopReason is the CamelCase reason of Stop.
	StopReason string
	// Abort says that a person wants the plan undone and ended. Empty: no.
	Abort string
	// Gate says whether new writes may begin now.
	Gate Gate
	// Approval is what people have said of the plan, in mode Manual.
	Approval Approval
	// Analysis is what metrics say of the wave at work.
	Analysis Analysis
	// PollInterval is the longest that the plan waits until it looks again at what it waits
	// for; zero: as long as is usual for that.
	PollInterval time.Duration
}

// Approval is what people have said of a plan.
type Approval struct {
	// Needed says whether the plan may begin only after a person's yes.
	Needed bool
	// Decision is the answer that counts; empty while there is none.
	Decision v1alpha1.ApprovalDecision
	// Refused is the CamelCase reason why the answer that there is doesn't count.
	Refused string
	// Message tells who answered and what, or how to answer.
	Message string
	// Overdue says that the time for an answer has passed.
	Overdue bool
}

// Analysis is what metrics say of the wave at work.
type Analysis struct {
	// Verdict is empty when the strategy names no metric.
	Verdict v1alpha1.AnalysisVerdict
	// Message names the metric and its answer.
	Message string
	// Wait is how long until the next sample is due.
	Wait time.Duration
}

// Gate says whether new writes may begin now, and if not, what is awaited.
type Gate struct {
	Closed          bool
	Reason, Message string
	// KeptBack are the namespaces in which no write begins though it is open, with why.
	KeptBack map[string]string
}

// TargetView is one target as the machine sees it.
type TargetView struct {
	Object v1alpha1.ObjectReference
	// Wave is the wave that the target belongs to now.
	Wave   int32
	State  v1alpha1.TargetState
	Reason string
	// Message says why a target failed.
	Message string
	// NextAttemptAt is when the next try may begin; zero means now.
	NextAttemptAt time.Time
	// LandsUntil is until when a write of unknown outcome may reach the object; zero
	// when none may.
	LandsUntil time.Time
	// AppliedAt is when the write was known to have reached the object.
	AppliedAt time.Time
	// Check is what verification saw just now; nil when it wasn't looked at.
	Check *Check
	// Recovering says that the write was undone and the object isn't known to be
	// well again; RevertedAt is when.
	Recovering bool
	RevertedAt time.Time
	// ExcludedFromCanary says that the target is never drawn into the plan's first canary.
	ExcludedFromCanary bool
	// Barred says why this target alone may not be begun now. Empty: it may.
	Barred string
	// BarredReason is ReasonBudgetSpent when a budget has no room for the target
	// now, and ReasonOtherPlan when another plan has its object in work: both soon
	// pass. Anything else (a breaker, if empty) lasts, and holds
	// the plan when nothing else is left of the wave.
	BarredReason string

	Attempts int32
}

// CheckResult is what verification says of one target.
type CheckResult int

const (
	// CheckWaiting: not verified yet; look again. No answer is never a pass.
	CheckWaiting CheckResult = iota
	// CheckPassed: the object is clean and healthy.
	CheckPassed
	// CheckFailed: the object violates again, or its health got worse for good.
	CheckFailed
	// CheckGone: the object that was written is deleted, or replaced under its name.
	CheckGone
	// CheckSetBack: the object violates again because somebody else changed our
	// fields since; it isn't the fix that failed.
	CheckSetBack
)

// Check is what verification saw of one target.
type Check struct {
	Result CheckResult
	// Reason is one of the reasons of a target's state.
	Reason, Message string
}

// verdict is what metrics say of the wave; empty when the strategy names none.
// A strategy that does, and no answer, is never a pass.
func (o Observation) verdict() v1alpha1.AnalysisVerdict {
	switch {
	case len(o.Spec.Plan.Rollout.Metrics) == 0:
		return ""
	case o.Analysis.Verdict == "":
		return v1alpha1.AnalysisInconclusive
	default:
		return o.Analysis.Verdict
	}
}

// BaselineMissing says whether the answer of some metric from before the wave's
// first write is needed and isn't persisted yet. It can't be had afterwards.
func (o Observation) BaselineMissing() bool {
	metrics := o.Spec.Plan.Rollout.Metrics
	return len(metrics) > 0 && !canary.Baselined(metrics, o.Status.Analysis, o.Status.Wave, o.Now)
}
