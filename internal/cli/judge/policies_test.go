// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/connect"
)

// --cluster meant the policies in force once. An old script must not go on by other rules:
// "fix --cluster --dry-run deploy/" would write the files.
func TestAClusterThatNobodyWouldAskIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster          string
		offline, inForce bool
		want             string
	}{
		"a switch taken for a name": {
			cluster: "--dry-run", offline: true, want: `--cluster "--dry-run" names a cluster`},
		"a path taken for a name":        {cluster: "deploy/", offline: true, want: "add --in-force"},
		"nothing is named":               {offline: true},
		"the cluster is asked":           {cluster: "prod", offline: true, inForce: true},
		"a command that asks one anyway": {cluster: "prod"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := genericclioptions.NewConfigFlags(true)
			*flags.ClusterName = tc.cluster
			c := policyChoice{offline: tc.offline, cluster: tc.inForce, connection: &connect.Flags{ConfigFlags: flags}}
			err := c.asksWhatIsNamed()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// A policy that can't come into force asks for no permission, and keeps those of the others from nobody.
func TestWhatIsNotInForceIsLeftOutWhereThatIsTold(t *testing.T) {
	fine, orphan := &v1alpha1.ClusterRegoPolicy{}, &v1alpha1.ClusterRegoPolicy{}
	fine.Name, orphan.Name = "fine", "orphan"
	fine.Spec.Match.Resources = []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
	orphan.Spec.Match = fine.Spec.Match
	fine.Spec.Rego.Main = "package p\n\ndeny contains \"x\"\n"
	orphan.Spec.TemplateRef = &v1alpha1.TemplateReference{Name: "nowhere"}
	var left []string
	tells := func(err error) { left = append(left, err.Error()) }
	for name, tc := range map[string]struct {
		choice  policyChoice
		wantErr bool
	}{
		"of the cluster, where it is told":    {choice: policyChoice{cluster: true, leftOut: tells}},
		"of the cluster, where nobody is":     {choice: policyChoice{cluster: true}, wantErr: true},
		"of files, which are somebody's work": {choice: policyChoice{leftOut: tells}, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			left = nil
			set := &policySet{}
			set.add(fine, orphan)
			got, err := tc.choice.enforce(set)
			if (err != nil) != tc.wantErr {
				t.Fatalf("error %v", err)
			}
			if err == nil && (len(got.Policies()) != 1 || len(left) != 1 ||
				!strings.Contains(left[0], "policy orphan: ")) {
				t.Errorf("in force: %v, left out: %v", got.Policies(), left)
			}
		})
	}
}
