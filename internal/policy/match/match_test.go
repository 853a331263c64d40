// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// concern is what of a policy says which requests it concerns.
type concern struct {
	v1alpha1.Match
	v1alpha1.Admission
}

func onKinds(group string, kinds ...string) concern {
	return concern{Match: v1alpha1.Match{
		Kinds: []v1alpha1.KindMatch{{APIGroups: []string{group}, Kinds: kinds}}}}
}

func onPods(change func(*concern)) concern {
	m := onKinds("", "Pod")
	if change != nil {
		change(&m)
	}
	return m
}

func named(name string, m concern) *v1alpha1.ClusterRegoPolicy {
	return &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.RegoPolicySpec{Match: m.Match, Admission: m.Admission}}
}

func object(apiVersion, kind string, metadata map[string]any) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}

// pod is a CREATE of a Pod in the namespace team, with labels app=web.
func pod(change func(*policy.Request)) *policy.Request {
	r := &policy.Request{
		Operation: policy.Create,
		Kind:      policy.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Namespace: "team",
		Name:      "web",
		Object:    object("v1", "Pod", map[string]any{"name": "web", "labels": map[string]any{"app": "web"}}),
		NamespaceObject: object("v1", "Namespace",
			map[string]any{"name": "team", "labels": map[string]any{"env": "prod"}}),
	}
	if change != nil {
		change(r)
	}
	return r
}

func ofKind(group, kind string) *policy.Request {
	return pod(func(r *policy.Request) { r.Kind = policy.GroupVersionKind{Group: group, Version: "v1", Kind: kind} })
}

func clusterScoped(group, kind string) *policy.Request {
	return &policy.Request{
		Operation: policy.Create, Kind: policy.GroupVersionKind{Group: group, Version: "v1", Kind: kind},
		Name: "web", Object: object("v1", kind, map[string]any{"name": "web", "labels": map[string]any{"env": "prod"}}),
	}
}

func selecting(key, value string) *v1alpha1.LabelSelector {
	return &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}}
}

