// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/test/commandline"
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
		"a name as EKS gives them":       {cluster: "arn:aws:eks:eu-west-1:1:cluster/prod"},
		"a switch taken for a name by a command that asks": {
			cluster: "--diff", want: `took "--diff" for its name: for the policies in force there give --in-force`},
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

// TestAnOldScriptIsToldOfInForce: --cluster takes a value now, which is whatever stands behind it.
func TestAnOldScriptIsToldOfInForce(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"check", "--cluster"}, {"check", "--cluster", dir}, {"fix", "--cluster", dir},
		{"scan", "--cluster", "-n", "shop"}, {"scan", "--cluster"}, {"rbac", "--cluster"},
		{"rbac", "--cluster", "--offline"}} {
		_, message, code := commandline.Invoke(t, commandline.Named(t, Commands(), args[0]), args[1:]...)
		if code != command.ExitUsage || !strings.Contains(message, "--cluster names a cluster of the kubeconfig") ||
			!strings.Contains(message, "for the policies in force there give --in-force") {
			t.Errorf("%v: code %d, %s", args, code, message)
		}
	}
	if _, message, _ := commandline.Invoke(t, newCheckCommand(), "--in-force"); strings.Contains(message, "--cluster") {
		t.Errorf("nobody named a cluster: %s", message)
	}
}

// TestRBACRefusesAClusterThatIsNotThere: the roles of another would look as good.
func TestRBACRefusesAClusterThatIsNotThere(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	out, message, code := commandline.Invoke(t, newRBACCommand(), "--cluster", "prod")
	if code != command.ExitUsage || !strings.Contains(message, `cluster "prod" does not exist`) ||
		strings.Contains(out, "kind: ") {
		t.Errorf("code %d, %s\n%s", code, message, out)
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
