package match_test

import (
	"testing"

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
	withReplicaSet.Resources = append(withReplicaSet.Resources, onKinds("apps", "ReplicaSet").Resources...)
	cases := map[string]struct {
		reason string
		match  v1alpha1.Match
		object map[string]any
		want   bool
	}{
		"a Pod of a ReplicaSet":            {"both come through Pods", onPods(nil), owned("v1", "Pod", "apps/v1", "ReplicaSet", true), true},
		"a ReplicaSet of a Deployment":     {"both come through Pods", onPods(nil), owned("apps/v1", "ReplicaSet", "apps/v1", "Deployment", true), true},
		"a Job of a CronJob":               {"both come through Pods", onPods(nil), owned("batch/v1", "Job", "batch/v1", "CronJob", true), true},
		"a Pod of its own":                 {"it has no owner", onPods(nil), object("v1", "Pod", map[string]any{"name": "web"}), false},
		"a Pod of a custom kind":           {"the policy doesn't judge the owner", onPods(nil), owned("v1", "Pod", "example.com/v1", "Game", true), false},
		"an owner that isn't a controller": {"it doesn't make the object", onPods(nil), owned("v1", "Pod", "apps/v1", "ReplicaSet", false), false},
		"podTemplates off":                 {"the owner isn't judged", onPods(func(m *v1alpha1.Match) { m.PodTemplates = ptr.To(false) }), owned("v1", "Pod", "apps/v1", "ReplicaSet", true), false},
		"a kind named itself":              {"its rule is its own", withReplicaSet, owned("apps/v1", "ReplicaSet", "apps/v1", "Deployment", true), false},
		"a Pod of a kind named itself":     {"the policy judges the owner", withReplicaSet, owned("v1", "Pod", "apps/v1", "ReplicaSet", true), true},
		"a policy by labels":               {"the owner may lack the label", onPods(labelSelector("app", "web")), owned("v1", "Pod", "apps/v1", "ReplicaSet", true), false},
		"a policy on other kinds":          {"no Pods, no templates", onKinds("apps", "ReplicaSet", "Deployment"), owned("apps/v1", "ReplicaSet", "apps/v1", "Deployment", true), false},
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
		"an audit":                       {"30 Deployments are 30 objects, not 90", audit, false},
		"the ReplicaSet controller":      {"an old violator can be scaled", by(account + "replicaset-controller"), false},
		"the controller manager":         {"all controllers as one user", by("system:kube-controller-manager"), false},
		"a forged reference":             {"anybody can write an owner reference", by("mallory"), true},
		"a look-alike in a namespace":    {"only kube-system's", by("system:serviceaccount:team:replicaset-controller"), true},
		"another account of kube-system": {"only the workload controllers", by(account + "generic-garbage-collector"), true},
		"nobody":                         {"an unknown user is no controller", by(""), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			index, err := match.NewIndex([]*v1alpha1.Policy{named("p", onPods(nil))})
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
