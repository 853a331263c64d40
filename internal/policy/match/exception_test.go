package match_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

const home = "evenkeel-system"

func exceptionIn(namespace string, m v1alpha1.ExceptionMatch) *v1alpha1.PolicyException {
	return &v1alpha1.PolicyException{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "legacy"},
		Spec: v1alpha1.PolicyExceptionSpec{Match: m}}
}

// judged is a request to create an object of the core group.
func judged(kind, namespace, name string, labels map[string]any) *policy.Request {
	return &policy.Request{Operation: policy.Create, Kind: policy.GroupVersionKind{Version: "v1", Kind: kind},
		Namespace: namespace, Name: name,
		Object: map[string]any{"metadata": map[string]any{"name": name, "labels": labels}}}
}

func TestExceptionCovers(t *testing.T) {
	pods := []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}
	legacy := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "legacy"}}
	unnamed := judged("Pod", "shop", "web-x7", nil)
	unnamed.Name = ""
	untagged := judged("Pod", "shop", "web", nil)
	untagged.Operation, untagged.OldObject = policy.Update, judged("Pod", "shop", "web", map[string]any{"tier": "legacy"}).Object
	deleted := judged("Pod", "shop", "web", nil)
	deleted.Operation, deleted.Object, deleted.OldObject = policy.Delete, nil, untagged.OldObject
	cases := map[string]struct {
		reason    string
		namespace string
		match     v1alpha1.ExceptionMatch
		request   *policy.Request
		want      bool
	}{
		"an object of its namespace": {namespace: "shop", request: judged("Pod", "shop", "web", nil), want: true},
		"an object of another namespace": {
			reason: "who may write in one namespace decides for that one", namespace: "shop", request: judged("Pod", "bank", "web", nil)},
		"a cluster-scoped object from an ordinary namespace": {
			namespace: "shop", request: judged("Node", "", "n1", nil)},
		"the Namespace itself from within, as admission sends it": {
			reason: "it is no object of its own", namespace: "shop", request: judged("Namespace", "shop", "shop", nil)},
		"the Namespace itself from within, as an audit sees it": {
			namespace: "shop", request: judged("Namespace", "", "shop", nil)},
		"any namespace from the controller's": {namespace: home, request: judged("Pod", "bank", "web", nil), want: true},
		"a cluster-scoped object from the controller's": {
			namespace: home, request: judged("Node", "", "n1", nil), want: true},
		"namespaces narrow the controller's": {
			namespace: home, match: v1alpha1.ExceptionMatch{Namespaces: []string{"shop-*"}}, request: judged("Pod", "shop-eu", "web", nil), want: true},
		"namespaces leave out the others": {
			namespace: home, match: v1alpha1.ExceptionMatch{Namespaces: []string{"shop-*"}}, request: judged("Pod", "bank", "web", nil)},
		"namespaces leave out cluster-scoped objects": {
			namespace: home, match: v1alpha1.ExceptionMatch{Namespaces: []string{"*"}}, request: judged("Node", "", "n1", nil)},
		"a Namespace counts by its own name": {
			namespace: home, match: v1alpha1.ExceptionMatch{Namespaces: []string{"shop"}}, request: judged("Namespace", "", "shop", nil), want: true},
		"the kind that it names": {
			namespace: "shop", match: v1alpha1.ExceptionMatch{Resources: pods}, request: judged("Pod", "shop", "web", nil), want: true},
		"a kind that it doesn't name": {
			namespace: "shop", match: v1alpha1.ExceptionMatch{Resources: pods}, request: judged("Service", "shop", "web", nil)},
		"a name by glob": {
			namespace: "shop", match: v1alpha1.ExceptionMatch{Names: []string{"api", "we?-*"}}, request: judged("Pod", "shop", "web-1", nil), want: true},
		"a name that only begins alike": {
			reason: "a glob is the whole name", namespace: "shop", match: v1alpha1.ExceptionMatch{Names: []string{"web"}}, request: judged("Pod", "shop", "web-1", nil)},
		"a dot in a name is a dot": {
			namespace: "shop", match: v1alpha1.ExceptionMatch{Names: []string{"a.b"}}, request: judged("Pod", "shop", "axb", nil)},
		"names of other forms": {
			reason: "RBAC names hold colons and capitals", namespace: home,
			match: v1alpha1.ExceptionMatch{Names: []string{"system:Node*"}}, request: judged("ClusterRole", "", "system:NodeReader", nil), want: true},
		"a generated name that the object has already": {
			namespace: "shop", match: v1alpha1.ExceptionMatch{Names: []string{"web-*"}}, request: unnamed, want: true},
		"a label that it selects": {
			namespace: "shop", match: v1alpha1.ExceptionMatch{LabelSelector: legacy},
			request: judged("Pod", "shop", "web", map[string]any{"tier": "legacy"}), want: true},
		"a label that the update takes off": {
			reason: "the object as it would be counts", namespace: "shop",
			match: v1alpha1.ExceptionMatch{LabelSelector: legacy}, request: untagged},
		"a deletion by the old object": {
			namespace: "shop", match: v1alpha1.ExceptionMatch{LabelSelector: legacy}, request: deleted, want: true},
		"one part that disagrees is enough": {
			namespace: "shop", match: v1alpha1.ExceptionMatch{Resources: pods, Names: []string{"web"}, LabelSelector: legacy},
			request: judged("Pod", "shop", "web", nil)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e, err := match.NewException(exceptionIn(tc.namespace, tc.match), home)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Covers(tc.request); got != tc.want {
				t.Errorf("%s: covers is %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNewExceptionNamesTheField(t *testing.T) {
	cases := map[string]struct {
		namespace string
		match     v1alpha1.ExceptionMatch
		want      string
	}{
		"namespaces outside the controller's": {"shop", v1alpha1.ExceptionMatch{Namespaces: []string{"bank"}}, `spec.match.namespaces: an exception covers objects of its own namespace "shop" only`},
		"a bad namespace glob":                {home, v1alpha1.ExceptionMatch{Namespaces: []string{"Shop"}}, `spec.match.namespaces: "Shop" can't match`},
		"a bad name glob":                     {"shop", v1alpha1.ExceptionMatch{Names: []string{"web[0-9]"}}, `spec.match.names: "web[0-9]" can't match`},
		"a bad selector":                      {"shop", v1alpha1.ExceptionMatch{LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}, "spec.match.labelSelector: "},
		"a wildcard kind":                     {"shop", v1alpha1.ExceptionMatch{Resources: []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"*"}}}}, "spec.match.resources[0].kinds"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := match.NewException(exceptionIn(tc.namespace, tc.match), home); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want an error that begins with %s", err, tc.want)
			}
		})
	}
	if e, err := match.NewException(exceptionIn("shop", v1alpha1.ExceptionMatch{}), ""); err != nil || e.Covers(judged("Pod", "bank", "web", nil)) {
		t.Errorf("without a controller's namespace an exception covers another namespace, or %v", err)
	}
}
