// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
)

const (
	badState = `input.object.data.state == "bad"`
	fixIt    = `{"action": "patch", "ops": [{"op": "replace", "path": "/data/state", "value": "good"}]}`
	neverUp  = `{"action": "patch", "ops": [{"op": "add", "path": "/spec/template/metadata/labels/kwok.evenkeel.dev~1ready", "value": "never"}]}`
	makeNote = `{"action": "create", "object": {"apiVersion": "v1", "kind": "ConfigMap",
	"metadata": {"name": concat("-", ["note", input.object.metadata.name])}, "data": {"for": input.object.metadata.name}}}`
)

// canaryOf sets the number of canaries.
func canaryOf(n int) func(*fixture.Rollout) {
	return func(s *fixture.Rollout) {
		s.Steps[0].Targets = intstr.FromInt32(int32(n))
	}
}

// grantVerbs gives the manager verbs on a resource for the rest of the spec.
func grantVerbs(ctx context.Context, name, group, resource string, verbs ...string) {
	GinkgoHelper()
	grant(ctx, "writer", name,
		rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs})
}

// succeeded are the writes of a method to a resource of a namespace that happened.
func succeeded(namespace, method, resource, subresource string) int {
	n := 0
	for _, w := range manager.Proxy.Writes() {
		if w.Succeeded() && w.Method == method && w.Namespace == namespace && w.Resource == resource &&
			w.Subresource == subresource {
			n++
		}
	}
	return n
}

