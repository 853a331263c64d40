// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// An eviction is a fix only if what the controller makes in the Pod's place doesn't
// violate: else it comes from the controller's template, and evicting again would go
// on for ever. What was made since is told by its controller and by when it was
// created; what is itself a target of the plan was there before. Nothing else is kept,
// so that a restart finds the same.

// checkReplacements judges what a controller has made since a Pod of it was evicted. It
// returns nil when nothing speaks against the eviction and no other Pod is to be
// awaited: the controller's health says the rest.
const podPage = 500 // of a list of Pods

func (p *Pass) checkReplacements(ctx context.Context, write *v1alpha1.WriteRecord,
	controller *unstructured.Unstructured, stopped bool) *rollout.Check {
	live, err := p.madeBy(ctx, controller)
	if err != nil {
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: v1alpha1.ReasonUnobserved,
			Message: "what the controller has made couldn't be listed: " + err.Error()}
	}
	planned := p.plannedUIDs()
	replaced := false
	for _, pod := range live {
		if string(pod.GetUID()) == write.UID || planned[string(pod.GetUID())] || !createdSince(pod, write) {
			continue
		}
		replaced = true
		if stopped {
			continue // a changed policy has nothing to say of this plan's writes
		}
		if c := p.checkPolicy(ctx, pod); c != nil && c.Result == rollout.CheckFailed {
			return &rollout.Check{Result: rollout.CheckFailed, Reason: v1alpha1.ReasonReplacementViolates,
				Message: fmt.Sprintf(
					"Pod %s, which %s has made in its place, violates again: no eviction fixes that; fix the template "+
						"of %s",
					pod.GetName(), write.Controller.String(), cmp.Or(write.Root, write.Controller).String())}
		} else if c != nil {
			return c
		}
	}
	if replaced {
		return nil
	}
	return p.awaitReplacement(write, controller, len(live))
}

// awaitReplacement says whether a Pod is still to come in place of an evicted one. A
// controller that was scaled down makes none; of one that doesn't tell how many it
// wants, a Job for instance, none is awaited longer than half the progress deadline.
func (p *Pass) awaitReplacement(write *v1alpha1.WriteRecord, controller *unstructured.Unstructured,
	live int) *rollout.Check {
	wanted, told, err := unstructured.NestedInt64(controller.Object, "spec", "replicas")
	if told && err == nil {
		if int64(live) >= wanted {
			return nil
		}
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "",
			Message: fmt.Sprintf("%s hasn't made another Pod yet: it has %d of %d", write.Controller.String(), live,
				wanted)}
	}
	patience := p.Remediation.Spec.Plan.Rollout.ProgressDeadline.Duration / 2
	if write.AppliedTime != nil && p.Targets.Clock.Now().Sub(write.AppliedTime.Time) < patience {
		return &rollout.Check{Result: rollout.CheckWaiting, Reason: "",
			Message: fmt.Sprintf("%s hasn't made another Pod yet: waiting for one up to %s", write.Controller.String(),
				patience)}
	}
	return nil
}

// createdSince says whether a Pod was created since the eviction of another was
// decided. The API server tells creation in whole seconds.
func createdSince(pod *unstructured.Unstructured, write *v1alpha1.WriteRecord) bool {
	created := pod.GetCreationTimestamp()
	return write.IntentTime == nil || !created.Time.Before(write.IntentTime.Truncate(time.Second))
}

// plannedUIDs are the objects that the plan was made for.
func (p *Pass) plannedUIDs() map[string]bool {
	uids := make(map[string]bool, len(p.Records.Places))
	for i := range p.Records.Places {
		uids[p.Records.Target(i).Object.UID] = true
	}
	return uids
}

// madeBy lists the Pods that a controller has made and that aren't being deleted, past every cache. It keeps them for
// the pass.
func (p *Pass) madeBy(ctx context.Context, controller *unstructured.Unstructured) (
	[]*unstructured.Unstructured, error) {
	uid := string(controller.GetUID())
	if known, listed := p.podsOf.Load(uid); listed {
		return known.([]*unstructured.Unstructured), nil
	}
	var pods []*unstructured.Unstructured
	for next := ""; ; {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "PodList"})
		if err := p.Targets.Reader.List(ctx, list, client.InNamespace(controller.GetNamespace()), client.Limit(podPage),
			client.Continue(next),
			client.MatchingLabelsSelector{Selector: selectorOf(controller)}); err != nil {
			return nil, err
		}
		for i := range list.Items {
			pod := &list.Items[i]
			pod.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
			if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && string(owner.UID) == uid &&
				pod.GetDeletionTimestamp() == nil {
				pods = append(pods, pod)
			}
		}
		if next = list.GetContinue(); next == "" {
			break
		}
	}
	p.podsOf.Store(uid, pods)
	return pods, nil
}

// selectorOf narrows the list by the controller's own selector; one that isn't a
// label selector narrows nothing.
func selectorOf(controller *unstructured.Unstructured) labels.Selector {
	raw, found, err := unstructured.NestedMap(controller.Object, "spec", "selector")
	if !found || err != nil || raw["matchLabels"] == nil && raw["matchExpressions"] == nil {
		return labels.Everything()
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &selector); err != nil {
		return labels.Everything()
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return labels.Everything()
	}
	return parsed
}
