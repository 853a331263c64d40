// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	// Size is the number of Deployments in the fleet.
	Size = 40
	// Violating is how many of them run a privileged container, and take their
	// image from [OldRegistry].
	Violating = 30
	// OldRegistry begins the images of the violating Deployments.
	OldRegistry = "docker.example.com/"
	// NewRegistry begins the images of the others.
	NewRegistry = "registry.example.com/"

	// CompressionKey is the annotation that says how pods compress their replies.
	CompressionKey = "compression"

	replicas = 2
	oneIn    = Size / (Size - Violating) // of so many Deployments one is good
)

// Namespaces are the fleet's.
func Namespaces() []string { return []string{"media", "payments", "search", "shop"} }

func apps() []string {
	return []string{"api", "cache", "cart", "gateway", "indexer", "mailer", "reports", "uploader", "web", "worker"}
}

// Deployments is the fleet as it stands before any policy.
func Deployments() []*appsv1.Deployment {
	var all []*appsv1.Deployment
	for _, namespace := range Namespaces() {
		for _, app := range apps() {
			violating := len(all)%oneIn != oneIn-1
			all = append(all, Deployment(namespace, app, violating))
		}
	}
	return all
}

// Deployment is one Deployment, with two replicas.
func Deployment(namespace, app string, violating bool) *appsv1.Deployment {
	labels := map[string]string{"app": app}
	registry := NewRegistry
	if violating {
		registry = OldRegistry
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{CompressionKey: "gzip"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:            app,
					Image:           fmt.Sprintf("%s%s/%s:1.4.2", registry, namespace, app),
					SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(violating)},
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceCPU:    resource.MustParse("10m"),
						corev1.ResourceMemory: resource.MustParse("32Mi"),
					}},
				}}},
			},
		},
	}
}

// Violates says that a Deployment has a privileged container.
func Violates(d *appsv1.Deployment) bool {
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.SecurityContext != nil && ptr.Deref(c.SecurityContext.Privileged, false) {
			return true
		}
	}
	return false
}

// Available says that a Deployment's controller has seen its newest
// specification, and that all of its replicas are of it and available.
func Available(d *appsv1.Deployment) bool {
	want, s := ptr.Deref(d.Spec.Replicas, 1), d.Status
	return s.ObservedGeneration >= d.Generation &&
		s.Replicas == want && s.UpdatedReplicas == want && s.AvailableReplicas == want
}