var _ = Describe("The verbs of a fix", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "verbs") })

	over := func(group, kind, rego string, strategy ...func(*fixture.Rollout)) *v1alpha1.ClusterRegoPolicy {
		return fixture.Policy(namespace, namespace, rego, fixture.Kinds(group, kind),
			fixture.Remediated(v1alpha1.RemediationAutomatic, strategy...))
	}

	Describe("restart and scale", func() {
		const (
			old   = `not input.object.spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`
			small = `input.object.spec.replicas < 2`
		)
		It("change a Deployment in one write, and the record says what", func(ctx context.Context) {
			deployments(ctx, namespace, 2)
			policy := over("apps", "Deployment",
				fixture.Acts(old, `{"action": "restart"}`, `{"action": "scale", "replicas": 2}`),
				fixture.Allowing(v1alpha1.ActionRestart, v1alpha1.ActionScale))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 2}))
			for _, d := range listDeployments(ctx, namespace) {
				Expect(d.Spec.Template.Annotations).To(HaveKey(action.RestartedAt))
				Expect(*d.Spec.Replicas).To(BeEquivalentTo(2))
				Expect(d.Generation).To(BeEquivalentTo(2), "%s was changed once", d.Name)
				Expect(suite.RecordOf(ctx, rem, d.Name).Write.Fields).To(HaveLen(2))
			}
		})

		It("are set back exactly when the canary doesn't become healthy", func(ctx context.Context) {
			deployments(ctx, namespace, 2)
			before := map[string]appsv1.DeploymentSpec{}
			for _, d := range listDeployments(ctx, namespace) {
				before[d.Name] = d.Spec
			}
			policy := over("apps", "Deployment",
				fixture.Acts(small, `{"action": "restart"}`, `{"action": "scale", "replicas": 2}`, neverUp),
				fixture.Allowing(v1alpha1.ActionRestart, v1alpha1.ActionScale, v1alpha1.ActionPatch),
				fixture.Deadline(4*time.Second))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Reverted: 1, Skipped: 1}))
			for _, d := range listDeployments(ctx, namespace) {
				Expect(d.Spec).To(Equal(before[d.Name]), d.Name)
			}
		})

		It("aren't done unless the strategy allows them", func(ctx context.Context) {
			deployments(ctx, namespace, 1)
			policy := over("apps", "Deployment", fixture.Acts(small, `{"action": "scale", "replicas": 2}`))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAborted)
			record := suite.RecordOf(ctx, rem, "web-0")
			Expect(record.Reason).To(Equal(v1alpha1.ReasonNotAllowed))
			Expect(record.Message).To(ContainSubstring("add Scale to spec.remediation.allowedActions"))
		})
	})

	Describe("create", func() {
		create := []func(*fixture.Rollout){fixture.Allowing(v1alpha1.ActionCreate, v1alpha1.ActionPatch),
			fixture.Deadline(4 * time.Second)}
		noteOf := func(name string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "note-" + name}}
		}
		BeforeEach(func(ctx context.Context) {
			grantVerbs(ctx, namespace, "", "configmaps", "get", "create", "delete")
		})

		It("makes an object that bears the plan's name, before the violating one is patched",
			func(ctx context.Context) {
				suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
				policy := over("", "ConfigMap", fixture.Acts(badState, makeNote, fixIt), create...)
				suite.CreatePolicy(ctx, policy)
				rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
				Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 2}))
				for i := range 2 {
					target, note := fixture.ConfigMap(namespace, fmt.Sprintf("target-%d", i)),
						noteOf(fmt.Sprintf("target-%d", i))
					Expect(suite.Get(ctx, target)).To(Succeed())
					Expect(target.Data).To(HaveKeyWithValue("state", "good"))
					Expect(suite.Get(ctx, note)).To(Succeed())
					Expect(note.Data).To(Equal(map[string]string{"for": target.Name}))
					Expect(note.Labels).To(
						And(HaveKeyWithValue(v1alpha1.LabelPolicy, policy.Name),
							HaveKeyWithValue(v1alpha1.LabelRemediation, rem.Name)))
					record := suite.RecordOf(ctx, rem, target.Name)
					Expect(record.Preceding).To(HaveLen(1))
					Expect(record.Preceding[0].UID).To(BeEquivalentTo(note.UID))
				}
			})

		It("is undone with the patch when the canary doesn't become healthy", func(ctx context.Context) {
			deployments(ctx, namespace, 1)
			before := listDeployments(ctx, namespace)[0].Spec
			never := `not input.object.spec.template.metadata.labels["kwok.evenkeel.dev/ready"]`
			policy := over("apps", "Deployment", fixture.Acts(never, makeNote, neverUp), create...)
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
			Expect(suite.RecordOf(ctx, rem, "web-0").State).To(Equal(v1alpha1.TargetReverted))
			Expect(listDeployments(ctx, namespace)[0].Spec).To(Equal(before))
			Expect(succeeded(namespace, "POST", "configmaps", "")).To(Equal(1))
			Expect(apierrors.IsNotFound(suite.Get(ctx, noteOf("web-0")))).To(BeTrue())
		})

		It("keeps what somebody has changed since, and says so", func(ctx context.Context) {
			deployments(ctx, namespace, 1)
			never := `not input.object.spec.template.metadata.labels["kwok.evenkeel.dev/ready"]`
			policy := over("apps", "Deployment", fixture.Acts(never, makeNote, neverUp),
				append(slices.Clip(create), fixture.Deadline(10*time.Second))...) // enough for somebody else to write
			suite.CreatePolicy(ctx, policy)
			Eventually(ctx, func() error {
				return suite.API.Patch(ctx, noteOf("web-0"),
					client.RawPatch(types.MergePatchType, []byte(`{"data":{"mine":"yes"}}`)))
			}).Should(Succeed())
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRollbackIncomplete)
			record := suite.RecordOf(ctx, rem, "web-0")
			Expect(record.State).To(Equal(v1alpha1.TargetRevertConflict))
			Expect(record.Message).To(ContainSubstring("note-web-0"))
			Expect(suite.Get(ctx, noteOf("web-0"))).To(Succeed())
		})

		It("leaves an object of another content alone, and writes nothing", func(ctx context.Context) {
			suite.Create(ctx, fixture.ConfigMap(namespace, "target-0"))
			theirs := noteOf("target-0")
			theirs.Data = map[string]string{"for": "somebody else"}
			suite.Create(ctx, theirs)
			policy := over("", "ConfigMap", fixture.Acts(badState, makeNote, fixIt), create...)
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAborted)
			Expect(suite.RecordOf(ctx, rem, "target-0").Reason).To(Equal(v1alpha1.ReasonExists))
			Expect(patchedObjects(namespace)).To(BeEmpty())
		})
	})

	Describe("delete", func() {
		deleting := []func(*fixture.Rollout){
			fixture.Allowing(v1alpha1.ActionDelete), fixture.Deadline(4 * time.Second), canaryOf(2)}
		BeforeEach(func(ctx context.Context) {
			grantVerbs(ctx, namespace, "", "configmaps", "get", "create", "delete")
		})

		It("deletes, and the record keeps what makes the object again", func(ctx context.Context) {
			suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
			policy := over("", "ConfigMap", fixture.Acts(badState, `{"action": "delete"}`), deleting...)
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 2}))
			Expect(versions(ctx, namespace)).To(BeEmpty())
			kept := corev1.ConfigMap{}
			Expect(json.Unmarshal(suite.RecordOf(ctx, rem, "target-0").Write.Manifest.Raw, &kept)).To(Succeed())
			Expect(kept.Data).To(Equal(fixture.ConfigMap(namespace, "target-0").Data))
		})

		It("is undone by making the object again; what a finalizer keeps can't be, and isn't kept silent",
			func(ctx context.Context) {
				suite.Create(ctx, fixture.ConfigMap(namespace, "target-0"))
				suite.Create(ctx, fixture.ConfigMap(namespace, "target-1", func(o client.Object) {
					o.SetFinalizers([]string{"example.com/keep"})
				}))
				DeferCleanup(func(ctx context.Context) {
					free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
					Expect(client.IgnoreNotFound(suite.API.Patch(ctx, fixture.ConfigMap(namespace, "target-1"), free))).
						To(
							Succeed())
				})
				policy := over("", "ConfigMap", fixture.Acts(badState, `{"action": "delete"}`), deleting...)
				suite.CreatePolicy(ctx, policy)
				rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRollbackIncomplete)
				again := fixture.ConfigMap(namespace, "target-0")
				Expect(suite.Get(ctx, again)).To(Succeed())
				Expect(again.Data).To(Equal(fixture.ConfigMap(namespace, "target-0").Data))
				Expect(again.Labels).To(Equal(fixture.TargetLabels()))
				record := suite.RecordOf(ctx, rem, "target-0")
				Expect(record.State).To(Equal(v1alpha1.TargetReverted))
				Expect(record.Message).To(ContainSubstring("with the UID " + string(again.UID)))
				stuck := suite.RecordOf(ctx, rem, "target-1")
				Expect(stuck.State).To(Equal(v1alpha1.TargetRevertConflict))
				Expect(stuck.Reason).To(Equal(v1alpha1.ReasonNoUndo))
				Expect(stuck.Message).To(ContainSubstring("example.com/keep"))
			})
	})

	DescribeTable("happen exactly once when the connection breaks at the write",
		func(ctx context.Context, method string, fault faultproxy.Fault, actions []string,
			verbs ...v1alpha1.ActionType) {
			grantVerbs(ctx, namespace, "", "configmaps", "get", "create", "delete")
			suite.Create(ctx, fixture.ConfigMap(namespace, "target-0"))
			policy := over("", "ConfigMap", fixture.Acts(badState, actions...), fixture.Allowing(verbs...))
			broken := manager.Proxy.Nth(1, func(r faultproxy.Request) bool {
				return r.IsWrite() && r.Method == method && r.Namespace == namespace && r.Resource == "configmaps"
			}, fault)
			DeferCleanup(manager.Proxy.Reset)
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(broken.Hits()).To(Equal(1))
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1}))
			takenBack := 0
			if method == "POST" {
				takenBack = succeeded(namespace, "DELETE", "configmaps", "")
			}
			Expect(succeeded(namespace, method, "configmaps", "") - takenBack).To(Equal(1))
		},
		Entry("create, lost on the way", "POST", faultproxy.Fault{LoseRequest: true}, []string{makeNote, fixIt},
			v1alpha1.ActionCreate, v1alpha1.ActionPatch),
		Entry("create, its answer lost", "POST", faultproxy.Fault{LoseAnswer: true}, []string{makeNote, fixIt},
			v1alpha1.ActionCreate, v1alpha1.ActionPatch),
		Entry("delete, lost on the way", "DELETE", faultproxy.Fault{LoseRequest: true},
			[]string{`{"action": "delete"}`}, v1alpha1.ActionDelete),
		Entry("delete, its answer lost", "DELETE", faultproxy.Fault{LoseAnswer: true}, []string{`{"action": "delete"}`},
			v1alpha1.ActionDelete),
	)
})
