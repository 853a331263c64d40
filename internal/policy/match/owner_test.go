// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

func owned(apiVersion, kind, ownerVersion, ownerKind string, controls bool) map[string]any {
	return object(apiVersion, kind, map[string]any{"name": "web", "ownerReferences": []any{
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "other"},
		map[string]any{"apiVersion": ownerVersion, "kind": ownerKind, "name": "web", "controller": controls},
	}})
}

func TestJudgedAtOwner(t *testing.T) {
	withReplicaSet := onPods(nil)
	withReplicaSet.Kinds = append(withReplicaSet.Kinds, onKinds("apps", "ReplicaSet").Kinds...)
	withGame := onPods(nil)
	withGame.Kinds = append(withGame.Kinds, onKinds("example.com", "Game").Kinds...)
	cases := map[string]struct {
		reason string
		match  concern
		object map[string]any
		want   bool
	}{
		"a Pod of a ReplicaSet": {
			"both come through Pods", onPods(nil), owned("v1", "Pod", "apps/v1", "ReplicaSet", true), true},
		"a ReplicaSet of a Deployment": {
			"both come through Pods", onPods(nil), owned("apps/v1", "ReplicaSet", "apps/v1", "Deployment", true), true},
		"a Job of a CronJob": {
			"both come through Pods", onPods(nil), owned("batch/v1", "Job", "batch/v1", "CronJob", true), true},
		"a Deployment of a Deployment": {"no controller makes one, so somebody wrote the reference", onPods(nil),
			owned("apps/v1", "Deployment", "apps/v1", "Deployment", true), false},
		"a StatefulSet of a Job": {
			"no controller makes one", onPods(nil), owned("apps/v1", "StatefulSet", "batch/v1", "Job", true), false},
		"a Pod of a Deployment": {
			"a ReplicaSet is between them", onPods(nil), owned("v1", "Pod", "apps/v1", "Deployment", true), false},
		"a Pod of a Job": {
			"both come through Pods", onPods(nil), owned("v1", "Pod", "batch/v1", "Job", true), true},
		"a Pod of its own": {
			"it has no owner", onPods(nil), object("v1", "Pod", map[string]any{"name": "web"}), false},
		"a Pod of a custom kind": {"the policy doesn't judge the owner", onPods(nil),
			owned("v1", "Pod", "example.com/v1", "Game", true), false},
		"a Pod of a kind that is judged and has no template": {
			"what is said of the owner isn't said of its Pod", withGame,
			owned("v1", "Pod", "example.com/v1", "Game", true), false},
		"a Pod of a Pod": {"no controller makes one", onPods(nil), owned("v1", "Pod", "v1", "Pod", true), false},
		"a Deployment of a Pod": {"no controller makes one", onPods(nil),
			owned("apps/v1", "Deployment", "v1", "Pod", true), false},
		"an owner that isn't a controller": {
			"it doesn't make the object", onPods(nil), owned("v1", "Pod", "apps/v1", "ReplicaSet", false), false},
		"podTemplates off": {"the owner isn't judged", onPods(func(m *concern) {
			m.PodTemplates = ptr.To(false)
		}), owned("v1", "Pod", "apps/v1", "ReplicaSet", true), false},
		"a kind named itself": {
			"its rule is its own", withReplicaSet, owned("apps/v1", "ReplicaSet", "apps/v1", "Deployment", true),
			false},
		"a Pod of a kind named itself": {"the policy judges the owner", withReplicaSet,
			owned("v1", "Pod", "apps/v1", "ReplicaSet", true), true},
		"a policy by labels": {"the owner may lack the label", onPods(labelSelector("app", "web")),
			owned("v1", "Pod", "apps/v1", "ReplicaSet", true), false},
		"a policy on other kinds": {"no Pods, no templates", onKinds("apps", "ReplicaSet", "Deployment"),
			owned("apps/v1", "ReplicaSet", "apps/v1", "Deployment", true), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := match.JudgedAtOwner(named("p", tc.match), tc.object); got != tc.want {
				t.Errorf("%s: judged at the owner = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestMatchLeavesToTheOwner(t *testing.T) {
	const account = "system:serviceaccount:kube-system:"
	cases := map[string]struct {
		reason string
		change func(*policy.Request)
		want   bool
	}{
		"an audit": {"30 Deployments are 30 objects, not 90", audit, false},
		"an audit of the object itself": {"nothing else is judged in its place", func(r *policy.Request) {
			r.Audit, r.Itself = true, true
		}, true},
		"the ReplicaSet controller": {"an old violator can be scaled", by(account + "replicaset-controller"),
			false},
		"the controller manager": {"all controllers as one user", by("system:kube-controller-manager"), false},
		"a forged reference":     {"anybody can write an owner reference", by("mallory"), true},
		"a look-alike in a namespace": {"only kube-system's", by("system:serviceaccount:team:replicaset-controller"),
			true},
		"another account of kube-system": {"only the workload controllers", by(account + "generic-garbage-collector"),
			true},
		"nobody": {"an unknown user is no controller", by(""), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			index, err := match.NewIndex([]*v1alpha1.ClusterRegoPolicy{named("p", onPods(nil))})
			if err != nil {
				t.Fatal(err)
			}
			r := pod(func(r *policy.Request) {
				r.Object = owned("v1", "Pod", "apps/v1", "ReplicaSet", true)
				tc.change(r)
			})
			if got := len(index.Match(r)) == 1; got != tc.want {
				t.Errorf("%s: judged itself = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// What may refuse judges what a controller makes, and says of whose making it is.
func TestMaker(t *testing.T) {
	deny := func(m concern) *v1alpha1.ClusterRegoPolicy {
		p := named("p", m)
		p.Spec.Admission.Action = v1alpha1.AdmissionDeny
		return p
	}
	made := func(r *policy.Request) {
		r.Object, r.UserInfo.Username = owned("v1", "Pod", "apps/v1", "ReplicaSet", true),
			"system:kube-controller-manager"
	}
	cases := map[string]struct {
		reason string
		policy *v1alpha1.ClusterRegoPolicy
		change func(*policy.Request)
		want   bool
	}{
		"a controller's Pod": {"its workload may be an old violator", deny(onPods(nil)), nil, true},
		"creations alone": {"templates are judged on updates all the same",
			deny(onPods(operations("CREATE"))), nil, true},
		"updates alone": {
			"the workload's creation isn't judged", deny(onPods(operations("UPDATE"))), nil, false},
		"a person's Pod": {"anybody can write an owner reference", deny(onPods(nil)),
			by("mallory"), false},
		"an audit": {"it has no request", deny(onPods(nil)), audit, false},
		"a selector of namespaces": {"the workload may be older than the namespace's label",
			deny(onPods(namespaceSelector("env", "prod"))), nil, false},
		"a selector of namespaces by their name": {
			"it never changes", deny(onPods(namespaceSelector("kubernetes.io/metadata.name", "shop"))), nil, true},
		"a selector of objects": {
			"a label is never added unjudged", deny(onPods(labelSelector("app", "web"))), nil, true},
		"podTemplates off": {"the workload isn't judged", deny(onPods(func(m *concern) {
			m.PodTemplates = ptr.To(false)
		})), nil, false},
		"a Pod of a custom kind": {"the policy doesn't judge it", deny(onPods(nil)),
			func(r *policy.Request) { r.Object = owned("v1", "Pod", "example.com/v1", "Game", true) }, false},
		"a deletion": {"nothing is made", deny(onPods(operations("CREATE", "DELETE"))),
			func(r *policy.Request) { r.Operation = policy.Delete }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := pod(made)
			if tc.change != nil {
				tc.change(r)
			}
			owner, got := match.Maker(tc.policy, r)
			if got != tc.want || got &&
				(owner.Kind != "ReplicaSet" || owner.Name != "web" || owner.APIVersion != "apps/v1") {
				t.Errorf("%s: maker = %+v, %t, want %t", tc.reason, owner, got, tc.want)
			}
		})
	}
	index, err := match.NewIndex([]*v1alpha1.ClusterRegoPolicy{deny(onPods(nil))})
	if err != nil {
		t.Fatal(err)
	}
	if len(index.Match(pod(made))) != 1 {
		t.Error("a policy that may refuse must judge what a controller makes")
	}
}

func TestOperations(t *testing.T) {
	kind := func(group, kind string) match.GroupKind { return match.GroupKind{Group: group, Kind: kind} }
	apart := func(m *concern) { operations("CREATE")(m); m.PodTemplates = ptr.To(false) }
	cases := map[string]struct {
		reason string
		match  concern
		kind   match.GroupKind
		want   []v1alpha1.Operation
	}{
		"the default": {"as the API says", onPods(nil), kind("", "Pod"),
			[]v1alpha1.Operation{"CREATE", "UPDATE"}},
		"creations of Pods": {"nothing else makes a Pod of a Pod", onPods(operations("CREATE")),
			kind("", "Pod"), []v1alpha1.Operation{"CREATE"}},
		"creations of Pods, at a workload": {"whatever changes a template makes Pods", onPods(operations("CREATE")),
			kind("apps", "Deployment"), []v1alpha1.Operation{"CREATE", "UPDATE"}},
		"deletions of Pods, at a workload": {"they make none", onPods(operations("DELETE")),
			kind("apps", "Deployment"), []v1alpha1.Operation{"DELETE"}},
		"creations of Pods, podTemplates off": {"workloads aren't judged", onPods(apart), kind("apps", "Deployment"),
			[]v1alpha1.Operation{"CREATE"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, match.Operations(named("p", tc.match), tc.kind)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNeedsNamespace(t *testing.T) {
	selects := named("p", onPods(namespaceSelector("env", "prod")))
	unknown := pod(func(r *policy.Request) { r.NamespaceObject = nil })
	if !match.NeedsNamespace(selects, unknown) {
		t.Error("a selector without the namespace's object can't be judged")
	}
	for name, needs := range map[string]bool{
		"the namespace is known":     match.NeedsNamespace(selects, pod(nil)),
		"nothing is selected":        match.NeedsNamespace(named("p", onPods(nil)), unknown),
		"a cluster-scoped object":    match.NeedsNamespace(selects, clusterScoped("", "Node")),
		"a Namespace is its own one": match.NeedsNamespace(selects, clusterScoped("", "Namespace")),
	} {
		if needs {
			t.Errorf("%s: the namespace isn't needed", name)
		}
	}
}
