// SPDX-License-Identifier: Apache-2.0

package fix_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check/fix"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// hostPIDs takes the host's processes from Pods, and from the templates of them.
const hostPIDs = `package a

import rego.v1

deny contains {"msg": "hostPID", "path": "/spec/hostPID"} if input.pod.spec.hostPID

remediation contains {"action": "patch", "ops": [{"op": "remove", "path": "/spec/hostPID"}]} if {
	input.pod.spec.hostPID
}
`

// TestNoOwnerIsFixedInstead: anybody may write an owner reference into a manifest, and once the owner is fixed, it
// answers for nothing in a check.
func TestNoOwnerIsFixedInstead(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  ownerReferences:\n" +
		"  - {apiVersion: apps/v1, kind: ReplicaSet, name: x, uid: \"1\", controller: true}\n" +
		"spec:\n  hostPID: true\n  nodeName: a\n"
	const replicaSet = "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata:\n  name: x\n" +
		"spec:\n  template:\n    spec:\n      hostPID: true\n      nodeName: a\n"
	tests := map[string]struct {
		reason, text string
		changes      []string
	}{
		"alone": {"nothing else is fixed in its place", pod, []string{"<stdin>:8 p: remove /spec/hostPID"}},
		"beside its owner": {"both are", pod + replicaSet,
			[]string{"<stdin>:8 p: remove /spec/hostPID", "<stdin>:18 p: remove /spec/template/spec/hostPID"}},
		"beside another": {"that isn't the owner", pod + strings.Replace(replicaSet, "name: x", "name: other", 1),
			[]string{"<stdin>:8 p: remove /spec/hostPID", "<stdin>:18 p: remove /spec/template/spec/hostPID"}},
	}
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.RegoPolicySpec{
		Severity: v1alpha1.SeverityLow, Rego: v1alpha1.RegoSource{File: "a.rego", Main: hostPIDs},
		Match: v1alpha1.Match{
			Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}},
	}}
	p.SetDefaults()
	policies := catalog.New(catalog.Options{})
	if err := policies.Set(p); err != nil {
		t.Fatal(err)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			documents, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(tc.text),
				manifest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			report, err := fix.Run(t.Context(), policies.Snapshot(), documents,
				map[string][]byte{manifest.Stdin: []byte(tc.text)}, fix.Options{Now: at(), Namespace: "default"})
			if err != nil {
				t.Fatal(err)
			}
			var changes []string
			for _, change := range report.Changes {
				changes = append(changes, change.String())
			}
			if diff := cmp.Diff(tc.changes, changes); diff != "" || len(report.Left) > 0 {
				t.Errorf("%s: left %v, changes (-want +got):\n%s", tc.reason, report.Left, diff)
			}
		})
	}
}
