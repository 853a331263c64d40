// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/webhook/names"
)

// nodeCritical is the priority of what a node can't do without.
const nodeCritical = "system-node-critical"

// coldStart looks whether what Pods need before they can start, such as their
// network, would be refused on a new node while no replica answers.
func coldStart(ctx context.Context, in *Installation) []Finding {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := in.Client.Get(ctx, client.ObjectKey{Name: names.Configuration}, config); client.IgnoreNotFound(
		err) != nil {
		return []Finding{unread("the webhook configuration "+names.Configuration, err)}
	}
	i := slices.IndexFunc(config.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool {
		return w.Name == names.WebhookFail && slices.ContainsFunc(w.Rules, createsPods)
	})
	if i < 0 {
		return []Finding{fine("no policy that fails closed is asked about new Pods")}
	}
	asked, err := metav1.LabelSelectorAsSelector(config.Webhooks[i].NamespaceSelector)
	if err != nil {
		return []Finding{unread("the namespaces of "+names.WebhookFail, err)}
	}
	list := &appsv1.DaemonSetList{}
	if err := in.Client.List(ctx, list); err != nil {
		return []Finding{skipped("the DaemonSets", err, "it matters when Evenkeel is installed, and when namespaces "+
			"are exempted: docs/exemptions.md")}
	}
	var found []Finding
	for _, namespace := range ofNodes(list.Items) {
		ns := &corev1.Namespace{}
		if err := in.Client.Get(ctx, client.ObjectKey{Name: namespace}, ns); err != nil {
			found = append(found, unread("namespace "+namespace, err))
		} else if asked.Matches(labels.Set(ns.Labels)) {
			found = append(found,
				warned(fmt.Sprintf("if Evenkeel's Pods need it to start, add %s to the manager's --exempt-namespaces",
					namespace),
					"namespace %s runs what belongs to the nodes (a DaemonSet on the host's network, of priority %s); "+
						"its "+
						"Pods are refused on new nodes while no replica answers", namespace, nodeCritical))
		}
	}
	return orFine(found, "what belongs to the nodes starts while no replica answers")
}

func createsPods(r admissionregistrationv1.RuleWithOperations) bool {
	return slices.Contains(r.APIGroups, "") && slices.Contains(r.Operations, admissionregistrationv1.Create) &&
		slices.ContainsFunc(r.Resources, func(resource string) bool {
			return resource == "pods" || strings.HasPrefix(resource, "*")
		})
}

// ofNodes are the namespaces with DaemonSets that nodes can't do without.
func ofNodes(sets []appsv1.DaemonSet) []string {
	var namespaces []string
	for i := range sets {
		if spec := &sets[i].Spec.Template.Spec; spec.HostNetwork && spec.PriorityClassName == nodeCritical {
			namespaces = append(namespaces, sets[i].Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}
