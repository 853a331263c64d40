// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestOwnedBy(t *testing.T) {
	role := func(name, uid string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: name,
			UID: types.UID(uid)}
	}
	ours := role("evenkeel-manager", "2")
	cases := map[string]struct {
		reason string
		refs   []metav1.OwnerReference
		owner  *metav1.OwnerReference
		want   []metav1.OwnerReference
	}{
		"nobody's stay as they are": {
			reason: "without the flag the owners are somebody else's business",
			refs:   []metav1.OwnerReference{role("theirs", "1")}, want: []metav1.OwnerReference{role("theirs", "1")},
		},
		"the owner is added beside others": {
			reason: "what others wrote is kept",
			refs:   []metav1.OwnerReference{role("theirs", "1")}, owner: &ours,
			want: []metav1.OwnerReference{role("theirs", "1"), ours},
		},
		"the owner is there once": {
			reason: "a second pass must change nothing",
			refs:   []metav1.OwnerReference{ours}, owner: &ours, want: []metav1.OwnerReference{ours},
		},
		"a role made anew replaces its predecessor": {
			reason: "an owner that is gone would have the configurations collected",
			refs:   []metav1.OwnerReference{role("evenkeel-manager", "1"), role("theirs", "1")}, owner: &ours,
			want: []metav1.OwnerReference{role("theirs", "1"), ours},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ownedBy(tc.refs, tc.owner)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}
