// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// onParts matches subresources of kinds, by the operations given.
func onParts(group, kind string, operations []v1alpha1.Operation, subresources ...v1alpha1.Subresource) concern {
	return concern{Admission: v1alpha1.Admission{Operations: operations},
		Match: v1alpha1.Match{Kinds: []v1alpha1.KindMatch{
			{APIGroups: []string{group}, Kinds: []string{kind}, Subresources: subresources}}}}
}

func connect() []v1alpha1.Operation { return []v1alpha1.Operation{v1alpha1.OperationConnect} }

// sent is a request on a subresource as the API server makes it.
func sent(op policy.Operation, resource, subresource, group, kind string) *policy.Request {
	return &policy.Request{Operation: op, Resource: resource, SubResource: subresource, Namespace: "shop",
		Name: "web-0",
		Kind: policy.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, Object: map[string]any{"kind": kind}}
}

func TestMatchSubresources(t *testing.T) {
	exec := onParts("", "Pod", connect(), "exec", "attach")
	both := onParts("", "Pod", []v1alpha1.Operation{"CREATE", "CONNECT"}, "exec")
	both.Kinds = append(both.Kinds, onPods(nil).Kinds...)
	cases := map[string]struct {
		reason  string
		match   concern
		request *policy.Request
		want    bool
	}{
		"a shell": {
			"it is named", exec, sent(policy.Connect, "pods", "exec", "", "PodExecOptions"), true},
		"an attachment": {
			"it is named", exec, sent(policy.Connect, "pods", "attach", "", "PodAttachOptions"), true},
		"a forwarded port": {
			"it isn't named", exec, sent(policy.Connect, "pods", "portforward", "", "PodPortForwardOptions"), false},
		"the Pod itself":      {"it isn't what is concerned", exec, pod(nil), false},
		"an audit of the Pod": {"the scan has nothing to judge", exec, pod(audit), false},
		"a shell, where Pods are named too": {
			"each by its own operation", both, sent(policy.Connect, "pods", "exec", "", "PodExecOptions"), true},
		"a Pod, where its shells are named too": {"each by its own operation", both, pod(nil), true},
		"a shell, where Pods alone are named": {"a rule on Pods knows nothing of shells", onPods(nil),
			sent(policy.Connect, "pods", "exec", "", "PodExecOptions"), false},
		"a kind of that name elsewhere": {
			"subresources are of one resource", exec, sent(policy.Connect, "widgets", "exec", "", "PodExecOptions"),
			false},
		"another kind sent": {
			"what is sent has one kind", exec, sent(policy.Connect, "pods", "exec", "", "ConfigMap"), false},
		"the proxy of a Service": {"it is named", onParts("", "Service", connect(), "proxy"),
			sent(policy.Connect, "services", "proxy", "", "ServiceProxyOptions"), true},
		"the proxy of a Pod": {"it is another kind's", onParts("", "Service", connect(), "proxy"),
			sent(policy.Connect, "pods", "proxy", "", "PodProxyOptions"), false},
		"the scale of a Deployment": {
			"it is an update", onParts("apps", "Deployment", []v1alpha1.Operation{"UPDATE"}, "scale"),
			sent(policy.Update, "deployments", "scale", "autoscaling", "Scale"), true},
		"an eviction": {
			"it is a creation", onParts("", "Pod", []v1alpha1.Operation{"CREATE"}, "eviction"),
			sent(policy.Create, "pods", "eviction", "policy", "Eviction"), true},
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

func TestSubresourcesThatCantMatchAreRefused(t *testing.T) {
	labelled := onParts("", "Pod", connect(), "exec")
	labelSelector("app", "web")(&labelled)
	cases := map[string]struct {
		match concern
		want  string
	}{
		"one that the kind doesn't have": {
			onParts("", "Service", connect(), "exec"),
			`kinds[0].subresources: none of the kinds ["Service"] has the subresource "exec" that admission can judge: name a kind that has it, such as Pod`},
		"one that keeps the cluster going": {
			onParts("", "Pod", connect(), "status"), `has the subresource "status" that admission can judge`},
		"the default operations": {
			onParts("", "Pod", nil, "exec"),
			"spec.admission.operations: pods/exec is judged on CONNECT, which isn't among them: add it"},
		"another operation": {
			onParts("", "Pod", connect(), "eviction"), "pods/eviction is judged on CREATE"},
		"CONNECT of objects": {onPods(operations("CONNECT")), "CONNECT concerns subresources only"},
		"labels, which nothing sent has": {
			labelled, "spec.match.objectSelector: what is sent to pods/exec bears no labels"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := match.Validate(named("p", tc.match)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestSubresourcesAreNoKinds(t *testing.T) {
	p := named("p", onParts("", "Pod", connect(), "exec"))
	if kinds := append(match.Kinds(p), match.StandingKinds(p)...); len(kinds) > 0 {
		t.Errorf("the policy concerns no object, so neither scan nor configuration may ask for %v", kinds)
	}
	var names []string
	for _, s := range match.Subresources(p) {
		names = append(names, s.String())
	}
	if diff := cmp.Diff([]string{"pods/exec"}, names); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAWaiverForAKindCoversItsSubresources(t *testing.T) {
	resources := []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}
	covers, err := match.NewWaiver(
		waiverIn("shop", covering(v1alpha1.WaiverMatch{Kinds: resources, Names: []string{"web-*"}})))
	if err != nil {
		t.Fatal(err)
	}
	if !covers.Covers(sent(policy.Connect, "pods", "exec", "", "PodExecOptions")) {
		t.Error("a shell in a Pod is covered by a waiver for the Pod")
	}
	if covers.Covers(sent(policy.Connect, "services", "proxy", "", "ServiceProxyOptions")) {
		t.Error("a Service isn't a Pod")
	}
	resources[0].Subresources = []v1alpha1.Subresource{"exec"}
	if _, err := match.NewWaiver(waiverIn("shop", covering(v1alpha1.WaiverMatch{Kinds: resources}))); err == nil ||
		!strings.Contains(err.Error(), "spec.match.kinds[0].subresources") {
		t.Errorf("a waiver can't name subresources: %v", err)
	}
}
