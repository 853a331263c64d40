// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// everywhere stands for the namespace of a ClusterWaiver, which has none.
const everywhere = ""

// waiverIn is a Waiver of the namespace, or a ClusterWaiver.
func waiverIn(namespace string, m v1alpha1.ClusterWaiverMatch) v1alpha1.AnyWaiver {
	if namespace == everywhere {
		return &v1alpha1.ClusterWaiver{ObjectMeta: metav1.ObjectMeta{Name: "legacy"},
			Spec: v1alpha1.ClusterWaiverSpec{Match: m}}
	}
	return &v1alpha1.Waiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "legacy"},
		Spec: v1alpha1.WaiverSpec{Match: m.WaiverMatch}}
}

func covering(m v1alpha1.WaiverMatch) v1alpha1.ClusterWaiverMatch {
	return v1alpha1.ClusterWaiverMatch{WaiverMatch: m}
}

// judged is a request to create an object of the core group.
func judged(kind, namespace, name string, labels map[string]any) *policy.Request {
	return &policy.Request{Operation: policy.Create, Kind: policy.GroupVersionKind{Version: "v1", Kind: kind},
		Namespace: namespace, Name: name,
		Object: map[string]any{"metadata": map[string]any{"name": name, "labels": labels}}}
}

func TestWaiverCovers(t *testing.T) {
	pods := []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}
	legacy := &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"tier": "legacy"}}
	unnamed := judged("Pod", "shop", "web-x7", nil)
	unnamed.Name = ""
	untagged := judged("Pod", "shop", "web", nil)
	untagged.Operation, untagged.OldObject = policy.Update,
		judged("Pod", "shop", "web", map[string]any{"tier": "legacy"}).Object
	deleted := judged("Pod", "shop", "web", nil)
	deleted.Operation, deleted.Object, deleted.OldObject = policy.Delete, nil, untagged.OldObject
	evicted := judged("Eviction", "shop", "web", map[string]any{"tier": "legacy"})
	evicted.Kind.Group, evicted.Resource, evicted.SubResource = "policy", "pods", "eviction"
	cases := map[string]struct {
		reason    string
		namespace string
		match     v1alpha1.ClusterWaiverMatch
		request   *policy.Request
		want      bool
	}{
		"an object of its namespace": {namespace: "shop", request: judged("Pod", "shop", "web", nil), want: true},
		"an object of another namespace": {
			reason: "who may write in one namespace decides for that one", namespace: "shop",
			request: judged("Pod", "bank", "web", nil)},
		"a cluster-scoped object from an ordinary namespace": {
			namespace: "shop", request: judged("Node", "", "n1", nil)},
		"the Namespace itself from within, as admission sends it": {
			reason: "it is no object of its own", namespace: "shop", request: judged("Namespace", "shop", "shop", nil)},
		"the Namespace itself from within, as an audit sees it": {
			namespace: "shop", request: judged("Namespace", "", "shop", nil)},
		"any namespace under a ClusterWaiver": {namespace: everywhere, request: judged("Pod", "bank", "web", nil),
			want: true},
		"a cluster-scoped object under a ClusterWaiver": {
			namespace: everywhere, request: judged("Node", "", "n1", nil), want: true},
		"namespaces narrow a ClusterWaiver": {
			namespace: everywhere, match: v1alpha1.ClusterWaiverMatch{Namespaces: []string{"shop-*"}},
			request: judged("Pod", "shop-eu", "web", nil), want: true},
		"namespaces leave out the others": {
			namespace: everywhere, match: v1alpha1.ClusterWaiverMatch{Namespaces: []string{"shop-*"}},
			request: judged("Pod", "bank", "web", nil)},
		"namespaces leave out cluster-scoped objects": {
			namespace: everywhere, match: v1alpha1.ClusterWaiverMatch{Namespaces: []string{"*"}},
			request: judged("Node", "", "n1", nil)},
		"a Namespace counts by its own name": {
			namespace: everywhere, match: v1alpha1.ClusterWaiverMatch{Namespaces: []string{"shop"}},
			request: judged("Namespace", "", "shop", nil), want: true},
		"the kind that it names": {
			namespace: "shop", match: covering(v1alpha1.WaiverMatch{Kinds: pods}),
			request: judged("Pod", "shop", "web", nil), want: true},
		"a kind that it doesn't name": {
			namespace: "shop", match: covering(v1alpha1.WaiverMatch{Kinds: pods}),
			request: judged("Service", "shop", "web", nil)},
		"a name by glob": {
			namespace: "shop", match: covering(v1alpha1.WaiverMatch{Names: []string{"api", "we?-*"}}),
			request: judged("Pod", "shop", "web-1", nil), want: true},
		"a name that only begins alike": {
			reason: "a glob is the whole name", namespace: "shop",
			match:   covering(v1alpha1.WaiverMatch{Names: []string{"web"}}),
			request: judged("Pod", "shop", "web-1", nil)},
		"a dot in a name is a dot": {
			namespace: "shop", match: covering(v1alpha1.WaiverMatch{Names: []string{"a.b"}}),
			request: judged("Pod", "shop", "axb", nil)},
		"names of other forms": {
			reason: "RBAC names hold colons and capitals", namespace: everywhere,
			match:   covering(v1alpha1.WaiverMatch{Names: []string{"system:Node*"}}),
			request: judged("ClusterRole", "", "system:NodeReader", nil), want: true},
		"a generated name that the object has already": {
			namespace: "shop", match: covering(v1alpha1.WaiverMatch{Names: []string{"web-*"}}), request: unnamed,
			want: true},
		"a label that it selects": {
			namespace: "shop", match: covering(v1alpha1.WaiverMatch{ObjectSelector: legacy}),
			request: judged("Pod", "shop", "web", map[string]any{"tier": "legacy"}), want: true},
		"a label that the update takes off": {
			reason: "the object as it would be counts", namespace: "shop",
			match: covering(v1alpha1.WaiverMatch{ObjectSelector: legacy}), request: untagged},
		"a deletion by the old object": {
			namespace: "shop", match: covering(v1alpha1.WaiverMatch{ObjectSelector: legacy}), request: deleted,
			want: true},
		"a label that whoever evicts a Pod writes into the eviction": {
			reason: "the Pod may not have it", namespace: "shop",
			match: covering(v1alpha1.WaiverMatch{Kinds: pods, ObjectSelector: legacy}), request: evicted},
		"an eviction by the Pod's name": {namespace: "shop",
			match:   covering(v1alpha1.WaiverMatch{Kinds: pods, Names: []string{"web"}}),
			request: evicted, want: true},
		"one part that disagrees is enough": {
			namespace: "shop", match: covering(
				v1alpha1.WaiverMatch{Kinds: pods, Names: []string{"web"}, ObjectSelector: legacy}),
			request: judged("Pod", "shop", "web", nil)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e, err := match.NewWaiver(waiverIn(tc.namespace, tc.match))
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Covers(tc.request); got != tc.want {
				t.Errorf("%s: covers is %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNewWaiverNamesTheField(t *testing.T) {
	cases := map[string]struct {
		namespace string
		match     v1alpha1.ClusterWaiverMatch
		want      string
	}{
		"a bad namespace glob": {everywhere, v1alpha1.ClusterWaiverMatch{Namespaces: []string{"Shop"}},
			`spec.match.namespaces: "Shop" can't match`},
		"a bad name glob": {"shop", covering(v1alpha1.WaiverMatch{Names: []string{"web[0-9]"}}),
			`spec.match.names: "web[0-9]" can't match`},
		"a bad selector": {"shop",
			covering(v1alpha1.WaiverMatch{
				ObjectSelector: &v1alpha1.LabelSelector{
					MatchExpressions: []v1alpha1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}),
			"spec.match.objectSelector: "},
		"a wildcard kind": {"shop",
			covering(v1alpha1.WaiverMatch{
				Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"*"}}}}),
			"spec.match.kinds[0].kinds"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := match.NewWaiver(waiverIn(tc.namespace, tc.match)); err == nil ||
				!strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want an error that begins with %s", err, tc.want)
			}
		})
	}
	if _, err := match.NewWaiver(&v1alpha1.Waiver{}); err == nil ||
		!strings.HasPrefix(err.Error(), "metadata.namespace: ") {
		t.Errorf("got %v: a Waiver that is in no namespace must not cover all of them", err)
	}
}
