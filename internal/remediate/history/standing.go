// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Standing is what the plans of a revision say of the next one, since the policy changed
// or a person last said to try again. It is read from the plans each time.
type Standing struct {
	circuit.Standing
	// plans are those that it speaks of, the oldest first.
	plans []*v1alpha1.Remediation
}

// StandingOf judges a policy's plans, the oldest first.
func StandingOf(pol *v1alpha1.ClusterRegoPolicy, plans []v1alpha1.Remediation, revision string,
	now time.Time) Standing {
	var s Standing
	for i := range plans {
		rem := &plans[i]
		s.plans = append(s.plans, rem)
		if rem.Spec.Plan.Policy.Revision != revision || rem.Spec.Plan.Policy.UID != string(pol.UID) ||
			rem.RetryAsked() {
			s.plans = nil
		}
	}
	var ends []v1alpha1.RemediationStatus
	for _, rem := range s.plans {
		ends = append(ends, rem.Status)
	}
	s.Standing = circuit.Stand(ends, now)
	return s
}

// NextAfter is how long after the end of the latest plan another one is made: when a fix is
// offered for nothing but what is left out, as long as that.
func (s Standing) NextAfter(found []policy.Finding, now time.Time) time.Duration {
	wait := s.Wait
	if breaker.FixableOutside(found, s.Aside) || len(s.plans) == 0 {
		return wait
	}
	ended := s.plans[len(s.plans)-1].EndTime()
	for _, aside := range s.Aside {
		if aside.Until.After(now) {
			wait = max(wait, aside.Until.Sub(ended))
		}
	}
	return wait
}

// LeftOut are the namespaces that the draft leaves out, and what is said of them.
func (s Standing) LeftOut() map[string]string {
	out := map[string]string{}
	for namespace, aside := range s.Aside {
		plan := s.plans[aside.End].Name
		if !aside.Until.IsZero() {
			out[namespace] = fmt.Sprintf("plan %s ended without an answer in namespace %s, and only there: its "+
				"objects are planned again from %s",
				plan, namespace, aside.Until.UTC().Format(time.RFC3339))
			continue
		}
		out[namespace] = fmt.Sprintf("plan %s failed in namespace %s, and only there: its objects are left aside, and "+
			"others go on. Look at what failed there, "+
			"then say to try again: evenkeel rollout retry %s", plan, namespace, plan)
	}
	return out
}
