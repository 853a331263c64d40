// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"evenkeel.dev/evenkeel/internal/policy"
)

// TestFlow holds that nobody gets more of what is shared by having many names, and that those who act for many don't
// get less.
func TestFlow(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b [2]string // user and namespace
		one  bool
	}{
		"two ServiceAccounts of a namespace": {[2]string{"system:serviceaccount:m:s1", "m"},
			[2]string{"system:serviceaccount:m:s2", "m"}, true},
		"and elsewhere": {[2]string{"system:serviceaccount:m:s1", "m"},
			[2]string{"system:serviceaccount:m:s2", "n"}, true},
		"of two namespaces": {[2]string{"system:serviceaccount:m:s", "m"}, [2]string{"system:serviceaccount:n:s", "m"},
			false},
		"a person in two namespaces": {[2]string{"ann", "m"}, [2]string{"ann", "n"}, true},
		"two people":                 {[2]string{"ann", "m"}, [2]string{"bob", "m"}, false},
		"a controller in two namespaces": {[2]string{"system:serviceaccount:kube-system:job-controller", "m"},
			[2]string{"system:serviceaccount:kube-system:job-controller", "n"}, false},
		"a node in two namespaces": {[2]string{"system:node:n1", "m"}, [2]string{"system:node:n1", "n"}, false},
		"the scan":                 {[2]string{"", "m"}, [2]string{"", "n"}, false},
	} {
		flow := func(of [2]string) string {
			return policy.Flow(&policy.Request{UserInfo: policy.UserInfo{Username: of[0]}, Namespace: of[1]})
		}
		if one := flow(tc.a) == flow(tc.b); one != tc.one {
			t.Errorf("%s: %q and %q are one: %t, want %t", name, flow(tc.a), flow(tc.b), one, tc.one)
		}
	}
}
