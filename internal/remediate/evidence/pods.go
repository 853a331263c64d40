// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// maxPods is how many Pods of an object are looked at, and maxReplicaSets how many of a Deployment's
	// ReplicaSets, of which it keeps 10 unless told otherwise.
	maxPods, maxReplicaSets = 100, 100
	// maxPodsOfEvents is how many Pods are looked at for events too.
	maxPodsOfEvents = 3
)

// revision is where the Deployment controller numbers templates.
const revision = "deployment.kubernetes.io/revision"

// pods are the Pods of an object.
type pods struct {
	list []corev1.Pod
	// of is the ReplicaSet of a Deployment's newest template; empty for none.
	of string
	// newest says that they are of the newest template alone; more, that there are more of them.
	newest, more bool
	// none says that the object has none by its nature.
	none bool
}

// podsOf lists the Pods that an object runs, by its selector. Of a Deployment they are those of its newest
// template: the others ran before the write too.
func podsOf(ctx context.Context, reader client.Reader, obj *unstructured.Unstructured) (pods, error) {
	if isPod(obj) {
		var pod corev1.Pod
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &pod)
		return pods{list: []corev1.Pod{pod}}, err
	}
	selector := selectorOf(obj)
	if selector == nil {
		return pods{none: true}, nil
	}
	found, owner := pods{}, string(obj.GetUID())
	if obj.GetKind() == "Deployment" {
		set, err := newestSet(ctx, reader, obj, selector)
		if err != nil || set == nil {
			return found, err
		}
		owner, found.of, found.newest = string(set.UID), string(set.UID), true
		if hash := set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" {
			only := labels.Set{appsv1.DefaultDeploymentUniqueLabelKey: hash}.AsSelector()
			narrow, _ := only.Requirements()
			selector = selector.Add(narrow...)
		}
	}
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, client.InNamespace(obj.GetNamespace()), client.Limit(maxPods),
		client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return found, err
	}
	found.more = list.Continue != ""
	found.list = slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		by := metav1.GetControllerOfNoCopy(&pod)
		return pod.DeletionTimestamp != nil || by == nil || string(by.UID) != owner
	})
	return found, nil
}

// newestSet is the ReplicaSet that a Deployment has made of its template last; nil for none.
func newestSet(ctx context.Context, reader client.Reader, obj *unstructured.Unstructured,
	selector labels.Selector) (*metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	if err := reader.List(ctx, list, client.InNamespace(obj.GetNamespace()), client.Limit(maxReplicaSets),
		client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	var newest *metav1.PartialObjectMetadata
	last := -1
	for i := range list.Items {
		by := metav1.GetControllerOfNoCopy(&list.Items[i])
		if by == nil || by.UID != obj.GetUID() {
			continue
		}
		if n, err := strconv.Atoi(list.Items[i].Annotations[revision]); err == nil && n > last {
			newest, last = &list.Items[i], n
		}
	}
	return newest, nil
}

// selectorOf is how an object that makes Pods of a template finds them; nil for another one.
func selectorOf(obj *unstructured.Unstructured) labels.Selector {
	raw, found, err := unstructured.NestedMap(obj.Object, "spec", "selector")
	_, makes, _ := unstructured.NestedMap(obj.Object, "spec", "template")
	if !found || !makes || err != nil || len(raw) == 0 {
		return nil
	}
	var selector metav1.LabelSelector
	if raw["matchLabels"] == nil && raw["matchExpressions"] == nil { // a ReplicationController's
		raw = map[string]any{"matchLabels": raw}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &selector); err != nil {
		return nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil || parsed.Empty() {
		return nil
	}
	return parsed
}

// about are the UIDs at which events may tell more.
func (p pods) about() []string {
	var uids []string
	if p.of != "" {
		uids = append(uids, p.of)
	}
	for i := range p.list {
		if !ready(&p.list[i]) && len(uids) < maxPodsOfEvents {
			uids = append(uids, string(p.list[i].UID))
		}
	}
	return uids
}
