// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/rig"
)

const (
	// harmDeadline is how long a target of a harmed fleet may take to be well.
	harmDeadline = 4 * time.Second
	// patientDeadline is the same where the wave after the canary must come, however busy the machine is.
	patientDeadline = 12 * time.Second
)

// experiment is one rollout, or several alike, with a fault.
type experiment struct {
	figure
	managers []*rig.Manager
	began    time.Time
}

// begin starts the clock of an experiment with the managers given.
func begin(fault string, managers ...*rig.Manager) *experiment {
	for _, m := range managers {
		m.BeginSpec()
	}
	return &experiment{figure: figure{Fault: fault}, managers: managers, began: time.Now()}
}

// end keeps the figures, and fails the spec when anything was doubled, lost or
// left wrong.
func (e *experiment) end() {
	GinkgoHelper()
	e.Seconds = time.Since(e.began).Seconds()
	AddReportEntry(figuresEntry, e.figure)
	Expect(e.Double).To(BeZero(), "targets written more than once")
	Expect(e.Lost).To(BeZero(), "targets lost")
	Expect(e.Wrong).To(BeZero(), "fields left wrong by a rollback")
}

// rollout is one rollout of an experiment, over a namespace of its own.
type rollout struct {
	*experiment
	fleet
	namespace string
	policyOf  *v1alpha1.ClusterRegoPolicy
	from      map[*rig.Manager]int
	// any matches every write of the rollout: to targets, and Evenkeel's own records.
	any faultproxy.Match
}

// roll makes the fleet; the policy that begins the rollout comes with start.
func (e *experiment) roll(ctx context.Context, f fleet) *rollout {
	GinkgoHelper()
	namespace := suite.Namespace(ctx, "chaos")
	f.create(ctx, namespace)
	r := &rollout{experiment: e, fleet: f, namespace: namespace, policyOf: f.policy(namespace),
		from: map[*rig.Manager]int{}}
	r.any = rig.RolloutWrites(namespace, r.target)
	for _, m := range e.managers {
		r.from[m] = len(m.Proxy.Writes())
	}
	return r
}

// start lets the rollout begin.
func (r *rollout) start(ctx context.Context) {
	GinkgoHelper()
	suite.CreatePolicy(ctx, r.policyOf)
}

// target matches writes to the fleet.
func (r *rollout) target(q faultproxy.Request) bool {
	return q.IsWrite() && q.Resource == r.resource() && q.Namespace == r.namespace
}

// await waits for the phase, counts what became of every target, and removes
// what the rollout left so that the next begins alike.
func (r *rollout) await(ctx context.Context, phase v1alpha1.RemediationPhase) *v1alpha1.Remediation {
	GinkgoHelper()
	rem := suite.AwaitPhase(ctx, r.policyOf.Name, phase)
	r.count(ctx, rem)
	return rem
}

// count adds what became of a plan's targets to the figures.
func (r *rollout) count(ctx context.Context, rem *v1alpha1.Remediation) {
	GinkgoHelper()
	fixed, setBack := r.written()
	for _, rec := range suite.Records(ctx, rem) {
		r.Targets++
		r.Writes += fixed[rec.Object.UID] + setBack[rec.Object.UID]
		if fixed[rec.Object.UID] > 1 || setBack[rec.Object.UID] > 1 {
			r.Double++
			GinkgoWriter.Printf("%s was fixed %d and set back %d times\n", rec.Object.Name, fixed[rec.Object.UID],
				setBack[rec.Object.UID])
		}
		if rec.State == v1alpha1.TargetReverted {
			r.RolledBack++
		}
		if rec.Reason == v1alpha1.ReasonGone || rec.State == v1alpha1.TargetFailed {
			continue // the spec itself looks at those
		}
		problem, wrong := r.unexplained(ctx, r.namespace, rec.Object.Name, rec.TargetRecord)
		r.Wrong += wrong
		if problem != "" {
			r.Lost++
			GinkgoWriter.Println(problem)
		}
	}
}

// written counts the successful patches of each target by UID: those that fix,
// and those that set back.
func (r *rollout) written() (fixed, setBack map[string]int) {
	fixed, setBack = map[string]int{}, map[string]int{}
	for _, m := range r.managers {
		for _, w := range m.Proxy.Writes()[r.from[m]:] {
			switch {
			case !r.target(w.Request) || !w.Succeeded() || w.Method != http.MethodPatch:
			case w.Query.Get("fieldManager") == v1alpha1.RollbackFieldManager:
				setBack[w.UID]++
			default:
				fixed[w.UID]++
			}
		}
	}
	return fixed, setBack
}

// remove clears away what the rollout left.
func (r *rollout) remove(ctx context.Context) {
	GinkgoHelper()
	suite.RemovePolicy(ctx, r.policyOf.Name)
}
