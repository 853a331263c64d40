// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// health is what kstatus makes of an object.
func health(obj *unstructured.Unstructured) status.Status {
	GinkgoHelper()
	result, err := status.Compute(obj)
	Expect(err).NotTo(HaveOccurred())
	return result.Status
}

// untyped is an object as any client reads it.
func untyped(obj client.Object) *unstructured.Unstructured {
	GinkgoHelper()
	gvk, err := apiutil.GVKForObject(obj, suite.API.Scheme())
	Expect(err).NotTo(HaveOccurred())
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	Expect(err).NotTo(HaveOccurred())
	out := &unstructured.Unstructured{Object: content}
	out.SetGroupVersionKind(gvk)
	return out
}

// awaitHealth waits until kstatus says so of the object as it is in the cluster.
func awaitHealth(ctx context.Context, obj client.Object, want status.Status) {
	GinkgoHelper()
	live := untyped(obj)
	Eventually(ctx, func(g Gomega) {
		g.Expect(suite.Get(ctx, live)).To(Succeed())
		result, err := status.Compute(live)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.Status).To(Equal(want), result.Message)
	}).Should(Succeed())
}

// awaitByKubectl waits for a condition as people do.
func awaitByKubectl(ctx context.Context, condition string, obj client.Object) {
	GinkgoHelper()
	kind := untyped(obj).GroupVersionKind().GroupKind()
	object := strings.ToLower(kind.String()) + "/" + obj.GetName()
	args := []string{"wait", "--for=condition=" + condition, object, "--timeout=60s"}
	if namespace := obj.GetNamespace(); namespace != "" {
		args = append(args, "--namespace", namespace)
	}
	_, _, err := suite.Kubectl(ctx, "", args...)
	Expect(err).NotTo(HaveOccurred(), func() string {
		live := untyped(obj)
		Expect(suite.Get(ctx, live)).To(Succeed())
		return fmt.Sprint(live.Object["status"])
	})
}

// createUnseen creates an object, and expects kstatus to take it for one in progress before
// anybody has looked at it.
func createUnseen(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	suite.Create(ctx, obj)
	Expect(health(untyped(obj))).To(Equal(status.InProgressStatus), "as it was created")
}

var _ = Describe("The conditions", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "conditions") })

	It("of a policy say when it is in force and scanned", func(ctx context.Context) {
		policy := fixture.Policy(namespace, namespace, fixture.FixState)
		suite.CleanUp(policy.Name)
		createUnseen(ctx, policy)
		awaitByKubectl(ctx, "Ready", policy)
		awaitHealth(ctx, policy, status.CurrentStatus)
	})

	It("of a waiver say when it waives, and an expired one is as its author has declared it",
		func(ctx context.Context) {
			e := waiver(namespace, namespace)
			createUnseen(ctx, e)
			awaitByKubectl(ctx, "Ready=false", e)
			awaitHealth(ctx, e, status.InProgressStatus) // its policy may come yet
			suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState))
			awaitByKubectl(ctx, "Active", e)
			awaitHealth(ctx, e, status.CurrentStatus)

			endSoon(ctx, e)
			awaitByKubectl(ctx, "Active=false", e)
			awaitHealth(ctx, e, status.CurrentStatus)
			Expect(suite.Get(ctx, e)).To(Succeed())
			Expect(meta.IsStatusConditionTrue(e.Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue())
		})

	It("of a cluster waiver say the same", func(ctx context.Context) {
		wide := &v1alpha1.ClusterWaiver{ObjectMeta: metav1.ObjectMeta{Name: "waives-" + namespace}}
		wide.Spec.WaiverTerms = waiver(namespace, namespace).Spec.WaiverTerms
		wide.Spec.Match.Namespaces = []string{namespace}
		createUnseen(ctx, wide)
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, wide)).To(Succeed()) })
		awaitHealth(ctx, wide, status.InProgressStatus)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState))
		awaitByKubectl(ctx, "Active", wide)
		awaitHealth(ctx, wide, status.CurrentStatus)
	})

	It("of a source tell a revision in force from one that a person must fix", func(ctx context.Context) {
		source := suite.NewSource(ctx, namespace, rig.PolicyFiles(namespace, namespace, "bad"))
		awaitByKubectl(ctx, "Ready", source.PolicySource)
		awaitHealth(ctx, source.PolicySource, status.CurrentStatus)
		source.Replace(map[string]string{"policies/" + namespace + "/" + namespace + ".rego": "no rego"})
		source.Ask(ctx)
		awaitByKubectl(ctx, "Stalled", source.PolicySource)
		awaitHealth(ctx, source.PolicySource, status.FailedStatus)
	})

	It("of a plan tell work, a wait and the end, and speak of what is asked of it afterwards",
		func(ctx context.Context) {
			suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
			fixes := fixture.Remediated(v1alpha1.RemediationAutomatic, canarySoaking(12*time.Second))
			suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState, fixes))
			rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSoaking)
			awaitByKubectl(ctx, "Progressing", rem)
			say(ctx, rem, `{"desiredState":"Paused"}`)
			awaitByKubectl(ctx, "Progressing=false", rem)
			awaitHealth(ctx, rem, status.InProgressStatus)

			say(ctx, rem, `{"desiredState":"Running"}`)
			awaitByKubectl(ctx, "Complete", rem)
			awaitHealth(ctx, rem, status.CurrentStatus)
			say(ctx, rem, `{"desiredState":"Paused"}`) // nothing is left to pause
			awaitHealth(ctx, rem, status.CurrentStatus)
			Expect(suite.Get(ctx, rem)).To(Succeed())
			Expect(rem.Status.ObservedGeneration).To(Equal(rem.Generation))
			Expect(rem.Status.Conditions).To(HaveEach(HaveField("ObservedGeneration", rem.Generation)))
		})

	It("of a plan that awaits an answer say what has become of it", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMaps(namespace, 1)...)
		fixes := fixture.Remediated(v1alpha1.RemediationManual)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState, fixes))
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseAwaitingApproval)
		awaitByKubectl(ctx, "Approved=false", rem)
		awaitHealth(ctx, rem, status.InProgressStatus)

		Expect(approve(ctx, suite.API, rem)).To(Succeed())
		awaitByKubectl(ctx, "Approved", rem)
		awaitByKubectl(ctx, "Complete", rem)
	})

	It("of a breaker say whether writes go through, and one that is held open is as people want it",
		func(ctx context.Context) {
			breaker := makeBreaker(ctx, namespace, v1alpha1.BreakerForcedOpen)
			awaitByKubectl(ctx, "Closed=false", breaker)
			awaitHealth(ctx, breaker, status.CurrentStatus)
			mergePatch(ctx, suite.API, breaker, `{"spec":{"mode":"Automatic"}}`)
			awaitByKubectl(ctx, "Closed", breaker)
			awaitHealth(ctx, breaker, status.CurrentStatus)
			Expect(suite.Get(ctx, breaker)).To(Succeed())
			Expect(breaker.Status.ObservedGeneration).To(Equal(breaker.Generation))
			Expect(breaker.Status.Conditions).To(HaveEach(HaveField("ObservedGeneration", breaker.Generation)))
		})
})
