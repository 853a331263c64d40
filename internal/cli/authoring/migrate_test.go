// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/judge"
	"evenkeel.dev/evenkeel/test/commandline"
)

const gatekeeperFiles = `apiVersion: templates.gatekeeper.sh/v1
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
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: Named
metadata: {name: named-services}
spec:
  match: {kinds: [{apiGroups: [""], kinds: [Service]}]}
`

func TestMigrateGatekeeperWritesPoliciesThatWork(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"in/all.yaml":      gatekeeperFiles,
		"svc/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, message, code := commandline.Invoke(t, newMigrateCommand(), "gatekeeper", "in", "-o", "out", "--owner", "team")
	if code != 0 || !strings.Contains(out, "2 migrated, 0 need work, 0 skipped\n") ||
		!strings.Contains(out, "Named/named-services") {
		t.Fatalf("code %d (%s), output\n%s", code, message, out)
	}
	if !strings.Contains(out, "https://example.com/runbooks/NAME and Medium") {
		t.Errorf("the defaults aren't told:\n%s", out)
	}
	if out, message, code := commandline.Invoke(t, commandline.Named(t, judge.Commands(), "check"), "-p", "out",
		"svc"); code != command.ExitFailed || !strings.Contains(out, "name its team") {
		t.Errorf("check by the policies: code %d (%s), output\n%s", code, message, out)
	}
	if _, message, code := commandline.Invoke(t, newMigrateCommand(), "gatekeeper", "in", "-o",
		"out"); code != command.ExitFailure || !strings.Contains(message, "out/templates/named.yaml is there already") {
		t.Errorf("a second time: code %d, message %q", code, message)
	}
	if _, message, code := commandline.Invoke(t, newMigrateCommand(), "gatekeeper", "in", "-o", "out",
		"--force"); code != 0 {
		t.Errorf("with --force: code %d (%s)", code, message)
	}
}

func TestMigrateGatekeeperIsAFilter(t *testing.T) {
	cmd := newMigrateCommand()
	cmd.SetIn(strings.NewReader(
		gatekeeperFiles + "---\napiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: a}\n"))
	out, _, code := commandline.Invoke(t, cmd, "gatekeeper", "-")
	if code != command.ExitFailed {
		t.Errorf("code %d, want %d: one needs work", code, command.ExitFailed)
	}
	for _, part := range []string{"kind: RegoTemplate\n", "kind: ClusterRegoPolicy\n", "name: named-services\n",
		"Assign/a", "needs work", "2 migrated, 1 need work, 0 skipped"} {
		if !strings.Contains(out, part) {
			t.Errorf("output has no %q:\n%s", part, out)
		}
	}
}

func TestMigrateRefusesWrongUse(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
	}{
		"no path":              {[]string{"gatekeeper"}, command.ExitUsage},
		"another tool":         {[]string{"kyverno", "x"}, command.ExitUsage},
		"an unknown severity":  {[]string{"gatekeeper", "--severity", "Huge", "x"}, command.ExitUsage},
		"a runbook of no web":  {[]string{"gatekeeper", "--runbook", "wiki", "x"}, command.ExitUsage},
		"a directory of other": {[]string{"gatekeeper", commandline.Library}, command.ExitFailure},
	} {
		t.Run(name, func(t *testing.T) {
			if _, message, code := commandline.Invoke(t, newMigrateCommand(), tc.args...); code != tc.code ||
				message == "" {
				t.Errorf("code %d, message %q, want code %d", code, message, tc.code)
			}
		})
	}
}
