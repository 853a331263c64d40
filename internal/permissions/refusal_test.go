// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// refused is an error as the API server gives it.
func refused(group, resource, verb string) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "", fmt.Errorf(
		`User "dev" cannot %s resource %q in API group %q at the cluster scope`, verb, resource, group))
}

func TestARefusalNamesTheRoleThatGrantsIt(t *testing.T) {
	const own = "evenkeel.dev"
	cases := map[string]struct {
		err          error
		refusal, say string
	}{
		"to read what Evenkeel keeps": {refused(own, "remediations", "list"), "list remediations.evenkeel.dev",
			"ask for that permission: ClusterRole evenkeel-viewer grants it"},
		"to answer a plan, or to pause it": {refused(own, "remediations", "patch"), "patch remediations.evenkeel.dev",
			"ask for that permission: ClusterRole evenkeel-operator grants it, and evenkeel-approver to answer plans"},
		"to override a policy": {refused(own, "policyoverrides", "create"), "create policyoverrides.evenkeel.dev",
			"ask for that permission: ClusterRole evenkeel-operator grants it"},
		"to have a source looked at": {refused(own, "policysources", "patch"), "patch policysources.evenkeel.dev",
			"ask for that permission: ClusterRole evenkeel-operator grants it"},
		"to change a source": {refused(own, "policysources", "update"), "update policysources.evenkeel.dev",
			"ask for that permission"},
		"wrapped": {fmt.Errorf("read: %w", refused("", "namespaces", "get")), "get namespaces",
			"ask for that permission: ClusterRole evenkeel-viewer grants it"},
		"to look at the installation": {refused("coordination.k8s.io", "leases", "get"),
			"get leases.coordination.k8s.io", "ask for that permission: ClusterRole evenkeel-operator grants it"},
		"what no role grants": {refused("apps", "deployments/scale", "patch"), "patch deployments.apps/scale",
			"ask for that permission"},
		"to write a policy": {refused(own, "clusterregopolicies", "update"), "update clusterregopolicies.evenkeel.dev",
			"ask for that permission"},
		"in other words": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("no")), "",
			"ask for that permission"},
		"by admission, which no role changes": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a",
			errors.New(`admission webhook "a.example.com" denied the request`)), "", ""},
		"none": {errors.New("connection refused"), "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			refusal, told := RefusedBy(tc.err)
			if told != (tc.refusal != "") || told && refusal.String() != tc.refusal {
				t.Errorf("it is read as %q (%t), want %q", refusal, told, tc.refusal)
			}
			if diff := cmp.Diff(tc.say, Advice(tc.err)); diff != "" {
				t.Errorf("what to do (-want +got)\n%s", diff)
			}
		})
	}
}

// The roles are written in YAML: what is told of them must be so.
func TestTheRolesGrantWhatIsToldOfThem(t *testing.T) {
	rules := map[string][]rbacv1.PolicyRule{}
	for _, file := range []string{"viewer", "approver", "operator"} {
		text, err := os.ReadFile("../../config/rbac/" + file + "_role.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n---\n") {
			role := &rbacv1.ClusterRole{}
			if err := yaml.UnmarshalStrict([]byte(part), role); err != nil {
				t.Fatal(err)
			}
			rules[role.Name] = role.Rules
		}
	}
	grants := func(role string, r Refusal) bool {
		return slices.ContainsFunc(rules[role], func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.APIGroups, r.Group) && slices.Contains(rule.Resources, r.Resource) &&
				slices.Contains(rule.Verbs, r.Verb)
		})
	}
	for _, granting := range []string{RoleViewer, RoleApprover, RoleOperator} {
		if len(rules[granting]) == 0 {
			t.Errorf("there is no ClusterRole %s", granting)
		}
		for _, rule := range rules[granting] {
			for _, resource := range rule.Resources {
				for _, verb := range []string{"get", "list", "watch", "create", "update", "patch"} {
					r := Refusal{Verb: verb, Group: rule.APIGroups[0], Resource: resource}
					switch role := r.Role(); {
					case role != "" && !grants(role, r):
						t.Errorf("%s doesn't grant to %s", role, r)
					case role == "" && grants(granting, r):
						t.Errorf("%s grants to %s, and isn't named", granting, r)
					}
				}
			}
		}
	}
}
