// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

// partial is a cluster's discovery, with what doesn't answer.
type partial struct {
	lists []*metav1.APIResourceList
	err   error
}

// ServerPreferredResources are the lists.
func (p partial) ServerPreferredResources() ([]*metav1.APIResourceList, error) { return p.lists, p.err }

// TestKindsThatTheClusterDoesntTellAreSaid lists the kinds of a cluster of which a group doesn't answer.
func TestKindsThatTheClusterDoesntTellAreSaid(t *testing.T) {
	lists := []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Kind: "Service", Namespaced: true, Verbs: []string{"get", "list"}},
		{Kind: "Binding", Verbs: []string{"create"}},
	}}}
	down := errors.New("metrics.k8s.io/v1beta1: the server is currently unable to handle the request")
	kinds := []gatekeeper.Kind{{Kind: "Service", Scope: "Namespaced"}}
	for name, tc := range map[string]struct {
		asked       partial
		kinds       []gatekeeper.Kind
		said, fails string
	}{
		"all answer":          {partial{lists, nil}, kinds, "", ""},
		"a group is down":     {partial{lists, down}, kinds, "may mean more than is judged: list the kinds", ""},
		"nothing is answered": {partial{nil, down}, nil, "", "list the kinds of the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &policyChoice{}
			got, err := c.kindsBy(tc.asked)
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("error %v, want %q", err, tc.fails)
			}
			if diff := cmp.Diff(tc.kinds, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if said := strings.Join(c.incomplete(), "\n"); (said != "") != (tc.said != "") ||
				!strings.Contains(said, tc.said) {
				t.Errorf("it says %q, want %q", said, tc.said)
			}
		})
	}
}
