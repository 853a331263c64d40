// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// unready waits for a Pod of the namespace that its node says isn't ready.
func unready(ctx context.Context, namespace string) *corev1.Pod {
	GinkgoHelper()
	var found *corev1.Pod
	Eventually(ctx, func() *corev1.Pod {
		list := &corev1.PodList{}
		Expect(suite.API.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for i := range list.Items {
			for _, c := range list.Items[i].Status.Conditions {
				if c.Type == corev1.PodReady && c.Reason == "ContainersNotReady" {
					found = &list.Items[i]
				}
			}
		}
		return found
	}).ShouldNot(BeNil())
	return found
}

var _ = Describe("Why a fix failed", func() {
	It("is kept of the canary's Pods and events before they are gone, and told by the command line",
		func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "evidence")
			deployments(ctx, namespace, 2)
			policy := overPods(namespace, fixture.RequireTemplateLabel("kwok.evenkeel.dev/ready", "never"),
				fixture.Deadline(15*time.Second))
			suite.CreatePolicy(ctx, policy)

			By("an image that can't be pulled")
			pod := unready(ctx, namespace)
			rig.UpdateStatus(ctx, suite.API, pod, func() {
				web := &pod.Status.ContainerStatuses[0]
				web.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
					Reason: "ImagePullBackOff", Message: `Back-off pulling image "example.com/web:1"`}}
				web.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
					Reason: "Error", ExitCode: 3, Message: "password=hunter2"}
				web.RestartCount = 4
			})
			suite.Create(ctx, &eventsv1.Event{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pull"}, EventTime: metav1.NowMicro(),
				ReportingController: "kubelet", ReportingInstance: "node", Action: "Pulling", Type: "Warning",
				Reason:    "Failed",
				Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: pod.Name, UID: pod.UID},
				Note:      "Failed to pull image: 401 Unauthorized"})

			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
			Expect(rem.Status.Evidence).To(HaveLen(1))
			kept := rem.Status.Evidence[0]
			Expect(kept.Object).To(Equal(suite.Records(ctx, rem)[0].Object))
			Expect(kept.Unread).To(BeEmpty())
			Expect(kept.Findings).To(Equal([]string{
				"0 of 1 Pod of its newest template ready",
				"Pod " + pod.Name + `, container web: waiting: ImagePullBackOff: Back-off pulling image ` +
					`"example.com/web:1"; before that terminated: Error, exit code 3; 4 restarts`,
				"Warning of Pod " + pod.Name + ": Failed: Failed to pull image: 401 Unauthorized"}))
			Eventually(ctx, func() error { return suite.Get(ctx, pod) }).ShouldNot(Succeed(), "the rollback removes it")

			for _, args := range [][]string{{"rollout", "get", policy.Name},
				{"explain", "deployment/" + kept.Object.Name, "-n", namespace}} {
				out, errs, code := evenkeel(ctx, args...)
				Expect(code).To(Equal(0), errs)
				Expect(out).To(And(ContainSubstring("before anything was undone"), ContainSubstring("ImagePullBackOff"),
					ContainSubstring("exit code 3"), ContainSubstring("401 Unauthorized"),
					Not(ContainSubstring("hunter2"))))
			}
		})
})
