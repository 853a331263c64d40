// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/http"
	"runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/review"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
	"evenkeel.dev/evenkeel/internal/webhook/validation"
)

// endpoints are the handlers by the path that they serve. self is the user that
// the API server knows this manager as.
func (s *setup) endpoints(namespaces review.Namespaces, self string) map[string]http.Handler {
	base := serving.Base{Reviews: s.own, Timeout: s.Timeout, Metrics: s.requests, Clock: s.Clock,
		Log: (&serving.Quiet{Clock: s.Clock}).Logger(s.mgr.GetLogger().WithName("webhook"))}
	judged := base
	judged.Reviews = s.judged
	judging := func(class v1alpha1.FailurePolicy) http.Handler {
		return &review.Handler{
			Base:       judged,
			Class:      class,
			Judge:      func() review.Judge { return s.Catalog.Snapshot() },
			Namespaces: namespaces,
			Workloads:  review.LiveWorkloads{Reader: s.mgr.GetAPIReader()},
			Self:       self,
			Docs:       s.Docs,
			Verdicts:   s.verdicts,
		}
	}
	turns := rego.NewLane(runtime.GOMAXPROCS(0) / 2)
	return map[string]http.Handler{
		names.PathFail:   judging(v1alpha1.FailurePolicyFail),
		names.PathIgnore: judging(v1alpha1.FailurePolicyIgnore),
		names.PathPolicy: &validation.PolicyHandler{Base: base, Checker: s.checker(), Turns: turns, Reach: s.Reach,
			Floors: s.Floors, Strategy: s.strategy, Plans: s.plans, Self: self},
		names.PathTemplate: &validation.TemplateHandler{Base: base, Turns: turns,
			Naming: func(name string) []*v1alpha1.ClusterRegoPolicy { return s.Catalog.Snapshot().Naming(name) }},
		names.PathWaiver:   &validation.WaiverHandler{Base: base, Known: s.known},
		names.PathStrategy: &validation.StrategyHandler{Base: base, Floors: s.Floors, Plans: s.plans},
		names.PathOverride: &validation.OverrideHandler{Base: base,
			Policy: func(name string) *v1alpha1.ClusterRegoPolicy { return s.Catalog.Snapshot().Definition(name) }},
		names.PathDeletion: &validation.DeletionHandler{Base: base, Reader: s.mgr.GetAPIReader(), Self: self},
		names.PathRecords: &validation.RecordsHandler{Base: base, Reader: s.mgr.GetAPIReader(),
			Approvers: canary.Approvers{Distinct: s.Floors.DistinctApprover,
				SourcesReviewed: s.Floors.SourcesReviewed}},
		names.PathStamp: &stamp.Handler{Base: base},
	}
}

func (s *setup) known(name string) bool {
	_, known := s.Catalog.Status(name)
	return known
}

// strategy is the RemediationStrategy of that name; nil when there is none.
func (s *setup) strategy(name string) *v1alpha1.RemediationStrategy {
	return s.Catalog.Snapshot().Strategy(name)
}

func (s *setup) checker() *validation.PolicyChecker {
	return &validation.PolicyChecker{
		Kinds: s.kinds,
		Compile: func(p *v1alpha1.ClusterRegoPolicy) error {
			if p.Spec.TemplateRef == nil {
				_, err := rego.Compile(p)
				return err
			}
			from, err := s.Catalog.Snapshot().Template(p.Spec.TemplateRef.Name)
			if err == nil {
				_, err = from.Policy(p)
			}
			return err
		},
	}
}
