// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// refused is an error as the API server gives it to whoever lacks a permission.
func refused(group, resource, verb string) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "", fmt.Errorf(
		`User "dana" cannot %s resource %q in API group %q at the cluster scope`, verb, resource, group))
}

func TestAMissingPermissionIsToldOnceInACheckAndAskedForOnce(t *testing.T) {
	const kinds, group = "customresourcedefinitions", "apiextensions.k8s.io"
	const toOperators = "ask for the permission: ClusterRole evenkeel-operator grants it"
	type line struct{ Message, Do string }
	cases := map[string]struct {
		reason string
		found  []Finding
		told   map[string]bool
		want   []line
	}{
		"the same of many objects": {"forty pairs of lines hide what is wrong", []Finding{
			unread("CustomResourceDefinition a", refused(group, kinds, "get")),
			unread("CustomResourceDefinition b", refused(group, kinds, "get")),
			unread("CustomResourceDefinition c", refused(group, kinds, "get"))}, map[string]bool{},
			[]line{{"CustomResourceDefinition a and 2 more couldn't be checked: you may not get " +
				"customresourcedefinitions.apiextensions.k8s.io", toOperators}}},
		"several that one role grants": {"it is one thing to ask for", []Finding{
			unread("Lease a", refused("coordination.k8s.io", "leases", "get")),
			unread("Deployment a", refused("apps", "deployments", "get"))}, map[string]bool{},
			[]line{{"Lease a and 1 more couldn't be checked: you may not get leases.coordination.k8s.io, get " +
				"deployments.apps", toOperators}}},
		"one that an earlier check has asked for": {"every check says that it isn't known", []Finding{
			unread("Lease a", refused("coordination.k8s.io", "leases", "get"))},
			map[string]bool{"evenkeel-operator": true},
			[]line{{"Lease a couldn't be checked: you may not get leases.coordination.k8s.io", ""}}},
		"what is shown otherwise": {"there is nothing to ask for", []Finding{
			skipped("the DaemonSets", refused("apps", "daemonsets", "list"), "see there"),
			skipped("the endpoints", refused("discovery.k8s.io", "endpointslices", "list"), "see there"),
			unread("b", refused("apps", "daemonsets", "list")), skipped("c", errors.New("no"), "see there")},
			map[string]bool{},
			[]line{{"not checked: the DaemonSets and 1 more (you may not list daemonsets.apps, list " +
				"endpointslices.discovery.k8s.io); see there", ""},
				{"b couldn't be checked: you may not list daemonsets.apps",
					"ask for the permission, or let somebody run this who has it"},
				{"c couldn't be checked: no", "see that the API server answers: kubectl get --raw /readyz"}}},
		"what else is found": {"it stays, in its place", []Finding{fine("a"),
			unread("b", refused("apps", "daemonsets", "list")), unread("c", errors.New("no"))}, map[string]bool{},
			[]line{{"a", ""}, {"b couldn't be checked: you may not list daemonsets.apps",
				"ask for the permission, or let somebody run this who has it"},
				{"c couldn't be checked: no", "see that the API server answers: kubectl get --raw /readyz"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []line
			for _, f := range joined(tc.found, tc.told) {
				got = append(got, line{f.Message, f.Do})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}
