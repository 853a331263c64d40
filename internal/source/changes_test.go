// SPDX-License-Identifier: Apache-2.0

package source

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

func TestPlanOf(t *testing.T) {
	unowned := func(p *v1alpha1.ClusterRegoPolicy) { p.Labels = nil }
	ofCaps := func(p *v1alpha1.ClusterRegoPolicy) { p.Labels = owner{"evenkeel-system", "caps"}.labels() }
	adopted := func(p *v1alpha1.ClusterRegoPolicy) { p.Annotations[v1alpha1.AnnotationAdopt] = hats.String() }
	type result struct {
		Made, Changed, Removed []string
		Unclaimed              string
	}
	tests := map[string]struct {
		reason    string
		want      []directory.Located
		live      []v1alpha1.ClusterRegoPolicy
		inventory []string
		plan      result
	}{
		"a first sync": {reason: "what isn't there is made",
			want: []directory.Located{located("a"), located("b")}, plan: result{Made: []string{"a", "b"}}},
		"all in step": {reason: "nothing is written",
			want: []directory.Located{located("a")}, live: []v1alpha1.ClusterRegoPolicy{inCluster("a")}},
		"parameters in another layout": {reason: "the same JSON is the same",
			want: []directory.Located{located("a", func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Parameters = parameters(`{"a": 1,"b":[]}`)
			})},
			live: []v1alpha1.ClusterRegoPolicy{inCluster("a", func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Parameters = parameters(`{"b":[],"a":1}`)
			})}},
		"labels of others": {reason: "they are let be",
			want: []directory.Located{located("a")},
			live: []v1alpha1.ClusterRegoPolicy{inCluster("a", func(p *v1alpha1.ClusterRegoPolicy) {
				p.Labels["team"] = "x"
				p.Annotations["note"] = "y"
			})}},
		"an edited rule": {reason: "it is restored",
			want: []directory.Located{located("a")},
			live: []v1alpha1.ClusterRegoPolicy{inCluster("a", func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Admission.Action = v1alpha1.AdmissionDeny
			})},
			plan: result{Changed: []string{"a"}}},
		"an exemption slipped in": {reason: "a field that the repository leaves out counts too",
			want: []directory.Located{located("a")},
			live: []v1alpha1.ClusterRegoPolicy{inCluster("a", func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Admission.Exempt.Users = []string{"mallory"}
			})},
			plan: result{Changed: []string{"a"}}},
		"a policy that left the repository": {reason: "it is removed",
			want: []directory.Located{located("a")}, live: []v1alpha1.ClusterRegoPolicy{inCluster("a"), inCluster("b")},
			plan: result{Removed: []string{"b"}}},
		"policies of nobody and of another source": {reason: "they aren't the source's to remove",
			live: []v1alpha1.ClusterRegoPolicy{inCluster("a", unowned), inCluster("b", ofCaps)}},
		"an unowned policy of that name": {reason: "it isn't written over",
			want: []directory.Located{located("a")}, live: []v1alpha1.ClusterRegoPolicy{inCluster("a", unowned)},
			plan: result{Unclaimed: "kubectl annotate rego a evenkeel.dev/adopt=evenkeel-system/hats"}},
		"another source's policy of that name": {reason: "two sources never fight over one",
			want: []directory.Located{located("a")}, live: []v1alpha1.ClusterRegoPolicy{inCluster("a", ofCaps)},
			plan: result{Unclaimed: "belongs to PolicySource evenkeel-system/caps"}},
		"an unowned policy that may be adopted": {reason: "whoever owns it has said so",
			want: []directory.Located{located("a")},
			live: []v1alpha1.ClusterRegoPolicy{inCluster("a", unowned, adopted)},
			plan: result{Changed: []string{"a"}}},
		"another source's policy that may be adopted": {reason: "it changes hands",
			want: []directory.Located{located("a")},
			live: []v1alpha1.ClusterRegoPolicy{inCluster("a", ofCaps, adopted)},
			plan: result{Changed: []string{"a"}}},
		"labels that somebody took off": {reason: "the source held it before",
			want: []directory.Located{located("a")}, live: []v1alpha1.ClusterRegoPolicy{inCluster("a", unowned)},
			inventory: []string{"a"},
			plan:      result{Changed: []string{"a"}}},
		"a policy that another source took, held before": {reason: "the other one's label counts",
			want: []directory.Located{located("a")}, live: []v1alpha1.ClusterRegoPolicy{inCluster("a", ofCaps)},
			inventory: []string{"a"},
			plan:      result{Unclaimed: "belongs to PolicySource evenkeel-system/caps"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want, _ := objectsOf(tc.want, nil)
			p, err := changesOf(want, pointers(tc.live), hats, tc.inventory)
			if err != nil {
				t.Fatal(err)
			}
			var got result
			made, changed, removed := p.refs()
			got.Made, got.Changed, got.Removed = names(made), names(changed), names(removed)
			if len(p.unclaimed) > 0 && strings.Contains(p.unclaimed[0].Message, tc.plan.Unclaimed) {
				got.Unclaimed = tc.plan.Unclaimed
			}
			if diff := cmp.Diff(tc.plan, got); diff != "" || (len(p.unclaimed) > 0) != (tc.plan.Unclaimed != "") {
				t.Errorf("%s (-want +got):\n%s%v", tc.reason, diff, p.unclaimed)
			}
		})
	}
}

// names are those of objects, nil for none.
func names(refs []ref) []string {
	if len(refs) == 0 {
		return nil
	}
	return namesOf(refs)
}

// TestChangesOfStrategies: a strategy of nobody's, or of another source's, is never written over, also where its
// name was the source's once.
func TestChangesOfStrategies(t *testing.T) {
	wanted := func(name string) directory.Strategy {
		return directory.Strategy{File: "policies/strategies.yaml", Definition: &v1alpha1.RemediationStrategy{
			ObjectMeta: metav1.ObjectMeta{Name: name}}}
	}
	live := func(name string, of *owner) v1alpha1.RemediationStrategy {
		s := v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			v1alpha1.AnnotationSourcePath: "policies", v1alpha1.AnnotationSourceRevision: "main@sha1:1"}}}
		if of != nil {
			s.Labels = of.labels()
		}
		return s
	}
	caps := owner{"evenkeel-system", "caps"}
	_, want := objectsOf(nil, []directory.Strategy{wanted("new"), wanted("same"), wanted("nobodys"), wanted("theirs")})
	p, err := changesOf(want, pointers([]v1alpha1.RemediationStrategy{live("same", &hats), live("nobodys", nil),
		live("theirs", &caps), live("gone", &hats), live("other", &caps)}), hats, nil)
	if err != nil {
		t.Fatal(err)
	}
	made, changed, removed := p.refs()
	got := [][]string{names(made), names(changed), names(removed)}
	if diff := cmp.Diff([][]string{{"strategy new"}, nil, {"strategy gone"}}, got); diff != "" {
		t.Errorf("made, changed, removed: -want +got\n%s", diff)
	}
	var unclaimed []string
	for _, problem := range p.unclaimed {
		unclaimed = append(unclaimed, problem.Message)
	}
	says := strings.Join(unclaimed, "\n")
	if len(unclaimed) != 2 || !strings.Contains(says, "strategy nobodys exists and comes from no source") ||
		!strings.Contains(says, "kubectl annotate remstrategy theirs evenkeel.dev/adopt=evenkeel-system/hats") {
		t.Errorf("unclaimed: %s", says)
	}
}
