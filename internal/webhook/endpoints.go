package webhook

import (
	"net/http"
	"runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/seal"
	"evenkeel.dev/evenkeel/internal/webhook/intake"
	"evenkeel.dev/evenkeel/internal/webhook/rollback"
)

// endpoints are the handlers by the path that they serve. self is the user that
// the API server knows this manager as.
func (s *setup) endpoints(namespaces Namespaces, self string) map[string]http.Handler {
	log := (&intake.Quiet{Clock: s.Clock}).Logger(s.mgr.GetLogger().WithName("webhook"))
	keys := seal.Known{Reader: s.mgr.GetAPIReader(), Namespace: s.Namespace}
	rollbacks := &rollback.Proof{Reader: seal.NewReader(s.mgr.GetAPIReader(), keys)}
	judging := func(class v1alpha1.FailurePolicy) http.Handler {
		return &Handler{
			Reviews:    s.reviews,
			Class:      class,
			Judge:      func() Judge { return s.Catalog.Snapshot() },
			Namespaces: namespaces,
			Workloads:  liveWorkloads{s.mgr.GetAPIReader()},
			Timeout:    s.Timeout,
			Self:       self,
			Rollbacks:  rollbacks,
			Docs:       s.Docs,
			Metrics:    s.metrics,
			Clock:      s.Clock,
			Log:        log,
		}
	}
	turns := rego.NewLane(runtime.GOMAXPROCS(0) / 2)
	return map[string]http.Handler{
		PathFail:   judging(v1alpha1.FailurePolicyFail),
		PathIgnore: judging(v1alpha1.FailurePolicyIgnore),
		PathPolicy: &PolicyHandler{Reviews: s.reviews, Checker: s.checker(), Turns: turns, Reach: s.Reach, Floors: s.Floors, Strategy: s.strategy, Metrics: s.metrics, Clock: s.Clock, Log: log},
		PathTemplate: &TemplateHandler{Reviews: s.reviews, Turns: turns, Metrics: s.metrics, Clock: s.Clock, Log: log,
			Naming: func(name string) []*v1alpha1.ClusterRegoPolicy { return s.Catalog.Snapshot().Naming(name) }},
		PathWaiver:   &WaiverHandler{Reviews: s.reviews, Known: s.known, Metrics: s.metrics, Clock: s.Clock, Log: log},
		PathStrategy: &StrategyHandler{Reviews: s.reviews, Floors: s.Floors, Metrics: s.metrics, Clock: s.Clock, Log: log},
		PathApproval: &ApprovalHandler{Reviews: s.reviews, Reader: s.mgr.GetAPIReader(), Timeout: s.Timeout, Metrics: s.metrics, Clock: s.Clock, Log: log,
			Approvers: canary.Approvers{Distinct: s.Floors.DistinctApprover, SourcesReviewed: s.Floors.SourcesReviewed}},
		PathRecords: &RecordsHandler{Reviews: s.reviews, Metrics: s.metrics, Clock: s.Clock, Log: log},
		PathStamp:   &StampHandler{Reviews: s.reviews, Metrics: s.metrics, Clock: s.Clock, Log: log},
	}
}

// known says that a policy of that name exists.
func (s *setup) known(name string) bool {
	_, known := s.Catalog.Status(name)
	return known
}

// strategy is the RemediationStrategy of that name; nil when there is none.
func (s *setup) strategy(name string) *v1alpha1.RemediationStrategy {
	return s.Catalog.Snapshot().Strategy(name)
}

func (s *setup) checker() *PolicyChecker {
	return &PolicyChecker{
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
