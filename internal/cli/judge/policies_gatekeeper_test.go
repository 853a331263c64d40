// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
)

const (
	theirTemplate = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: named}
spec:
  crd: {spec: {names: {kind: Named}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package named

      violation[{"msg": "name its team"}] { not input.review.object.metadata.labels.team }
---
`
	theirConstraint = `apiVersion: constraints.gatekeeper.sh/v1beta1
kind: Named
metadata: {name: named-services}
spec:
  enforcementAction: deny
  match: {kinds: [{apiGroups: [""], kinds: [Service]}]}
---
`
	onServices   = `{kinds: [{apiGroups: [""], kinds: [Service]}]}`
	theirLeftOut = `apiVersion: constraints.gatekeeper.sh/v1beta1
kind: Named
metadata: {name: named-web}
spec: {match: {name: web-*, kinds: [{apiGroups: [""], kinds: [Service]}]}}
---
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: assigned}
---
apiVersion: config.gatekeeper.sh/v1alpha1
kind: Config
metadata: {name: config}
---
apiVersion: test.gatekeeper.sh/v1alpha1
kind: Suite
metadata: {name: tests}
`
	serviceOfNobody = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n"
)

// writeAll writes files below a directory of the test's.
func writeAll(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFolderOfGatekeepersIsJudgedByAsItIs gives check templates and constraints, in one path or two.
func TestAFolderOfGatekeepersIsJudgedByAsItIs(t *testing.T) {
	library, err := filepath.Abs(commandline.Library)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		files map[string]string
		args  []string
		code  int
		// says are in the output or the messages, and silent is in neither.
		says   []string
		silent string
	}{
		"one folder": {files: map[string]string{"gk/all.yaml": theirTemplate + theirConstraint},
			args: []string{"-p", "gk"}, code: command.ExitFailed,
			says: []string{"name its team", "named-services"}, silent: "left out"},
		"a folder each": {files: map[string]string{"t/t.yaml": theirTemplate, "c/c.yaml": theirConstraint},
			args: []string{"-p", "c", "-p", "t"}, code: command.ExitFailed, says: []string{"name its team"},
			silent: "left out"},
		"what can't be taken is told at its line": {
			files: map[string]string{"gk/all.yaml": theirTemplate + theirConstraint + theirLeftOut},
			args:  []string{"-p", "gk"}, code: command.ExitFailure,
			says: []string{"name its team",
				"not everything was judged: of Named/named-web no policy can be made, see the warnings; " +
					"to accept that: --skip named-web",
				"warning: gk/all.yaml:20: Named/named-web is left out: match.name \"web-*\": choose objects by a label",
				"warning: gk/all.yaml:25: Assign/assigned is left out: Evenkeel doesn't change requests",
				"note: gk/all.yaml:29: Config/config is left out: it sets Gatekeeper up"}, silent: "Suite"},
		"what can't be taken and is skipped": {
			files: map[string]string{"gk/all.yaml": theirTemplate + theirConstraint + theirLeftOut},
			args:  []string{"-p", "gk", "--skip", "named-web"}, code: command.ExitFailed,
			says: []string{"name its team", "Named/named-web is left out"}, silent: "not everything"},
		"what can't be taken and isn't asked for": {
			files: map[string]string{"gk/all.yaml": theirTemplate + theirConstraint + theirLeftOut},
			args:  []string{"-p", "gk", "--only", "named-services"}, code: command.ExitFailed,
			says: []string{"name its team"}, silent: "not everything"},
		"a template that doesn't compile": {
			files: map[string]string{"gk/all.yaml": theirTemplate + theirConstraint +
				strings.NewReplacer("named", "titled", "Named", "Titled", "labels.team", "labels.").Replace(
					theirTemplate+theirConstraint)},
			args: []string{"-p", "gk"}, code: command.ExitFailure,
			says: []string{"name its team", "of Titled/titled-services no policy can be made"}},
		"cluster-scoped kinds, and one of no known scope": {
			files: map[string]string{
				"gk/all.yaml":  theirTemplate + strings.Replace(theirConstraint, onServices, "{scope: Cluster}", 1),
				"svc/app.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: odd}\n",
				"svc/role.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n" +
					"metadata: {name: all}\n"},
			args: []string{"-p", "gk"}, code: command.ExitFailed,
			says: []string{"ClusterRole all", "name its team", "warning: gk/all.yaml:13: Named/named-services: " +
				"match.scope Cluster: whether Application.argoproj.io lives in namespaces isn't known, " +
				"so that it isn't judged"},
			silent: "left out"},
		"an entry of kinds of which there is no object": {
			files: map[string]string{"gk/all.yaml": theirTemplate + strings.Replace(theirConstraint, onServices,
				`{kinds: [{apiGroups: [""], kinds: [Service]}, {apiGroups: ["*"], kinds: [Rollout]}]}`, 1)},
			args: []string{"-p", "gk"}, code: command.ExitFailed, says: []string{"name its team"}, silent: "left out"},
		"kinds of which there is no object": {
			files: map[string]string{"gk/all.yaml": theirTemplate + strings.Replace(theirConstraint, onServices,
				`{kinds: [{apiGroups: ["*"], kinds: [Rollout]}, {apiGroups: [example.com], kinds: ["*"]}]}`, 1)},
			args: []string{"-p", "gk"}, code: 0, says: []string{"0 violations"}, silent: "left out"},
		"nothing can be taken": {files: map[string]string{"gk/all.yaml": theirTemplate + theirLeftOut},
			args: []string{"-p", "gk"}, code: command.ExitFailure,
			says: []string{"Named/named-web is left out", "no policy can be made"}},
		"a constraint without its template": {files: map[string]string{"gk/c.yaml": theirConstraint},
			args: []string{"-p", "gk"}, code: command.ExitFailure,
			says: []string{"no ConstraintTemplate for kind Named", "no policy can be made"}},
		"a constraint on every kind": {
			files: map[string]string{"gk/all.yaml": theirTemplate + strings.Replace(theirConstraint,
				"{kinds: [{apiGroups: [\"\"], kinds: [Service]}]}", "{scope: Namespaced}", 1),
				"svc/thing.yaml": "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: odd, namespace: shop}\n",
				"svc/role.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n" +
					"metadata: {name: all}\n"},
			args: []string{"-p", "gk"}, code: command.ExitFailed,
			says: []string{"Thing", "odd", "Service", "name its team"}, silent: "ClusterRole"},
		"beside Evenkeel's own": {
			files: map[string]string{"gk/all.yaml": theirTemplate + theirConstraint},
			args:  []string{"-p", library, "-p", "gk", "--only", "named-services"}, code: command.ExitFailed,
			says: []string{"name its team"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.files["svc/service.yaml"] = serviceOfNobody
			writeAll(t, tc.files)
			out, message, code := commandline.Invoke(t, newCheckCommand(), append(tc.args, "svc")...)
			if code != tc.code {
				t.Errorf("code %d, want %d", code, tc.code)
			}
			for _, part := range tc.says {
				if !strings.Contains(out+message, part) {
					t.Errorf("it doesn't say %q:\n%s%s", part, out, message)
				}
			}
			if tc.silent != "" && strings.Contains(out+message, tc.silent) {
				t.Errorf("it says %q:\n%s%s", tc.silent, out, message)
			}
		})
	}
}

// TestFixSaysWhatItHadNoPolicyOf ends as check does where no policy can be made of a constraint.
func TestFixSaysWhatItHadNoPolicyOf(t *testing.T) {
	writeAll(t, map[string]string{"gk/all.yaml": theirTemplate + theirConstraint + theirLeftOut,
		"svc/good.yaml": strings.Replace(serviceOfNobody, "namespace: shop", "namespace: shop, labels: {team: a}", 1)})
	for skip, want := range map[string]int{"": command.ExitFailure, "named-web": 0, "Named/named-web": 0} {
		args := []string{"-p", "gk", "svc"}
		if skip != "" {
			args = append(args, "--skip", skip)
		}
		if out, message, code := commandline.Invoke(t, newFixCommand(), args...); code != want ||
			(want == 0) == strings.Contains(message, "of Named/named-web no policy can be made") {
			t.Errorf("--skip %q: code %d (%s):\n%s", skip, code, message, out)
		}
	}
}

// TestWhatOtherKindsThereMayBeIsTold asks for the permissions of a constraint on every kind: no object and no cluster
// tells which there are.
func TestWhatOtherKindsThereMayBeIsTold(t *testing.T) {
	writeAll(t, map[string]string{"gk/all.yaml": theirTemplate + strings.Replace(theirConstraint,
		"{kinds: [{apiGroups: [\"\"], kinds: [Service]}]}", "{scope: Cluster}", 1)})
	out, _, code := commandline.Invoke(t, newRBACCommand(), "-p", "gk", "--offline")
	for _, part := range []string{"clusterrolebindings",
		"note: gk/all.yaml:13: Named/named-services: Gatekeeper judges whatever kind there is"} {
		if code != 0 || !strings.Contains(out, part) {
			t.Errorf("code %d, and it doesn't say %q:\n%s", code, part, out)
		}
	}
}
