// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/discovery"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// TestAKindThatIsGoneDoesntHoldUpAPolicy changes policies while a CustomResourceDefinition is gone, as while it is being
// replaced: what the stored policy names stands, and nothing else that isn't served.
func TestAKindThatIsGoneDoesntHoldUpAPolicy(t *testing.T) {
	widgets, gadgets := webhooktest.WithResources("example.com", "Widget"),
		webhooktest.WithResources("example.com", "Widget", "Gadget")
	// of is one entry of groups and kinds.
	of := func(groups, kinds string) func(*v1alpha1.ClusterRegoPolicy) {
		return func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: strings.Split(groups, " "),
				Kinds: strings.Split(kinds, " ")}}
		}
	}
	records := webhooktest.WithAction(v1alpha1.AdmissionAudit)
	type changes = []func(*v1alpha1.ClusterRegoPolicy)
	cases := map[string]struct {
		before, after changes
		isNew         bool
		want          string // the refusal, or the warning where allowed
		allowed       bool
	}{
		"it only records from now on": {before: changes{widgets}, after: changes{widgets, records}, allowed: true,
			want: "the API server doesn't serve Widget.example.com now"},
		"the kind is taken out": {before: changes{widgets}, after: changes{records}, allowed: true},
		"another is added": {before: changes{widgets}, after: changes{gadgets},
			want: `kinds[1]: the API server serves no kind "Gadget" in group "example.com"`},
		"another group is added": {before: changes{widgets}, after: changes{widgets,
			webhooktest.WithResources("example.org", "Widget")}, want: `serves no kind "Widget" in group "example.org"`},
		"a group that has none of the kinds is added": {before: changes{widgets}, after: changes{
			func(p *v1alpha1.ClusterRegoPolicy) {
				widgets(p)
				p.Spec.Match.Kinds[1].APIGroups = []string{"example.com", "apps"}
			}}, want: `apiGroups[1]: group "apps" serves none of the kinds`},
		"a kind of one of two groups": {before: changes{of("apps example.com", "Deployment Widget"), records},
			after: changes{of("apps example.com", "Deployment Widget")}, allowed: true,
			want: "Widget.example.com now"},
		"a kind in two groups, one of which is gone": {before: changes{of("apps example.com", "Deployment"), records},
			after: changes{of("apps example.com", "Deployment")}, allowed: true,
			want: "doesn't serve Deployment.example.com now"},
		"a product of groups and kinds is made a kind": {before: changes{of(" apps", "Pod Deployment")},
			after: changes{of("apps", "Pod")}, want: `set apiGroups to "", which serves it`},
		"a product of groups and kinds stays": {before: changes{of(" apps", "Pod Deployment")},
			after: changes{of(" apps", "Pod Deployment"), records}, allowed: true},
		"a new policy": {after: changes{widgets}, isNew: true, want: `serves no kind "Widget"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := &PolicyHandler{Base: webhooktest.Base(t, time.Unix(0, 0)), Checker: newChecker(webhooktest.Kinds())}
			after := policyTree(t, webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, tc.after...))
			operation, before := "UPDATE", policyTree(t, webhooktest.NewPolicy("p", webhooktest.PrivilegedRego,
				tc.before...))
			if tc.isNew {
				operation, before = "CREATE", nil
			}
			review := webhooktest.Review(operation, after, before,
				webhooktest.OfKind("ClusterRegoPolicy", "clusterregopolicies"))
			review["request"].(tree)["object"] = withWho(t, review)
			got := webhooktest.Ask(t, h, review)
			told := strings.Join(got.Warnings, "\n")
			if got.Status != nil {
				told = got.Status.Message
			}
			if got.Allowed != tc.allowed || !strings.Contains(told, tc.want) || tc.want == "" && told != "" {
				t.Errorf("allowed is %t: %s", got.Allowed, told)
			}
		})
	}
}

// TestAPolicyCanBeRelaxedWhenTheAPICannotBeAsked has the API say nothing of its kinds: those that are named already
// aren't asked for.
func TestAPolicyCanBeRelaxedWhenTheAPICannotBeAsked(t *testing.T) {
	kinds := discovery.NewKinds(func() (meta.RESTMapper, error) { return nil, errors.New("connection refused") })
	before := webhooktest.NewPolicy("p", webhooktest.PrivilegedRego)
	after := webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, webhooktest.WithAction(v1alpha1.AdmissionAudit))
	if got := newChecker(kinds).Check(after, before); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	evictions := func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Match.Kinds[0].Subresources = []v1alpha1.Subresource{"eviction"}
	}
	before = webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, evictions)
	after = webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, evictions,
		webhooktest.WithAction(v1alpha1.AdmissionAudit))
	if got := newChecker(kinds).Check(after, before); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	after = webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, webhooktest.WithResources("example.com", "Widget"))
	if got := newChecker(kinds).Check(after, before); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}
