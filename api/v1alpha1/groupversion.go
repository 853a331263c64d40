// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion identifies this API in manifests: evenkeel.dev/v1alpha1.
var GroupVersion = schema.GroupVersion{Group: "evenkeel.dev", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package with a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&ClusterRegoPolicy{}, &ClusterRegoPolicyList{},
		&RegoTemplate{}, &RegoTemplateList{},
		&RemediationStrategy{}, &RemediationStrategyList{},
		&Remediation{}, &RemediationList{},
		&RemediationSlice{}, &RemediationSliceList{},
		&RemediationBreaker{}, &RemediationBreakerList{},
		&Waiver{}, &WaiverList{},
		&ClusterWaiver{}, &ClusterWaiverList{},
		&PolicySource{}, &PolicySourceList{},
		&PolicyOverride{}, &PolicyOverrideList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
