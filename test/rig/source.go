// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// hourly is longer than any spec.
const hourly = time.Hour

// Source is a PolicySource of a spec, with its repository.
type Source struct {
	*v1alpha1.PolicySource
	*Repository

	rig   *Rig
	asked int
}

// PolicyFiles are the files of a policy directory: no ConfigMap of the namespace
// with the label of targets may be in the given state. more are further lines of
// custom.
func PolicyFiles(name, namespace, state string, more ...string) map[string]string {
	text := fmt.Sprintf(`# METADATA
# title: State isn't %[3]s
# organizations: [platform]
# related_resources: [{ref: https://example.com/runbooks/%[1]s, description: runbook}]
# custom:
#   id: %[1]s
#   severity: Medium
#   admission: {action: Deny}
#   match:
#     kinds: [{apiGroups: [""], kinds: [ConfigMap]}]
#     namespaces: [%[2]s]
#     objectSelector: {matchLabels: {fixture: target}}
`, name, namespace, state)
	for _, line := range more {
		text += "#   " + line + "\n"
	}
	text += fmt.Sprintf(`package sourced

import rego.v1

deny contains {"msg": "state must not be %[1]s", "path": "/data/state"} if input.object.data.state == %[1]q

remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/data/state", "value": "good"}]} if input.object.data.state == %[1]q
`, state)
	return map[string]string{fmt.Sprintf("policies/%[1]s/%[1]s.rego", name): text}
}

// Files joins files.
func Files(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

// NewSource makes a source that reads a new repository, which it fills first, in
// the manager's namespace, and only looks when it is asked to. It goes with the
// spec, and its policies with it.
func (r *Rig) NewSource(ctx context.Context, name string, files map[string]string,
	changes ...func(*v1alpha1.PolicySource)) *Source {
	GinkgoHelper()
	repository := newRepository()
	repository.Replace(files)
	src := &v1alpha1.PolicySource{
		ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: name},
		Spec: v1alpha1.PolicySourceSpec{URL: repository.URL, Ref: &v1alpha1.SourceReference{Branch: "main"},
			Path:     "policies",
			Interval: metav1.Duration{Duration: hourly}, SecretRef: &v1alpha1.SecretReference{Name: name},
			DeletionPolicy: v1alpha1.DeletionDelete},
	}
	for _, change := range changes {
		change(src)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: src.Namespace, Name: name},
		Data: map[string][]byte{"ca.crt": repository.Server.CA}}
	r.Create(ctx, secret, src)
	DeferCleanup(func(ctx context.Context) {
		r.RemoveSource(ctx, src)
		Expect(client.IgnoreNotFound(r.API.Delete(ctx, secret))).To(Succeed())
	})
	return &Source{PolicySource: src, Repository: repository, rig: r}
}

// RemoveSource removes a source and waits until it is gone.
func (r *Rig) RemoveSource(ctx context.Context, src *v1alpha1.PolicySource) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(r.API.Delete(ctx, src))).To(Succeed())
	Eventually(ctx, func() bool { return apierrors.IsNotFound(r.Get(ctx, src.DeepCopy())) }).Should(BeTrue())
}

// Await waits until the source is as accept asks for.
func (s *Source) Await(ctx context.Context, accept func(Gomega, *v1alpha1.PolicySource)) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(s.rig.Get(ctx, s.PolicySource)).To(Succeed())
		g.Expect(s.Status.ObservedGeneration).To(Equal(s.Generation))
		accept(g, s.PolicySource)
	}).Should(Succeed())
}

// AwaitCommit waits until a commit is in force.
func (s *Source) AwaitCommit(ctx context.Context, commit string) {
	GinkgoHelper()
	s.Await(ctx, func(g Gomega, src *v1alpha1.PolicySource) {
		g.Expect(ReadyOf(src).Status).To(Equal(metav1.ConditionTrue), ReadyOf(src).Message)
		g.Expect(src.Status.Revision).To(HaveSuffix(commit))
	})
}

// AwaitReason waits until the source isn't ready for a reason, and gives the
// condition.
func (s *Source) AwaitReason(ctx context.Context, reason string) metav1.Condition {
	GinkgoHelper()
	var found metav1.Condition
	s.Await(ctx, func(g Gomega, src *v1alpha1.PolicySource) {
		found = ReadyOf(src)
		g.Expect(found.Reason).To(Equal(reason), found.Message)
	})
	return found
}

// ReadyOf is the source's Ready condition, empty for none.
func ReadyOf(src *v1alpha1.PolicySource) metav1.Condition {
	if c := meta.FindStatusCondition(src.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// Ask asks for a sync by the annotation, and waits until it was taken.
func (s *Source) Ask(ctx context.Context) {
	GinkgoHelper()
	s.asked++
	value := fmt.Sprintf("look-%d", s.asked)
	s.Change(ctx, func(src *v1alpha1.PolicySource) {
		metav1.SetMetaDataAnnotation(&src.ObjectMeta, v1alpha1.AnnotationReconcile, value)
	})
	s.Await(ctx, func(g Gomega, src *v1alpha1.PolicySource) {
		g.Expect(src.Status.LastHandledReconcileAt).To(Equal(value))
	})
}

// Change patches the source: the controller writes it too.
func (s *Source) Change(ctx context.Context, change func(*v1alpha1.PolicySource)) {
	GinkgoHelper()
	Expect(s.rig.Get(ctx, s.PolicySource)).To(Succeed())
	before := s.DeepCopy()
	change(s.PolicySource)
	Expect(s.rig.API.Patch(ctx, s.PolicySource, client.MergeFrom(before))).To(Succeed())
}
