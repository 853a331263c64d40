// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The defaults of strategies and sources. An absent field means its default: the schema
// stores none, and anyone who reads an object resolves them.
const (
	DefaultMaxInFlight         = 10
	DefaultRetryLimit          = 5
	DefaultSoak                = time.Minute
	DefaultProgressDeadline    = 10 * time.Minute
	DefaultConsecutiveFailures = 3
	DefaultFailurePercent      = 20
	DefaultMinSamples          = 5
	DefaultBreakerWindow       = 30 * time.Minute
	DefaultBreakerCooldown     = 30 * time.Minute
	MaxBreakerCooldown         = 24 * time.Hour
	DefaultStormViolations     = 100
	DefaultSLOPeriod           = 30 * 24 * time.Hour
	DefaultApprovalTimeout     = 24 * time.Hour
	DefaultEscalationDeadline  = 30 * time.Minute
	DefaultHistoryLimit        = 10
	DefaultHistoryMaxAge       = 30 * 24 * time.Hour
	DefaultAnalysisInterval    = 30 * time.Second
	DefaultAnalysisSamples     = 3
	DefaultSourceInterval      = 5 * time.Minute
	DefaultSourceTimeout       = time.Minute
	DefaultSourceMaxRemoved    = "50%"
)

// SetDefaults resolves what is absent, for readers of a policy. It is never written
// back: what is stored is what was authored.
func (p *ClusterRegoPolicy) SetDefaults() {
	s := &p.Spec
	setDefault(&s.Severity, SeverityMedium)
	if s.TemplateRef == nil {
		setDefault(&s.Rego.Version, RegoV1)
	}
	s.Match.PodTemplates = orTrue(s.Match.PodTemplates)
	s.Admission.setDefaults(s.EffectiveFailurePolicy())
	s.Remediation.SetDefaults()
}

func (a *Admission) setDefaults(failure FailurePolicy) {
	setDefault(&a.Action, AdmissionAudit)
	setDefault(&a.FailurePolicy, failure)
	setDefault(&a.ExistingViolations, ExistingAllow)
	if len(a.Operations) == 0 {
		a.Operations = []Operation{OperationCreate, OperationUpdate}
	}
}

// EffectiveFailurePolicy is admission.failurePolicy, or its default by severity.
func (s *RegoPolicySpec) EffectiveFailurePolicy() FailurePolicy {
	if s.Admission.FailurePolicy != "" {
		return s.Admission.FailurePolicy
	}
	if s.Severity == SeverityCritical || s.Severity == SeverityHigh {
		return FailurePolicyFail
	}
	return FailurePolicyIgnore
}

// SetDefaults resolves what is absent. What strategyRef stands for isn't: that the
// RemediationStrategy says, and no default takes its place.
func (r *PolicyRemediation) SetDefaults() {
	if r.StrategyRef == nil {
		r.RolloutStrategy.SetDefaults()
		return
	}
	r.setOwnDefaults()
}

// SetDefaults resolves what is absent. A plan is made with all of it, so that it needs
// no default later. Lists are changed in place: copy what others read first.
func (r *RolloutStrategy) SetDefaults() {
	r.setOwnDefaults()
	r.RemediationStrategySpec.SetDefaults()
}

// setOwnDefaults resolves what a policy says itself, whatever sets the rest.
func (r *RolloutStrategy) setOwnDefaults() {
	setDefault(&r.Mode, RemediationDisabled)
	if len(r.AllowedActions) == 0 {
		r.AllowedActions = []ActionType{ActionPatch}
	}
}

// SetDefaults resolves what is absent. Lists are changed in place: copy what others read
// first.
func (r *RemediationStrategySpec) SetDefaults() {
	if r.Canary.Size == nil {
		one := intstr.FromInt32(1)
		r.Canary.Size = &one
	}
	if len(r.Waves) == 0 {
		r.Waves = []intstr.IntOrString{intstr.FromString("5%"), intstr.FromString("25%"), intstr.FromString("100%")}
	}
	setDefault(&r.MaxInFlight, DefaultMaxInFlight)
	if r.RetryLimit == nil {
		limit := int32(DefaultRetryLimit)
		r.RetryLimit = &limit
	}
	if r.Soak == nil {
		r.Soak = &metav1.Duration{Duration: DefaultSoak}
	}
	setDefaultDuration(&r.ProgressDeadline, DefaultProgressDeadline)
	r.setPolicyDefaults()
	r.Breaker.SetDefaults()
}

// EffectiveSoak is soak, or its default.
func (r *RemediationStrategySpec) EffectiveSoak() time.Duration {
	if r.Soak != nil {
		return r.Soak.Duration
	}
	return DefaultSoak
}

func (r *RemediationStrategySpec) setPolicyDefaults() {
	setDefault(&r.OnFailure, FailureRollback)
	setDefault(&r.RollbackScope, RollbackWave)
	setDefault(&r.ManagedObjects, ManagedNotify)
	setDefaultDuration(&r.Approval.Timeout, DefaultApprovalTimeout)
	setDefaultDuration(&r.Escalation.Deadline, DefaultEscalationDeadline)
	setDefault(&r.History.Limit, DefaultHistoryLimit)
	setDefaultDuration(&r.History.MaxAge, DefaultHistoryMaxAge)
	for i := range r.Windows {
		setDefault(&r.Windows[i].TimeZone, "UTC")
	}
	if r.Analysis == nil {
		return
	}
	for i := range r.Analysis.Metrics {
		setDefaultDuration(&r.Analysis.Metrics[i].Interval, DefaultAnalysisInterval)
		setDefault(&r.Analysis.Metrics[i].Samples, DefaultAnalysisSamples)
	}
}

// SetDefaults resolves what is absent.
func (b *BreakerStrategy) SetDefaults() {
	setDefault(&b.ConsecutiveFailures, DefaultConsecutiveFailures)
	setDefault(&b.FailurePercent, DefaultFailurePercent)
	setDefault(&b.MinSamples, DefaultMinSamples)
	setDefaultDuration(&b.Window, DefaultBreakerWindow)
	setDefaultDuration(&b.Cooldown, DefaultBreakerCooldown)
	setDefault(&b.Storm.NewViolations, DefaultStormViolations)
	if b.SLO != nil {
		slo := *b.SLO // others may read the one that was given
		setDefaultDuration(&slo.Period, DefaultSLOPeriod)
		b.SLO = &slo
	}
}

func orTrue(b *bool) *bool {
	if b != nil {
		return b
	}
	yes := true
	return &yes
}

func setDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

func setDefaultDuration(field *metav1.Duration, value time.Duration) {
	if field.Duration == 0 {
		field.Duration = value
	}
}
