// SPDX-License-Identifier: Apache-2.0

package permissions_test

import (
	"context"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/permissions"
)

const (
	patches = "package p\nimport rego.v1\ndeny contains \"bad\" if input.object.bad\nremediation contains " +
		"{\"action\": \"patch\", \"ops\": []}\n"
	status = "package p\nimport rego.v1\ndeny contains \"bad\" if input.object.bad\nremediation contains " +
		"{\"action\": \"patch\", \"subresource\": \"status\", \"ops\": []}\n"
	creates = `package p
import rego.v1
deny contains "bad" if input.object.bad
manifest := {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny"}}
remediation contains {"action": "create", "object": manifest}
`
	opaque = "package p\nimport rego.v1\ndeny contains \"bad\" if input.object.bad\nremediation contains " +
		"{\"action\": \"create\", \"object\": input.parameters.object}\n"
)

// on is a policy that fixes the kinds of one group by the verbs given.
func on(rego, group string, kinds []string, mode v1alpha1.RemediationMode,
	verbs ...v1alpha1.ActionType) *v1alpha1.ClusterRegoPolicy {
	never := false
	return &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.RegoPolicySpec{
		Rego: v1alpha1.RegoSource{File: "p.rego", Main: rego},
		Match: v1alpha1.Match{
			PodTemplates: &never, Kinds: []v1alpha1.KindMatch{{APIGroups: []string{group}, Kinds: kinds}}},
		Remediation: v1alpha1.PolicyRemediation{Mode: mode, AllowedActions: verbs},
	}}
}

