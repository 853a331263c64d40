// SPDX-License-Identifier: Apache-2.0

package serving

import "evenkeel.dev/evenkeel/api/v1alpha1"

// Class is the endpoint that judges for a policy, and with it what the API
// server does when Evenkeel can't be reached. A policy that wouldn't refuse
// anything (Warn, DryRun) never fails closed, whatever its failurePolicy.
func Class(p *v1alpha1.ClusterRegoPolicy) v1alpha1.FailurePolicy {
	if p.Spec.Admission.Action != v1alpha1.AdmissionDeny {
		return v1alpha1.FailurePolicyIgnore
	}
	return p.Spec.EffectiveFailurePolicy()
}
