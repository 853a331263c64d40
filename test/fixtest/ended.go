// SPDX-License-Identifier: Apache-2.0

package fixtest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// Ended is a plan of revision r1 that ended at a time.
func Ended(at time.Time) *v1alpha1.Remediation {
	ended := metav1.NewMicroTime(at)
	rem := &v1alpha1.Remediation{}
	rem.Spec.Plan.Policy.Revision = "r1"
	rem.Status.CompletionTime = &ended
	return rem
}

// One are the records of one target in a state.
func One(state v1alpha1.TargetState) *record.Records {
	slice := &v1alpha1.RemediationSlice{}
	slice.Targets = []v1alpha1.Target{{Object: v1alpha1.ObjectReference{Kind: "Deployment", Name: "web", UID: "u1"}}}
	slice.Records = []v1alpha1.TargetRecord{{State: state}}
	b := &record.Records{}
	b.Add(slice)
	return b
}
