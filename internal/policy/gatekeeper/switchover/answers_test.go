// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	discoveryfake "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// creating answers creations, and can do nothing else.
type creating struct {
	client.Client
	err error
}

func (c creating) Create(_ context.Context, _ client.Object, opts ...client.CreateOption) error {
	o := &client.CreateOptions{}
	o.ApplyOptions(opts)
	if len(o.DryRun) == 0 {
		return errors.New("it would be stored")
	}
	return c.err
}

func TestAManagerThatAnswersRefusesWhatDoesNotCompile(t *testing.T) {
	for said, want := range map[string]string{
		"": "no manager is running",
		`admission webhook "clusterregopolicies.evenkeel.dev" denied the request: no`: "ok",
		`admission webhook "others" denied the request: no`:                           "isn't known",
		`failed calling webhook "clusterregopolicies.evenkeel.dev": refused`:          "isn't known",
	} {
		c := creating{}
		if said != "" {
			c.err = errors.New(said)
		}
		got := "ok"
		if err := Answers(t.Context(), c); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: it says %q, want %q", said, got, want)
		}
	}
}

func TestKindsThatGatekeepersWebhookIsNotAskedOf(t *testing.T) {
	for name, tc := range map[string]struct{ webhook, resource, want string }{
		"it is asked":         {theirWebhook, "*", ""},
		"it is gone":          {"others", "*", "has the webhook validation.gatekeeper.sh"},
		"of another kind":     {theirWebhook, "pods", "validation.gatekeeper.sh of Service"},
		"of the kind by name": {theirWebhook, "services", ""},
	} {
		t.Run(name, func(t *testing.T) {
			config := &admissionregistrationv1.ValidatingWebhookConfiguration{TypeMeta: metav1.TypeMeta{
				APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
				ObjectMeta: metav1.ObjectMeta{Name: "any"}, Webhooks: []webhook{{Name: tc.webhook,
					Rules: []admissionregistrationv1.RuleWithOperations{{
						Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
						Rule: admissionregistrationv1.Rule{APIGroups: []string{"*"},
							Resources: []string{tc.resource}}}}}}}
			scheme := runtime.NewScheme()
			if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			kinds := &preferred{lists: []*metav1.APIResourceList{{GroupVersion: "v1",
				APIResources: []metav1.APIResource{{Kind: "Service", Name: "services", Verbs: []string{"create"}}}}}}
			p := &v1alpha1.ClusterRegoPolicy{Spec: v1alpha1.RegoPolicySpec{Match: v1alpha1.Match{
				PodTemplates: ptr.To(false),
				Resources:    []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"Service"}}}}}}
			err := AskedOfGatekeeper(t.Context(), fake.NewSimpleDynamicClient(scheme, config), kinds, p)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("it says %v, want %q", err, tc.want)
			}
		})
	}
}

func TestOperationsThatAPolicyTakesOver(t *testing.T) {
	kinds := &preferred{lists: []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Kind: "Service", Name: "services", Namespaced: true, Verbs: []string{"list", "create"}},
		{Kind: "Pod", Name: "pods", Namespaced: true, Verbs: []string{"list", "create"}}}}}}
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
				Resources:    []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"Pod", "Service"}}}},
				Admission: v1alpha1.Admission{Operations: tc.asks}}}
			err := (&Source{webhooks: tc.theirs}).TakenOver(kinds, p)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("it says %v, want %q", err, tc.want)
			}
		})
	}
}

// preferred knows which kinds are served.
type preferred struct {
	discoveryfake.FakeDiscovery
	lists []*metav1.APIResourceList
}

func (p *preferred) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	return p.lists, nil
}
