// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// The defaults of strategies and sources. An absent field means its default: the schema
// stores none, and anyone who reads an object resolves them.
const (
	// DefaultStrategy is the name of the RemediationStrategy for policies that name none.
	// Where there is none of that name, the defaults below are the strategy.
	DefaultStrategy            = "default"
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

// SetDefaults resolves what is absent. That no strategy is named stays as it is: see
// DefaultStrategy.
func (r *PolicyRemediation) SetDefaults() {
	setDefault(&r.Mode, RemediationDisabled)
	if len(r.AllowedActions) == 0 {
		r.AllowedActions = []ActionType{ActionPatch}
	}
}

// SetDefaults resolves what is absent. The last step, of 100%, is among the steps then. Lists
// are changed in place: copy what others read first.
func (r *RemediationStrategySpec) SetDefaults() {
	if len(r.Steps) == 0 {
		r.Steps = []RolloutStep{{Targets: intstr.FromInt32(1)}, {Targets: intstr.FromString("5%")},
			{Targets: intstr.FromString("25%")}}
	}
	for i := range r.Steps {
		if r.Steps[i].Soak == nil {
			r.Steps[i].Soak = &metav1.Duration{Duration: DefaultSoak}
		}
	}
	if last := r.Steps[len(r.Steps)-1]; last.Targets.String() != "100%" {
		r.Steps = append(r.Steps, RolloutStep{Targets: intstr.FromString("100%"), Soak: last.Soak})
	}
	if r.MaxInFlight == nil {
		r.MaxInFlight = ptr.To(intstr.FromInt32(DefaultMaxInFlight))
	}
	if r.RetryLimit == nil {
		r.RetryLimit = ptr.To[int32](DefaultRetryLimit)
	}
	setDefaultDuration(&r.ProgressDeadline, DefaultProgressDeadline)
	r.setPolicyDefaults()
	r.Breaker.SetDefaults()
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
