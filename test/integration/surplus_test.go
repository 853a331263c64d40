// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("What somebody's webhook adds to a write of ours", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "surplus")
		DeferCleanup(manager.Proxy.Reset)
	})
	// sent matches the writes of the ConfigMaps by a field manager.
	sent := func(fieldManager string) faultproxy.Match {
		return func(r faultproxy.Request) bool {
			return r.IsWrite() && r.Namespace == namespace && r.Resource == "configmaps" &&
				r.Query.Get("fieldManager") == fieldManager
		}
	}
	// edit is by somebody else than who has created the object: two writes of one field
	// manager within a second can't be told apart, and are told to people.
	edit := func(ctx context.Context, name, data string) {
		theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		Expect(suite.API.Patch(ctx, theirs, client.RawPatch(types.MergePatchType, []byte(data)),
			client.FieldOwner("kubectl-edit"))).To(Succeed())
	}
	data := func(ctx context.Context, name string) map[string]string {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		Expect(suite.Get(ctx, object)).To(Succeed())
		return object.Data
	}
	const atTheFix = "!request.dryRun && oldObject.data.state == 'bad' && object.data.state == 'good'"

	It("is found, told and undone with it when the answer to the write is lost", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
		mutate(ctx, namespace, atTheFix)
		lost := manager.Proxy.Nth(1, sent(v1alpha1.FieldManager), faultproxy.Fault{LoseAnswer: true})
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)

		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
		Expect(lost.Hits()).To(Equal(1))
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Reverted: 1, Skipped: 2}))
		for _, record := range suite.Records(ctx, rem) {
			Expect(data(ctx, record.Object.Name)).To(Equal(map[string]string{"state": "bad", "patched": "0"}))
			if record.State == v1alpha1.TargetReverted {
				Expect(record.Reason).To(Equal(v1alpha1.ReasonFixChangesMore))
				Expect(record.Message).To(ContainSubstring("/data/stamp"))
				Expect(record.Write.Beyond).To(Equal("/data/stamp"))
				Expect(record.Write.Expected).To(BeNil(), "the proof isn't kept once it has served")
				suite.AwaitEvent(ctx, "RemediationReverted", record.Object.Name, ContainSubstring("/data/stamp"))
			}
		}
	})

	It("is undone too in an object that was created within the same second", func(ctx context.Context) {
		mutate(ctx, namespace, atTheFix)
		lost := manager.Proxy.Nth(1, sent(v1alpha1.FieldManager), faultproxy.Fault{LoseAnswer: true})
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)
		// The policy is in force when the object comes, so that it is written at once.
		suite.AwaitScan(ctx, policy.Name, func(Gomega, *v1alpha1.ScanStatus) {})
		suite.Create(ctx, fixture.ConfigMap(namespace, "one"))

		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
		Expect(lost.Hits()).To(Equal(1))
		Expect(data(ctx, "one")).To(Equal(map[string]string{"state": "bad", "patched": "0"}))
	})

	It("is undone too where it has changed the fix's own field, though the answer is lost", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMap(namespace, "one"))
		mutateKey(ctx, namespace, atTheFix, "state", "worse")
		lost := manager.Proxy.Nth(1, sent(v1alpha1.FieldManager), faultproxy.Fault{LoseAnswer: true})
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)

		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
		Expect(lost.Hits()).To(Equal(1))
		Expect(suite.RecordOf(ctx, rem, "one").State).To(Equal(v1alpha1.TargetReverted))
		Expect(data(ctx, "one")).To(Equal(map[string]string{"state": "bad", "patched": "0"}))
	})

	It("isn't undone when a person has edited the object before anybody looked; their edit is kept",
		func(ctx context.Context) {
			suite.Create(ctx, fixture.ConfigMap(namespace, "one"))
			mutate(ctx, namespace, atTheFix)
			manager.Proxy.Nth(1, sent(v1alpha1.FieldManager),
				faultproxy.Fault{LoseAnswer: true, After: func(r faultproxy.Request, _ faultproxy.Answer) {
					edit(ctx, r.Name, `{"data":{"mine":"1"}}`)
				}})
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)

			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRollbackIncomplete)
			record := suite.RecordOf(ctx, rem, "one")
			Expect(record.State).To(Equal(v1alpha1.TargetRevertConflict))
			Expect(record.Message).To(ContainSubstring("/data/stamp"))
			Expect(record.Message).NotTo(ContainSubstring("/data/mine"))
			Expect(data(ctx, "one")).To(
				Equal(map[string]string{"state": "bad", "patched": "0", "stamp": "theirs", "mine": "1"}))
		})

	It("isn't what a person has added right after a write whose answer was lost", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMap(namespace, "one"))
		lost := manager.Proxy.Nth(1, sent(v1alpha1.FieldManager),
			faultproxy.Fault{LoseAnswer: true, After: func(r faultproxy.Request, _ faultproxy.Answer) {
				edit(ctx, r.Name, `{"data":{"mine":"1"}}`)
			}})
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(lost.Hits()).To(Equal(1))
		Expect(data(ctx, "one")).To(Equal(map[string]string{"state": "good", "patched": "1", "mine": "1"}))
	})

	DescribeTable("is told when it comes with the undoing: the target doesn't count as reverted",
		func(ctx context.Context, fault faultproxy.Fault) {
			suite.Create(ctx, fixture.ConfigMap(namespace, "one"))
			mutate(ctx, namespace, "!request.dryRun && oldObject.data.state == 'good' && object.data.state == 'bad'")
			undoing := manager.Proxy.Nth(1, sent(v1alpha1.RollbackFieldManager), fault)
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic,
					fixture.Soak(time.Minute)))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSoaking)
			say(ctx, rem, `{"desiredState":"Aborted"}`)

			rem = suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRollbackIncomplete)
			Expect(undoing.Hits()).To(Equal(1))
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{RevertConflict: 1}))
			record := suite.RecordOf(ctx, rem, "one")
			Expect(record.Reason).To(Equal(v1alpha1.ReasonConflict))
			Expect(record.Message).To(ContainSubstring("/data/stamp"))
			suite.AwaitEvent(ctx, "RemediationFailed", "one", ContainSubstring("/data/stamp"))
			Expect(data(ctx, "one")).To(Equal(map[string]string{"state": "bad", "patched": "0", "stamp": "theirs"}))
		},
		Entry("in the answer", faultproxy.Fault{}),
		Entry("though the answer is lost", faultproxy.Fault{LoseAnswer: true}),
	)
})
