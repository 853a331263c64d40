// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/internal/webhook/names"
)

func TestColdStart(t *testing.T) {
	config := func(resource string, exempt ...string) *admissionregistrationv1.ValidatingWebhookConfiguration {
		return &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: names.Configuration},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: names.WebhookFail,
				NamespaceSelector: &metav1.LabelSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{
						{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: exempt}}},
				Rules: []admissionregistrationv1.RuleWithOperations{
					{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
						Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, Resources: []string{resource}}}}}}}
	}
	network := func(namespace, priority string) []client.Object {
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "net"}}
		set.Spec.Template.Spec.HostNetwork, set.Spec.Template.Spec.PriorityClassName = true, priority
		return []client.Object{
			set, &corev1.Namespace{
				ObjectMeta: metav1.ObjectMeta{
					Name: namespace, Labels: map[string]string{corev1.LabelMetadataName: namespace}}}}
	}
	cases := map[string]struct {
		objects []client.Object
		want    Status
		says    string
	}{
		"nobody refuses Pods": {
			append(network("net-system", nodeCritical), config("services", "kube-system")), OK,
			"no policy that fails closed"},
		"there is no configuration": {
			network("net-system", nodeCritical), OK, "no policy that fails closed"},
		"the network's namespace is judged": {
			append(network("net-system", nodeCritical), config("pods", "kube-system")), Warn,
			"namespace net-system runs what belongs to the nodes"},
		"the network's namespace is exempt": {
			append(network("net-system", nodeCritical), config("pods", "kube-system", "net-system")), OK,
			"starts while no replica answers"},
		"it runs with what is always exempt": {
			append(network("kube-system", nodeCritical), config("pods", "kube-system")), OK,
			"starts while no replica answers"},
		"a DaemonSet that nodes can do without": {append(network("logs", ""), config("pods", "kube-system")), OK,
			"starts while no replica answers"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := &Installation{Client: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(
				tc.objects...).Build()}
			found := coldStart(context.Background(), in)
			if len(found) != 1 || found[0].Status != tc.want || !strings.Contains(found[0].Message, tc.says) {
				t.Errorf("got %+v", found)
			}
		})
	}
}