func TestMatch(t *testing.T) {
	cases := map[string]struct {
		reason  string
		match   concern
		request *policy.Request
		want    bool
	}{
		"the kind named":            {"plain", onPods(nil), pod(nil), true},
		"another kind":              {"not named", onPods(nil), ofKind("", "Service"), false},
		"the kind in another group": {"a kind is group and kind", onKinds("apps", "Pod"), pod(nil), false},
		"a workload through Pods": {"podTemplates is the default", onPods(nil), ofKind("apps", "Deployment"),
			true},
		"a workload of another group": {"only Kubernetes' own", onPods(nil), ofKind("example.com", "Deployment"),
			false},
		"a workload without podTemplates": {"switched off", onPods(func(m *concern) {
			m.PodTemplates = ptr.To(false)
		}), ofKind("apps", "Deployment"), false},
		"a workload, Pods not named": {"nothing to extend", onKinds("", "Service"), ofKind("apps", "Deployment"),
			false},
		"UPDATE by default": {"CREATE and UPDATE", onPods(nil), pod(func(r *policy.Request) {
			r.Operation = policy.Update
		}), true},
		"DELETE by default":               {"CREATE and UPDATE", onPods(nil), pod(deleted), false},
		"DELETE asked for":                {"named", onPods(operations("DELETE")), pod(deleted), true},
		"CREATE when DELETE is asked for": {"not named", onPods(operations("DELETE")), pod(nil), false},
		"audit of an UPDATE policy": {"existing objects would be judged", onPods(operations("UPDATE")),
			pod(audit), true},
		"audit of a DELETE policy": {"existing objects aren't judged", onPods(operations("DELETE")), pod(audit),
			false},
		"a namespace by name":          {"equal", onPods(namespaces("team")), pod(nil), true},
		"a namespace by star":          {"glob", onPods(namespaces("x", "te*")), pod(nil), true},
		"a namespace by question mark": {"glob", onPods(namespaces("t?am")), pod(nil), true},
		"a namespace by a part":        {"a pattern is whole", onPods(namespaces("tea")), pod(nil), false},
		"an excluded namespace":        {"left out", onPods(excluded("kube-*", "te*")), pod(nil), false},
		"excluded and named": {"exclusion wins", onPods(func(m *concern) {
			m.Namespaces, m.ExcludedNamespaces = []string{"*"}, []string{"team"}
		}), pod(nil), false},
		"a namespace by its labels":     {"selected", onPods(namespaceSelector("env", "prod")), pod(nil), true},
		"a namespace with other labels": {"not selected", onPods(namespaceSelector("env", "dev")), pod(nil), false},
		"a namespace that isn't known": {"never a silent pass", onPods(namespaceSelector("env", "dev")),
			pod(func(r *policy.Request) { r.NamespaceObject = nil }), true},
		"cluster-scoped, empty selector": {"it leaves nothing out", emptySelector(onKinds("", "Node")),
			clusterScoped("", "Node"), true},
		"an object by its labels":     {"selected", onPods(labelSelector("app", "web")), pod(nil), true},
		"an object with other labels": {"not selected", onPods(labelSelector("app", "db")), pod(nil), false},
		"an object without labels": {"an empty set selects nothing here", onPods(labelSelector("app", "web")),
			pod(func(r *policy.Request) { delete(r.Object, "metadata") }), false},
		"a label taken off": {"the old object counts", onPods(labelSelector("app", "web")),
			updated(nil, map[string]any{"app": "web"}), true},
		"a label put on": {"the new object counts", onPods(labelSelector("app", "web")),
			updated(map[string]any{"app": "web"}, nil), true},
		"an update without the label": {"neither has it", onPods(labelSelector("app", "web")), updated(nil, nil),
			false},
		"the labels of what is deleted": {"the old object counts", onPods(func(m *concern) {
			operations("DELETE")(m)
			labelSelector("app", "web")(m)
		}), pod(deleted), true},
		"a cluster-scoped object": {"in no namespace", onKinds("", "Node"), clusterScoped("", "Node"), true},
		"cluster-scoped with namespaces": {"it is in none of them", withNamespaces(onKinds("", "Node"), "*"),
			clusterScoped("", "Node"), false},
		"cluster-scoped with exclusions": {"it is in none of them", withExcluded(onKinds("", "Node"), "*"),
			clusterScoped("", "Node"), true},
		"cluster-scoped with a selector": {"it is in no namespace", withSelector(onKinds("", "Node"), "env", "prod"),
			clusterScoped("", "Node"), false},
		"a Namespace by its own name": {"its name counts", withNamespaces(onKinds("", "Namespace"), "we?"),
			clusterScoped("", "Namespace"), true},
		"a Namespace by its object's name": {
			"a generated request has no name", withNamespaces(onKinds("", "Namespace"), "web"),
			nameless(clusterScoped("", "Namespace")), true},
		"a Namespace excluded by name": {"its name counts", withExcluded(onKinds("", "Namespace"), "web"),
			clusterScoped("", "Namespace"), false},
		"a Namespace by its own labels": {"its labels count", withSelector(onKinds("", "Namespace"), "env", "prod"),
			clusterScoped("", "Namespace"), true},
		"a Namespace with other labels": {"its labels count", withSelector(onKinds("", "Namespace"), "env", "dev"),
			clusterScoped("", "Namespace"), false},
		"an exempt user": {"not judged", onPods(func(m *concern) {
			m.Exempt.Users = []string{"ann"}
		}), pod(by("ann")), false},
		"an exempt group": {"not judged", onPods(func(m *concern) {
			m.Exempt.Groups = []string{"ops"}
		}), pod(by("ann", "dev", "ops")), false},
		"another user": {"judged", onPods(func(m *concern) {
			m.Exempt.Users = []string{"bob"}
		}), pod(by("ann")), true},
		"an exempt user in an audit": {"exemptions are of requests", onPods(func(m *concern) {
			m.Exempt.Users = []string{""}
		}), pod(audit), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			index, err := match.NewIndex([]*v1alpha1.ClusterRegoPolicy{named("p", tc.match)})
			if err != nil {
				t.Fatal(err)
			}
			if got := len(index.Match(tc.request)) == 1; got != tc.want {
				t.Errorf("%s: concerned = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func deleted(r *policy.Request) { r.Operation, r.OldObject, r.Object = policy.Delete, r.Object, nil }
func audit(r *policy.Request)   { r.Audit = true }

func by(user string, groups ...string) func(*policy.Request) {
	return func(r *policy.Request) { r.UserInfo = policy.UserInfo{Username: user, Groups: groups} }
}

func updated(newLabels, oldLabels map[string]any) *policy.Request {
	return pod(func(r *policy.Request) {
		r.Operation = policy.Update
		r.Object = object("v1", "Pod", map[string]any{"labels": newLabels})
		r.OldObject = object("v1", "Pod", map[string]any{"labels": oldLabels})
	})
}

func nameless(r *policy.Request) *policy.Request {
	r.Name = ""
	return r
}

func operations(names ...v1alpha1.Operation) func(*concern) {
	return func(m *concern) { m.Operations = names }
}

func namespaces(globs ...string) func(*concern) {
	return func(m *concern) { m.Namespaces = globs }
}

func excluded(globs ...string) func(*concern) {
	return func(m *concern) { m.ExcludedNamespaces = globs }
}

func namespaceSelector(key, value string) func(*concern) {
	return func(m *concern) { m.NamespaceSelector = selecting(key, value) }
}

func labelSelector(key, value string) func(*concern) {
	return func(m *concern) { m.ObjectSelector = selecting(key, value) }
}

func withNamespaces(m concern, globs ...string) concern {
	m.Namespaces = globs
	return m
}

func withExcluded(m concern, globs ...string) concern {
	m.ExcludedNamespaces = globs
	return m
}

func withSelector(m concern, key, value string) concern {
	m.NamespaceSelector = selecting(key, value)
	return m
}

func emptySelector(m concern) concern {
	m.NamespaceSelector = &v1alpha1.LabelSelector{}
	return m
}

func TestMatchSortsNames(t *testing.T) {
	index, err := match.NewIndex([]*v1alpha1.ClusterRegoPolicy{
		named("c", onPods(nil)), named("a", onPods(nil)), named("x", onKinds("", "Node")),
		named("b", onKinds("apps", "Deployment")),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, index.Match(ofKind("apps", "Deployment"))); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestKindsWithoutGroupsAreOfTheCoreGroup(t *testing.T) {
	entry := v1alpha1.KindMatch{Kinds: []string{"ConfigMap"}}
	p := &v1alpha1.ClusterRegoPolicy{}
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{entry, {APIGroups: []string{"apps"}, Kinds: []string{"Deployment"}}}
	want := []match.GroupKind{{Kind: "ConfigMap"}, {Group: "apps", Kind: "Deployment"}}
	if diff := cmp.Diff(want, match.Kinds(p)); diff != "" {
		t.Error(diff)
	}
}

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		reason string
		match  concern
		want   string
	}{
		"no kinds": {"nothing named", concern{}, "spec.match.kinds is empty"},
		"an empty list of groups": {"the API server refuses it too",
			concern{Match: v1alpha1.Match{Kinds: []v1alpha1.KindMatch{{APIGroups: []string{},
				Kinds: []string{"Pod"}}}}},
			"kinds[0].apiGroups is empty"},
		"no kind": {"nothing named",
			concern{Match: v1alpha1.Match{Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}}}}},
			"kinds[0].kinds is empty"},
		"a group with version": {"a group alone", onKinds("apps/v1", "Deployment"), `"apps/v1" isn't an API group`},
		"every kind":           {"kinds are named", onKinds("apps", "*"), `"*" isn't a kind`},
		"an unknown operation": {"admission's own", onPods(operations("PATCH")), `spec.admission.operations: "PATCH"`},
		"a list as a glob":     {"only * and ?", onPods(namespaces("{a,b}")), `spec.match.namespaces: "{a,b}"`},
		"an upper-case glob": {"no namespace has it", onPods(excluded("Team")),
			`spec.match.excludedNamespaces: "Team"`},
		"an empty glob": {"no namespace has it", onPods(namespaces("")), `spec.match.namespaces: ""`},
		"a Secret looked up": {"its values could be told", onPods(func(m *concern) {
			m.References = []v1alpha1.ReferencedKind{{Kind: "ConfigMap"}, {Kind: "Secret"}}
		}), "spec.match.references[1]: a Secret can't be referenced"},
		"a bad label selector": {"the operator needs values", onPods(func(m *concern) {
			m.ObjectSelector = badSelector()
		}), "spec.match.objectSelector"},
		"a bad namespace query": {"the operator needs values", onPods(func(m *concern) {
			m.NamespaceSelector = badSelector()
		}), "spec.match.namespaceSelector"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := match.Validate(named("p", tc.match)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want one with %q", tc.reason, err, tc.want)
			}
			if _, err := match.NewIndex([]*v1alpha1.ClusterRegoPolicy{named("p", tc.match)}); err == nil ||
				!strings.Contains(err.Error(), "policy p: ") {
				t.Errorf("%s: NewIndex error %v doesn't name the policy", tc.reason, err)
			}
		})
	}
}

func badSelector() *v1alpha1.LabelSelector {
	return &v1alpha1.LabelSelector{
		MatchExpressions: []v1alpha1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn}}}
}

