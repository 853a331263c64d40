// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"os"
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
	fine.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
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

// yamlOf is a policy that denies a ConfigMap of a name.
func yamlOf(name string) string {
	return `apiVersion: evenkeel.dev/v1alpha1
kind: ClusterRegoPolicy
metadata: {name: ` + name + `}
spec:
  title: T
  match: {kinds: [{apiGroups: [""], kinds: [ConfigMap]}]}
  rego:
    main: |
      package p

      import rego.v1

      deny contains "it is ` + name + `" if input.object.metadata.name == "` + name + `"
`
}

func regoOf(name string) string {
	return `# METADATA
# title: T
# custom:
#   id: ` + name + `
#   match: {kinds: [{apiGroups: [""], kinds: [ConfigMap]}]}
package ` + name + `

import rego.v1

deny contains "no" if input.object.metadata.name == "` + name + `"
`
}

// TestNothingInAPolicyFolderIsLeftOutInSilence: the manifest violates what isn't read of each folder, and a check of it
// by the rest would end well.
func TestNothingInAPolicyFolderIsLeftOutInSilence(t *testing.T) {
	const template = "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {name: t}\n"
	misspelt := func(from, to string) string { return strings.Replace(yamlOf("bad"), from, to, 1) }
	for name, tc := range map[string]struct {
		files map[string]string
		link  string
		code  int
		says  string
	}{
		"a link to a directory": {link: "team", files: map[string]string{"elsewhere/bad.yaml": yamlOf("bad")},
			says: "skipped p/team: it is a link to a directory"},
		"a chart": {files: map[string]string{"p/c/bad.yaml": yamlOf("bad"), "p/c/Chart.yaml": "name: c\n"},
			says: "skipped p/c: it is a Helm chart, which holds templates: give by -p what it renders to"},
		"kustomizations": {files: map[string]string{"p/a/kustomization.yaml": "a: b", "p/b/kustomization.yml": "a: b",
			"elsewhere/bad.yaml": yamlOf("bad")}, says: "skipped p/a/kustomization.yaml and 1 more: kustomize reads"},
		"no object": {files: map[string]string{"p/values.yaml": "a: b", "elsewhere/bad.yaml": yamlOf("bad")},
			says: "skipped p/values.yaml:1: it isn't a Kubernetes object"},
		"other files": {files: map[string]string{"p/README.md": "# -", "p/.github/w.yaml": "on: push",
			"elsewhere/bad.yaml": yamlOf("bad")}},
		"a kind misspelt": {files: map[string]string{"p/bad.yaml": misspelt("RegoPolicy", "RegoPolcy")},
			code: command.ExitFailure,
			says: `p/bad.yaml:2: evenkeel.dev/v1alpha1 has no kind "ClusterRegoPolcy"; did you mean ClusterRegoPolicy?`},
		"a kind of nobody's": {files: map[string]string{"p/bad.yaml": misspelt("ClusterRegoPolicy", "Thing")},
			code: command.ExitFailure, says: `p/bad.yaml:2: evenkeel.dev/v1alpha1 has no kind "Thing"`},
		"another version": {files: map[string]string{"p/bad.yaml": misspelt("v1alpha1", "v1")},
			code: command.ExitFailure,
			says: `p/bad.yaml:1: there is no "evenkeel.dev/v1"; did you mean evenkeel.dev/v1alpha1?`},
		"no version": {files: map[string]string{"p/bad.yaml": misspelt("/v1alpha1", "")},
			code: command.ExitFailure,
			says: `p/bad.yaml:1: there is no "evenkeel.dev"; did you mean evenkeel.dev/v1alpha1?`},
		"a group misspelt": {files: map[string]string{"p/bad.yaml": misspelt("evenkeel", "evenkeal")},
			code: command.ExitFailure,
			says: `p/bad.yaml:1: there is no "evenkeal.dev/v1alpha1"; did you mean evenkeel.dev/v1alpha1?`},
		"a kind that is no policy": {files: map[string]string{
			"p/o.yaml": "{apiVersion: evenkeel.dev/v1alpha1, kind: RemediationBreaker, metadata: {name: global}, " +
				"spec: {scope: {type: Global}}}",
			"elsewhere/bad.yaml": yamlOf("bad")}},
		"YAML among Rego": {files: map[string]string{"p/fine/fine.rego": regoOf("fine"), "p/bad.yaml": yamlOf("bad")},
			code: command.ExitFailure,
			says: "p/bad.yaml:1: it isn't read, since p holds Rego, and of such a folder only .rego is: " +
				"move this ClusterRegoPolicy out of it, and give its place by -p too"},
		"a waiver among Rego": {files: map[string]string{"p/fine/fine.rego": regoOf("fine"),
			"p/w.yaml": "{apiVersion: evenkeel.dev/v1alpha1, kind: ClusterWaiver, metadata: {name: w}}"},
			says: "skipped p/w.yaml:1: p holds Rego, and of such a folder only .rego is read: this ClusterWaiver " +
				"counts where its place is among the manifests, or given by -p too"},
		"what judges nothing among Rego": {files: map[string]string{"p/fine/fine.rego": regoOf("fine"),
			"p/s.yaml": "{apiVersion: evenkeel.dev/v1alpha1, kind: PolicySource, metadata: {name: s}}"}},
		"misspelt YAML among Rego": {files: map[string]string{"p/fine/fine.rego": regoOf("fine"),
			"p/bad.yaml": misspelt("v1alpha1", "v1")}, code: command.ExitFailure, says: "p/bad.yaml:1: it isn't read"},
		"Gatekeeper's among Rego": {files: map[string]string{"p/fine/fine.rego": regoOf("fine"),
			"p/t.yaml": template, "p/u.yaml": template},
			says: "skipped p/t.yaml:1 and 1 more: it isn't read, since p holds Rego"},
		"YAML among Rego that isn't valid": {files: map[string]string{"p/fine/fine.rego": regoOf("fine"),
			"p/bad.yaml": yamlOf("bad") + "\t"}, says: "skipped p/bad.yaml:"},
		"other YAML among Rego": {files: map[string]string{"p/fine/fine.rego": regoOf("fine"),
			"p/fine/examples.yaml": "- name: a\n  object: {}\n", "p/kustomization.yaml": "a: b"}},
		"a chart among Rego": {files: map[string]string{"p/fine/fine.rego": regoOf("fine"),
			"p/c/Chart.yaml": "name: c\n", "p/c/also/also.rego": regoOf("also"), "p/c/bad.yaml": yamlOf("bad")},
			says: "skipped p/c: it is a Helm chart"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, rego := tc.files["p/fine/fine.rego"]; !rego {
				tc.files["p/fine.yaml"] = yamlOf("fine")
			}
			tc.files["m.yaml"] = "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: shop}}"
			t.Chdir(commandline.Folder(t, tc.files))
			if tc.link != "" {
				if err := os.Symlink("../elsewhere", filepath.Join("p", tc.link)); err != nil {
					t.Fatal(err)
				}
			}
			out, message, code := commandline.Invoke(t, newCheckCommand(), "-p", "p", "m.yaml")
			if told := out + message; code != tc.code || !strings.Contains(told, tc.says) ||
				tc.says == "" && strings.Contains(told, "skipped") {
				t.Errorf("code %d, want %d, of which it says %q\n%s", code, tc.code, tc.says, told)
			}
		})
	}
}
