// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

type webhook = admissionregistrationv1.ValidatingWebhook

func TestKindsThatEvenkeelsWebhookIsNotAskedOf(t *testing.T) {
	rule := func(group, resource string, operation admissionregistrationv1.OperationType) webhook {
		return webhook{Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{operation}, Rule: admissionregistrationv1.Rule{
				APIGroups: []string{group}, Resources: []string{resource}}}}}
	}
	served := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Kind: "Node", Name: "nodes", Verbs: []string{"create"}},
			{Kind: "Service", Name: "services/status", Verbs: []string{"create"}},
			{Kind: "Service", Name: "services", Verbs: []string{"list", "create"}},
			{Kind: "ComponentStatus", Name: "componentstatuses", Verbs: []string{"list"}}}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Kind: "Deployment", Name: "deployments",
			Verbs: []string{"create"}}}}}
	services := rule("", "services", admissionregistrationv1.Create)
	cases := map[string]struct {
		kinds    []string
		group    string
		webhooks []webhook
		want     []string
	}{
		"one that is asked of": {kinds: []string{"Service"}, webhooks: []webhook{services}},
		"one that is never refused": {kinds: []string{"Node", "Service"}, webhooks: []webhook{services},
			want: []string{"Node"}},
		"one that isn't served":      {kinds: []string{"Absent"}},
		"one that nobody can create": {kinds: []string{"ComponentStatus"}},
		"one of another group": {kinds: []string{"Deployment"}, group: "apps",
			webhooks: []webhook{rule("", "deployments", admissionregistrationv1.Create)},
			want:     []string{"Deployment.apps"}},
		"one by wildcards": {kinds: []string{"Deployment"}, group: "apps",
			webhooks: []webhook{rule("*", "*", admissionregistrationv1.OperationAll)}},
		"one whose deletions alone are asked of": {kinds: []string{"Service"}, want: []string{"Service"},
			webhooks: []webhook{rule("", "services", admissionregistrationv1.Delete)}},
		"a configuration that names nothing": {kinds: []string{"Service"}, want: []string{"Service"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.ClusterRegoPolicy{Spec: v1alpha1.RegoPolicySpec{Match: v1alpha1.Match{
				PodTemplates: ptr.To(false),
				Resources:    []v1alpha1.ResourceMatch{{APIGroups: []string{tc.group}, Kinds: tc.kinds}}}}}
			got := unasked(p, &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: tc.webhooks}, served)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