func rule(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

func TestLeastFor(t *testing.T) {
	namespaces := rule("", []string{"namespaces"}, "get", "list", "watch")
	services := rule("", []string{"namespaces", "services"}, "get", "list", "watch")
	deletions := on(patches, "", []string{"Service"}, v1alpha1.RemediationDisabled)
	deletions.Spec.Admission.Operations = []v1alpha1.Operation{v1alpha1.OperationDelete}
	cases := map[string]struct {
		reason      string
		policies    []*v1alpha1.ClusterRegoPolicy
		read, write []rbacv1.PolicyRule
		notes       []string
	}{
		"mode Disabled": {reason: "nothing is ever written",
			policies: []*v1alpha1.ClusterRegoPolicy{on(patches, "", []string{"Service"}, "")},
			read:     []rbacv1.PolicyRule{services}},
		"a policy of deletions": {reason: "what exists isn't judged by it",
			policies: []*v1alpha1.ClusterRegoPolicy{deletions},
			read:     []rbacv1.PolicyRule{namespaces}},
		"DryRun": {reason: "a server-side dry run needs the permission to write",
			policies: []*v1alpha1.ClusterRegoPolicy{on(patches, "", []string{"Service"}, v1alpha1.RemediationDryRun)},
			read:     []rbacv1.PolicyRule{services},
			write:    []rbacv1.PolicyRule{rule("", []string{"services"}, "get", "patch")}},
		"restart and scale": {reason: "they are patches",
			policies: []*v1alpha1.ClusterRegoPolicy{
				on(patches, "", []string{"Service"}, v1alpha1.RemediationAutomatic, v1alpha1.ActionRestart,
					v1alpha1.ActionScale)},
			read:  []rbacv1.PolicyRule{services},
			write: []rbacv1.PolicyRule{rule("", []string{"services"}, "get", "patch")}},
		"deletion": {reason: "undoing it creates the object again",
			policies: []*v1alpha1.ClusterRegoPolicy{
				on(patches, "", []string{"Service"}, v1alpha1.RemediationAutomatic, v1alpha1.ActionDelete)},
			read:  []rbacv1.PolicyRule{services},
			write: []rbacv1.PolicyRule{rule("", []string{"services"}, "get", "create", "delete")}},
		"the status": {reason: "the Rego says that it is patched",
			policies: []*v1alpha1.ClusterRegoPolicy{on(status, "", []string{"Service"}, v1alpha1.RemediationAutomatic)},
			read:     []rbacv1.PolicyRule{services},
			write: []rbacv1.PolicyRule{rule("", []string{"services"}, "get", "patch"),
				rule("", []string{"services/status"}, "patch")}},
		"creation": {reason: "the manifest's kind stands in the Rego",
			policies: []*v1alpha1.ClusterRegoPolicy{
				on(creates, "", []string{"Service"}, v1alpha1.RemediationManual, v1alpha1.ActionCreate)},
			read: []rbacv1.PolicyRule{services},
			write: []rbacv1.PolicyRule{
				rule("networking.k8s.io", []string{"networkpolicies"}, "get", "create", "delete")}},
		"creation of what nobody knows": {reason: "it is told, not guessed",
			policies: []*v1alpha1.ClusterRegoPolicy{
				on(opaque, "", []string{"Service"}, v1alpha1.RemediationManual, v1alpha1.ActionCreate)},
			read: []rbacv1.PolicyRule{services},
			notes: []string{
				"policy p creates objects whose kind its Rego doesn't spell out: add get, create and delete on it"}},
		"eviction": {reason: "of Pods by their subresource, and of nothing else; the Pods' owners are followed",
			policies: []*v1alpha1.ClusterRegoPolicy{
				on(patches, "", []string{"Pod", "Service"}, v1alpha1.RemediationAutomatic, v1alpha1.ActionEvict)},
			read: []rbacv1.PolicyRule{rule("", []string{"replicationcontrollers"}, "get", "list"),
				rule("", []string{"namespaces", "pods", "services"}, "get", "list", "watch"),
				rule("apps", []string{"daemonsets", "deployments", "replicasets", "statefulsets"}, "get", "list"),
				rule("batch", []string{"cronjobs", "jobs"}, "get", "list")},
			write: []rbacv1.PolicyRule{rule("", []string{"pods/eviction"}, "create"),
				rule("", []string{"pods"}, "get")}},
		"a kind of nobody's": {reason: "its resource is guessed, which is said",
			policies: []*v1alpha1.ClusterRegoPolicy{
				on(patches, "example.com", []string{"Gateway"}, v1alpha1.RemediationDisabled)},
			read: []rbacv1.PolicyRule{
				namespaces, rule("example.com", []string{"gateways"}, "get", "list", "watch")},
			notes: []string{"no cluster was asked for Gateway.example.com: the name of its resource is guessed"}},
		"two policies": {reason: "their rules are merged",
			policies: []*v1alpha1.ClusterRegoPolicy{on(patches, "", []string{"Service"}, v1alpha1.RemediationAutomatic),
				on(patches, "", []string{"ConfigMap", "Service"}, v1alpha1.RemediationDisabled)},
			read: []rbacv1.PolicyRule{
				rule("", []string{"configmaps", "namespaces", "services"}, "get", "list", "watch")},
			write: []rbacv1.PolicyRule{rule("", []string{"services"}, "get", "patch")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			least, err := permissions.LeastFor(tc.policies, permissions.BuiltIn())
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]rbacv1.PolicyRule{}
			for _, role := range least.Roles("x") {
				got[role.Name] = role.Rules
			}
			want := map[string][]rbacv1.PolicyRule{"x-read": tc.read}
			if tc.write != nil {
				want["x-write"] = tc.write
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s: roles (-want +got)\n%s", tc.reason, diff)
			}
			if diff := gocmp.Diff(tc.notes, least.Notes); diff != "" {
				t.Errorf("%s: notes (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

// allows is somebody who may do what it lists.
type allows map[string]bool

func (a allows) May(_ context.Context, at authorizationv1.ResourceAttributes) (bool, error) {
	return a[at.Verb+" "+at.Resource+"/"+at.Subresource], nil
}

func TestLackingLeavesOutWhatIsAllowed(t *testing.T) {
	least, err := permissions.LeastFor(
		[]*v1alpha1.ClusterRegoPolicy{
			on(patches, "", []string{"Pod"}, v1alpha1.RemediationAutomatic, v1alpha1.ActionEvict)},
		permissions.BuiltIn())
	if err != nil {
		t.Fatal(err)
	}
	may := allows{}
	for _, resource := range []string{"namespaces", "pods", "replicationcontrollers", "daemonsets", "deployments",
		"replicasets", "statefulsets", "cronjobs", "jobs"} {
		for _, verb := range []string{"get", "list", "watch"} {
			may[verb+" "+resource+"/"] = true
		}
	}
	delete(may, "watch pods/")
	lacking, err := least.Lacking(context.Background(), may)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]rbacv1.PolicyRule{}
	for _, role := range lacking.Roles("x") {
		got[role.Name] = role.Rules
	}
	want := map[string][]rbacv1.PolicyRule{
		"x-read":  {rule("", []string{"pods"}, "watch")},
		"x-write": {rule("", []string{"pods/eviction"}, "create")},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("roles (-want +got)\n%s", diff)
	}
}
