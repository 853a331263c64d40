// SPDX-License-Identifier: Apache-2.0

package live

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// TestWhatThePolicyDoesNotConcernIsToldFromWhatIsGone: what Gatekeeper found and no policy judged is read.
func TestWhatThePolicyDoesNotConcernIsToldFromWhatIsGone(t *testing.T) {
	service := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "web", "namespace": "shop"}}}
	served := []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "services/status", Kind: "Service"}, {Name: "services", Kind: "Service"}}}}
	cases := map[string]struct {
		objects   []runtime.Object
		own       Own
		served    []*metav1.APIResourceList
		fails     error
		there     bool
		wantsRead string
	}{
		"it is there":      {objects: []runtime.Object{service}, served: served, there: true},
		"it is gone":       {served: served},
		"its kind is gone": {objects: []runtime.Object{service}},
		"it was judged": {objects: []runtime.Object{service}, own: Own{Written: before(web(""))},
			served: served},
		"it may not be read": {served: served, fails: errors.New("forbidden"),
			wantsRead: "can't be read: forbidden"},
		"not everything was listed": {objects: []runtime.Object{service}, own: Own{Unread: []string{"no"}},
			served: served},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := fake.NewSimpleDynamicClient(runtime.NewScheme(), tc.objects...)
			if tc.fails != nil {
				objects.PrependReactor("get", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, tc.fails
				})
			}
			tc.own.Outside(t.Context(), objects, tc.served, &Audit{Findings: []Finding{web("a"), web("b")}})
			if _, there := tc.own.Unconcerned[web("").ObjectKey]; there != tc.there {
				t.Errorf("it is there: %t", there)
			}
			if !strings.Contains(strings.Join(tc.own.Unread, "\n"), tc.wantsRead) {
				t.Errorf("unread is %q, want %q", tc.own.Unread, tc.wantsRead)
			}
		})
	}
}

func TestNamespacesThatEvenkeelNeverJudgesAreTold(t *testing.T) {
	config := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "admissionregistration.k8s.io/v1",
		"kind": "ValidatingWebhookConfiguration", "metadata": map[string]any{"name": webhookName},
		"webhooks": []any{map[string]any{"namespaceSelector": map[string]any{"matchExpressions": []any{
			map[string]any{"key": "kubernetes.io/metadata.name", "operator": "NotIn",
				"values": []any{"kube-system", "kube-node-lease", "evenkeel-system"}},
			map[string]any{"key": "team", "operator": "NotIn", "values": []any{"x"}}}}}}}}
	exempt := func(objects ...runtime.Object) []string {
		w, err := ReadWebhook(t.Context(), fake.NewSimpleDynamicClient(runtime.NewScheme(), objects...), serving(nil))
		if err != nil {
			t.Fatal(err)
		}
		return w.Exempt()
	}
	got := exempt(config)
	if diff := cmp.Diff([]string{"evenkeel-system", "kube-node-lease", "kube-system"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"kube-node-lease", "kube-system"}, exempt()); diff != "" {
		t.Errorf("without a configuration: %s", diff)
	}
	cases := map[string]struct {
		named, excluded []string
		want            string
	}{
		"all":                {want: "anything in evenkeel-system, kube-node-lease, kube-system ("},
		"others are named":   {named: []string{"shop"}},
		"one is named":       {named: []string{"shop", "kube-system"}, want: "anything in kube-system ("},
		"a glob":             {named: []string{"kube-*"}, want: "anything in kube-node-lease, kube-system ("},
		"all but some":       {excluded: []string{"kube-*"}, want: "anything in evenkeel-system ("},
		"they are left out":  {excluded: []string{"kube-*", "*-system"}},
		"named and left out": {named: []string{"kube-system"}, excluded: []string{"kube-system"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.ClusterRegoPolicy{}
			p.Spec.Match.Namespaces, p.Spec.Match.ExcludedNamespaces = tc.named, tc.excluded
			note := NeverJudged(p, got)
			if (note == "") != (tc.want == "") || !strings.Contains(note, tc.want) {
				t.Errorf("it says %q, want %q", note, tc.want)
			}
		})
	}
}
