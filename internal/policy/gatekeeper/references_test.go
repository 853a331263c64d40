// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

func TestReferencesOfATemplate(t *testing.T) {
	const byVersion = `other := data.inventory.namespace[ns][version]["Ingress"][name]`
	config := []syncedKind{{Version: "v1", Kind: "Service"}}
	const ingressOf = `data.inventory.namespace[_]["networking.k8s.io/%s"].Ingress[_]` + "\n"
	cases := map[string]struct {
		reason, rego, annotation string
		synced                   []syncedKind
		want                     []v1alpha1.ReferencedKind
		why                      string
	}{
		"what the text names": {"it is exact", `other := data.inventory.namespace[ns]["apps/v1"]["Deployment"][name]`, "", config,
			[]v1alpha1.ReferencedKind{{APIGroup: "apps", Version: "v1", Kind: "Deployment"}}, ""},
		"of the cluster": {"and of the core group", `data.inventory.cluster.v1.Namespace[name]`, "", nil,
			[]v1alpha1.ReferencedKind{{Version: "v1", Kind: "Namespace"}}, ""},
		"the annotation": {"the text has a version that is computed; extensions isn't served any more", byVersion,
			`"[[{"groups":["extensions"],"versions":["v1beta1"],"kinds":["Ingress"]},
{"groups":["networking.k8s.io"],"versions":["v1beta1","v1"],"kinds":["Ingress"]}]]"`, config,
			[]v1alpha1.ReferencedKind{{APIGroup: "networking.k8s.io", Kind: "Ingress"}}, ""},
		"the annotation of two groups": {"one of them isn't served", byVersion,
			`[[{"groups":["extensions","networking.k8s.io"],"versions":["v1"],"kinds":["Ingress"]}]]`, nil,
			[]v1alpha1.ReferencedKind{{APIGroup: "networking.k8s.io", Version: "v1", Kind: "Ingress"}}, ""},
		"what the text names, and what the annotation does": {"one lookup tells its kind, another doesn't",
			byVersion + "\n" + `data.inventory.cluster.v1.Namespace[_]`,
			`[[{"groups":["networking.k8s.io"],"versions":["v1"],"kinds":["Ingress"]}]]`, nil,
			[]v1alpha1.ReferencedKind{{Version: "v1", Kind: "Namespace"},
				{APIGroup: "networking.k8s.io", Version: "v1", Kind: "Ingress"}}, ""},
		"what the text names, and what is replicated": {"likewise", byVersion + "\n" + `data.inventory.cluster.v1.Namespace[_]`,
			"", config,
			[]v1alpha1.ReferencedKind{{Version: "v1", Kind: "Namespace"}, {Version: "v1", Kind: "Service"}}, ""},
		"what the text names, and nothing more": {"the other lookup would find nothing",
			byVersion + "\n" + `data.inventory.cluster.v1.Namespace[_]`, "", nil, nil, "requires-sync-data"},
		"a version that is removed": {"the other one has all that there is",
			fmt.Sprintf(ingressOf+ingressOf, "v1", "v1beta1") +
				`data.inventory.namespace[_]["extensions/v1beta1"].Ingress[_]`, "", nil,
			[]v1alpha1.ReferencedKind{{APIGroup: "networking.k8s.io", Version: "v1", Kind: "Ingress"}}, ""},
		"nothing but a version that is removed": {"it is told", fmt.Sprintf(ingressOf, "v1beta1"), "", nil,
			[]v1alpha1.ReferencedKind{{APIGroup: "networking.k8s.io", Version: "v1beta1", Kind: "Ingress"}}, ""},
		"what is replicated": {"nothing else tells", byVersion, "", config,
			[]v1alpha1.ReferencedKind{{Version: "v1", Kind: "Service"}}, ""},
		"nothing tells":                 {"", byVersion, "", nil, nil, "requires-sync-data"},
		"an annotation that is no JSON": {"", byVersion, "[[", nil, nil, "can't be read"},
		"Secrets":                       {"no policy may keep them", `data.inventory.namespace[ns].v1.Secret[name]`, "", nil, nil, "Secrets"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rego := "package a\n\nviolation[{\"msg\": name}] {\n" + tc.rego + "\n}"
			used, err := facts.MentionsOf([]v1alpha1.RegoLibrary{{Name: "a.rego", Source: rego}}, v1alpha1.RegoV0)
			if err != nil {
				t.Fatal(err)
			}
			template := &constraintTemplate{}
			template.Metadata.Annotations = map[string]string{requiresSync: tc.annotation}
			looks := template.references(used, tc.synced)
			got, why := looks.kinds, looks.why
			if removed := strings.Count(tc.rego, "v1beta1"); len(looks.notes) != removed {
				t.Errorf("notes are %q, want %d", looks.notes, removed)
			}
			diff := cmp.Diff(tc.want, got)
			if diff != "" || (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
				t.Errorf("why: %q, -want +got:\n%s%s", why, diff, tc.reason)
			}
		})
	}
}
