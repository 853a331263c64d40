// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("A freeze of the whole cluster", func() {
	var namespace, file string
	freezes := func(text string) {
		GinkgoHelper()
		Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	}
	until := func(name string, end time.Time) string {
		return fmt.Sprintf("freezes: [{name: %s, reason: nobody is on call, until: %s}]", name,
			end.Format(time.RFC3339))
	}
	states := func(ctx context.Context) (states []string) {
		list := &corev1.ConfigMapList{}
		Expect(suite.API.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(fixture.TargetLabels()))).
			To(Succeed())
		for _, c := range list.Items {
			states = append(states, c.Data["state"])
		}
		return states
	}
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "freeze")
		file = filepath.Join(GinkgoT().TempDir(), "freezes.yaml")
		restartWith(ctx, "--remediation-freeze-file="+file)
		suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
	})
	automatic := func(ctx context.Context) {
		GinkgoHelper()
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic)))
	}

	It("lets no plan begin a write, nor does a file that can't be read; a change of it counts without a restart, and "+
		"it never keeps a write from being undone", func(ctx context.Context) {
		end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		freezes(until("year-end", end))
		automatic(ctx)
		rem := awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonFrozen)
		says := "freeze year-end of the whole cluster until " + end.Format(time.RFC3339) + ": nobody is on call"
		Expect(rem.Status.Message).To(ContainSubstring(says))
		out, _, code := evenkeel(ctx, "rollout", "get", rem.Name)
		Expect(code).To(Equal(0))
		Expect(out).To(ContainSubstring("freeze year-end of the whole cluster"))

		By("the file is gone")
		Expect(os.Remove(file)).To(Succeed())
		rem = awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonFreezesUnreadable)
		Expect(meta.IsStatusConditionTrue(rem.Status.Conditions, v1alpha1.ConditionStalled)).To(BeTrue())
		Expect(states(ctx)).To(HaveEach("bad"))

		By("it is there, and holds none")
		freezes("freezes: []")
		rem = suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
		Expect(states(ctx)).To(HaveEach("good"))

		By("another begins, and a person has all undone")
		freezes(until("again", end))
		_, _, code = evenkeel(ctx, "rollout", "undo", rem.Name)
		Expect(code).To(Equal(0))
		suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseRolledBack)
		Expect(states(ctx)).To(HaveEach("bad"))
	})

	It("is overridden for one plan by a person who may, with a reason that is kept, and no breaker with it",
		func(ctx context.Context) {
			freezes(until("year-end", time.Now().Add(time.Hour).UTC()))
			_, _, code := evenkeel(ctx, "breaker", "open", "global")
			Expect(code).To(Equal(0))
			DeferCleanup(func(ctx context.Context) { evenkeel(ctx, "breaker", "close", "global") })
			automatic(ctx)
			rem := awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonFrozen)

			_, said, code := evenkeel(ctx, "rollout", "override-windows", rem.Name)
			Expect(code).To(Equal(2))
			Expect(said).To(ContainSubstring("--reason must say why"))

			_, said, code = evenkeel(ctx, "rollout", "override-windows", rem.Name, "--reason", "INC-42: exploited now")
			Expect(code).To(Equal(0), said)
			rem = awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonBreakerOpen)
			Expect(states(ctx)).To(HaveEach("bad"))
			asked := v1alpha1.Requests(rem)
			Expect(asked).To(HaveLen(1))
			Expect(asked[0]).To(And(HaveField("Action", v1alpha1.ActionOverrideWindows),
				HaveField("Reason", "INC-42: exploited now"), HaveField("User", Not(BeEmpty()))))
			out, _, _ := evenkeel(ctx, "rollout", "get", rem.Name)
			Expect(out).To(ContainSubstring("windows and freezes are overridden by " + asked[0].String()))
			out, _, _ = evenkeel(ctx, "rollout", "history", namespace)
			Expect(out).To(ContainSubstring("OverrideWindows by " + asked[0].String()))

			By("taken back")
			_, said, code = evenkeel(ctx, "rollout", "override-windows", rem.Name, "--undo", "--reason", "it is over")
			Expect(code).To(Equal(0), said)
			rem = awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonFrozen)
			Expect(v1alpha1.Requests(rem)).To(ContainElement(HaveField("Action", v1alpha1.ActionRespectWindows)))

			By("given again, with the breaker closed")
			_, said, code = evenkeel(ctx, "rollout", "override-windows", rem.Name, "--reason", "INC-43")
			Expect(code).To(Equal(0), said)
			_, _, code = evenkeel(ctx, "breaker", "close", "global")
			Expect(code).To(Equal(0))
			suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
			Expect(states(ctx)).To(HaveEach("good"))
		})
})

var _ = Describe("A window of kind Deny", func() {
	It("closes a policy's windows while it lasts, and the schema knows no other kind", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "deny")
		suite.Create(ctx, fixture.ConfigMap(namespace, "one"))
		began := time.Now().UTC().Add(-5 * time.Minute).Truncate(time.Minute)
		window := func(kind v1alpha1.WindowKind) func(*fixture.Rollout) {
			return func(s *fixture.Rollout) {
				s.Windows = []v1alpha1.MaintenanceWindow{
					{Kind: v1alpha1.WindowAllow, Schedule: "0 0 * * *",
						Duration: metav1.Duration{Duration: 24 * time.Hour}},
					{Kind: kind, Schedule: fmt.Sprintf("%d %d * * *", began.Minute(), began.Hour()),
						Duration: metav1.Duration{Duration: time.Hour}}}
			}
		}
		wrong := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic, window("Perhaps")))
		Expect(suite.API.Create(ctx, fixture.StrategyOf(wrong))).To(MatchError(ContainSubstring(`supported values: "Allow", "Deny"`)))

		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic, window(v1alpha1.WindowDeny))))
		rem := awaitReason(ctx, namespace, v1alpha1.PhaseHeld, v1alpha1.ReasonOutsideWindow)
		Expect(rem.Status.Message).To(ContainSubstring(began.Add(time.Hour).Format(time.RFC3339)))
		Expect(patchedObjects(namespace)).To(BeEmpty())
	})
})