func TestKinds(t *testing.T) {
	kind := func(group, kind string) match.GroupKind { return match.GroupKind{Group: group, Kind: kind} }
	workloads := []match.GroupKind{
		kind("", "Pod"), kind("", "ReplicationController"), kind("apps", "DaemonSet"), kind("apps", "Deployment"),
		kind("apps", "ReplicaSet"), kind("apps", "StatefulSet"), kind("batch", "CronJob"), kind("batch", "Job"),
	}
	both := onPods(nil)
	both.Kinds = append(both.Kinds, onKinds("apps", "Deployment").Kinds...)
	cases := map[string]struct {
		match concern
		want  []match.GroupKind
		via   bool
	}{
		"Pods reach every workload":      {onPods(nil), workloads, true},
		"a workload named too is itself": {both, workloads, false},
		"podTemplates off": {onPods(func(m *concern) {
			m.PodTemplates = ptr.To(false)
		}), workloads[:1], false},
		"other kinds stay alone": {
			onKinds("apps", "Deployment", "DaemonSet"),
			[]match.GroupKind{kind("apps", "DaemonSet"), kind("apps", "Deployment")}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := named("p", tc.match)
			if diff := cmp.Diff(tc.want, match.Kinds(p)); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
			if got := match.ViaPodTemplate(p, kind("apps", "Deployment")); got != tc.via {
				t.Errorf("Deployment via pod template = %t, want %t", got, tc.via)
			}
		})
	}
}
