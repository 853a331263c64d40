// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

type webhook = admissionregistrationv1.ValidatingWebhook

func TestKindsThatEvenkeelsWebhookIsNotAskedOf(t *testing.T) {
	const create, update, remove = admissionregistrationv1.Create, admissionregistrationv1.Update,
		admissionregistrationv1.Delete
	rule := func(group, resource string, operations ...admissionregistrationv1.OperationType) webhook {
		return webhook{Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: operations, Rule: admissionregistrationv1.Rule{
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
	services := rule("", "services", create, update)
	cases := map[string]struct {
		kinds    []string
		group    string
		asks     []v1alpha1.Operation // none for CREATE and UPDATE
		subs     []v1alpha1.Subresource
		webhooks []webhook
		want     []string
	}{
		"one that is asked of": {kinds: []string{"Service"}, webhooks: []webhook{services}},
		"one that is never refused": {kinds: []string{"Node", "Service"}, webhooks: []webhook{services},
			want: []string{"Node"}},
		"one that isn't served":      {kinds: []string{"Absent"}},
		"one that nobody can create": {kinds: []string{"ComponentStatus"}},
		"one of another group": {kinds: []string{"Deployment"}, group: "apps",
			webhooks: []webhook{rule("", "deployments", create, update)},
			want:     []string{"Deployment.apps"}},
		"one by wildcards": {kinds: []string{"Deployment"}, group: "apps",
			webhooks: []webhook{rule("*", "*", admissionregistrationv1.OperationAll)}},
		"one whose deletions alone are asked of": {kinds: []string{"Service"}, want: []string{"Service"},
			webhooks: []webhook{rule("", "services", remove)}},
		"one whose deletions are judged, too, and not asked of": {kinds: []string{"Service"},
			asks: []v1alpha1.Operation{"CREATE", "UPDATE", "DELETE"}, webhooks: []webhook{services},
			want: []string{"Service (DELETE)"}},
		"one whose operations are asked of by two rules": {kinds: []string{"Service"},
			asks:     []v1alpha1.Operation{"CREATE", "UPDATE", "DELETE"},
			webhooks: []webhook{services, rule("*", "*/*", remove)}},
		"a subresource": {kinds: []string{"Pod"}, subs: []v1alpha1.Subresource{"exec", "eviction"},
			webhooks: []webhook{rule("*", "*", create, update), rule("", "pods/exec", "CONNECT")},
			want:     []string{"pods/eviction"}},
		"subresources by wildcards": {kinds: []string{"Pod"}, subs: []v1alpha1.Subresource{"exec", "eviction"},
			webhooks: []webhook{rule("*", "*/eviction", create), rule("", "pods/*", "CONNECT")}},
		"a configuration that names nothing": {kinds: []string{"Service"}, want: []string{"Service"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.ClusterRegoPolicy{Spec: v1alpha1.RegoPolicySpec{Match: v1alpha1.Match{
				PodTemplates: ptr.To(false),
				Kinds: []v1alpha1.KindMatch{{APIGroups: []string{tc.group}, Kinds: tc.kinds,
					Subresources: tc.subs}}}, Admission: v1alpha1.Admission{Operations: tc.asks}}}
			got := unasked(p, &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: tc.webhooks}, served)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOperationsThatAPolicyTakesOver(t *testing.T) {
	w := NewWebhook(nil, []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Kind: "Service", Name: "services", Namespaced: true, Verbs: []string{"list", "create"}},
		{Kind: "Pod", Name: "pods", Namespaced: true, Verbs: []string{"list", "create"}}}}})
	rule := func(resource string, operations ...admissionregistrationv1.OperationType) webhook {
		return webhook{Rules: []admissionregistrationv1.RuleWithOperations{{Operations: operations,
			Rule: admissionregistrationv1.Rule{APIGroups: []string{"*"}, Resources: []string{resource}}}}}
	}
	usual, clusterwide := rule("*", "CREATE", "UPDATE"), rule("*", "DELETE")
	clusterwide.Rules[0].Scope = ptr.To(admissionregistrationv1.ClusterScope)
	for name, tc := range map[string]struct {
		theirs []webhook
		asks   []v1alpha1.Operation
		want   string
	}{
		"all":              {theirs: []webhook{usual}},
		"nothing is asked": {},
		"deletions too": {theirs: []webhook{rule("*", "*")},
			asks: []v1alpha1.Operation{"CREATE", "UPDATE", "DELETE"}},
		"not deletions":         {theirs: []webhook{rule("*", "*")}, want: "DELETE of Pod, DELETE of Service"},
		"not deletions of Pods": {theirs: []webhook{usual, rule("pods", "DELETE")}, want: "about DELETE of Pod, and"},
		"not deletions by what names all of Pods": {theirs: []webhook{usual, rule("pods/*", "DELETE")},
			want: "about DELETE of Pod, and"},
		"deletions of what is in no namespace": {theirs: []webhook{usual, clusterwide}},
		"not deletions of others":              {theirs: []webhook{usual, rule("nodes", "DELETE")}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.ClusterRegoPolicy{Spec: v1alpha1.RegoPolicySpec{Match: v1alpha1.Match{
				PodTemplates: ptr.To(false),
				Kinds:        []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod", "Service"}}}},
				Admission: v1alpha1.Admission{Operations: tc.asks}}}
			err := (&Source{webhooks: tc.theirs}).TakenOver(w, p)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("it says %v, want %q", err, tc.want)
			}
		})
	}
}
