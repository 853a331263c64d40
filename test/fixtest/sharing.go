// SPDX-License-Identifier: Apache-2.0

package fixtest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Sharing is a policy that refers to a strategy, and that strategy.
func Sharing() (*v1alpha1.ClusterRegoPolicy, *v1alpha1.RemediationStrategy) {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}, Spec: v1alpha1.RegoPolicySpec{
		Rego: v1alpha1.RegoSource{Main: "package p\n\ndeny contains \"x\" if false\n"},
		Match: v1alpha1.Match{
			Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}},
	}}
	p.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
	p.Spec.Remediation.StrategyRef = &v1alpha1.StrategyReference{Name: "careful"}
	s := &v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: "careful", UID: "one", Generation: 2,
		Annotations: map[string]string{
			v1alpha1.AnnotationAuthor: "sue", v1alpha1.AnnotationAuthors: `{"users":["ann","sue"],"generation":2}`}},
		Spec: v1alpha1.RemediationStrategySpec{MaxInFlight: ptr.To(intstr.FromInt32(1)),
			Steps: []v1alpha1.RolloutStep{{Targets: intstr.FromInt32(1), Soak: &metav1.Duration{Duration: time.Hour}}}}}
	return p, s
}
