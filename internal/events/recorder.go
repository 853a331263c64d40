// SPDX-License-Identifier: Apache-2.0

// Package events records Kubernetes events about rollouts, policies, breakers and targets. It
// decides the type and the action of each event by its reason, and bounds its note.
package events

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// MaxNote is the API's limit on an event's note, in bytes (events.k8s.io/v1).
const MaxNote = 1024

// Recorder records events. Recording is best effort and never blocks.
type Recorder struct {
	events clientevents.EventRecorder
}

// NewRecorder returns a Recorder that records on r.
func NewRecorder(r clientevents.EventRecorder) *Recorder { return &Recorder{events: r} }

// Rollout records a transition of a rollout, regarding the Remediation.
func (r *Recorder) Rollout(rem *v1alpha1.Remediation, reason, note string) {
	r.record(rem, policyReference(rem.Spec.Plan.Policy), reason, note)
}

// Policy records an event about a policy.
func (r *Recorder) Policy(p *v1alpha1.ClusterRegoPolicy, reason, note string) {
	r.record(p, nil, reason, note)
}

// Breaker records a transition of a circuit breaker, with the plan that caused it.
func (r *Recorder) Breaker(cb *v1alpha1.RemediationBreaker, rem *v1alpha1.Remediation, reason, note string) {
	var related runtime.Object
	if rem != nil {
		related = rem
	}
	r.record(cb, related, reason, note)
}

// Target records what happened to one object, with the plan that did it.
func (r *Recorder) Target(ref v1alpha1.ObjectReference, rem runtime.Object, reason, note string) {
	r.record(&corev1.ObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace,
		Name: ref.Name, UID: types.UID(ref.UID)}, rem, reason, note)
}

func (r *Recorder) record(regarding, related runtime.Object, reason, note string) {
	if len(note) > MaxNote {
		note = strings.ToValidUTF8(note[:MaxNote-3], "") + "..."
	}
	r.events.Eventf(regarding, related, eventType(reason), reason, action(reason), "%s", note)
}

// eventType returns Warning for every reason that may need a person to act.
func eventType(reason string) string {
	switch reason {
	case v1alpha1.EventPlanMade, v1alpha1.EventCanaryPassed, v1alpha1.EventWaveDone, v1alpha1.EventRemediationSucceeded,
		v1alpha1.EventRemediationSuperseded,
		v1alpha1.EventRemediationPreviewed, v1alpha1.EventBreakerClosed, v1alpha1.EventBreakerReset,
		v1alpha1.EventKillSwitchOff, v1alpha1.EventDemotionEnded,
		v1alpha1.EventRemediated,
		v1alpha1.EventApproved, v1alpha1.EventRejected:
		return corev1.EventTypeNormal
	default:
		return corev1.EventTypeWarning
	}
}

// action returns what Evenkeel was doing, in CamelCase as events.k8s.io/v1 requires.
func action(reason string) string {
	switch reason {
	case v1alpha1.EventBreakerOpened, v1alpha1.EventBreakerClosed, v1alpha1.EventBreakerReset,
		v1alpha1.EventKillSwitchOn, v1alpha1.EventKillSwitchOff,
		v1alpha1.EventPolicyDemoted, v1alpha1.EventDemotionEnded:
		return "BreakCircuit"
	case v1alpha1.EventPlanMade, v1alpha1.EventRemediationNotPlanned:
		return "Plan"
	case v1alpha1.EventRollingBack, v1alpha1.EventRolledBack, v1alpha1.EventRollbackIncomplete,
		v1alpha1.EventRemediationReverted:
		return "RollBack"
	default:
		return "Remediate"
	}
}

func policyReference(p v1alpha1.PlannedPolicy) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterRegoPolicy", Name: p.Name,
		UID: types.UID(p.UID)}
}
