// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/judge"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/prose"
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
	out, message, code := commandline.Invoke(t, NewCommand(), "gatekeeper", "in", "-o", "out", "--owner", "team")
	if code != 0 || !strings.Contains(out, "2 migrated, 0 need work, 0 skipped\n") ||
		!strings.Contains(out, "Named/named-services") {
		t.Fatalf("code %d (%s), output\n%s", code, message, out)
	}
	if !strings.Contains(out, "the policies have team, no runbook and Medium") {
		t.Errorf("the defaults aren't reported:\n%s", out)
	}
	if text, err := os.ReadFile("out/named-services.yaml"); err != nil || strings.Contains(string(text), "runbookURL") {
		t.Errorf("the policy has a runbookURL that nobody gave: %v\n%s", err, text)
	}
	if out, message, code := commandline.Invoke(t, commandline.Named(t, judge.Commands(), "check"), "-p", "out",
		"svc"); code != command.ExitFailed || !strings.Contains(out, "name its team") {
		t.Errorf("check by the policies: code %d (%s), output\n%s", code, message, out)
	}
	if _, message, code := commandline.Invoke(t, NewCommand(), "gatekeeper", "in", "-o",
		"out"); code != command.ExitFailure || !strings.Contains(message, "out/templates/named.yaml is there already") {
		t.Errorf("a second time: code %d, message %q", code, message)
	}
	if _, message, code := commandline.Invoke(t, NewCommand(), "gatekeeper", "in", "-o", "out",
		"--force"); code != 0 {
		t.Errorf("with --force: code %d (%s)", code, message)
	}
}

// TestOperationsOfTheWebhookAreGiven has no configuration of the webhook among the files.
func TestOperationsOfTheWebhookAreGiven(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("all.yaml", []byte(gatekeeperFiles), 0o600); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]struct {
		code int
		text string
	}{
		"CREATE,UPDATE,DELETE": {0, "operations: - CREATE - UPDATE - DELETE"},
		"delete":               {0, "operations: - DELETE"},
		"DELETED":              {command.ExitUsage, `"DELETED" isn't an admission operation`},
		"":                     {command.ExitUsage, "must name what the webhook is asked about"},
	} {
		out, message, code := commandline.Invoke(t, NewCommand(), "gatekeeper", "all.yaml", "--operations", given)
		if code != want.code || !strings.Contains(strings.Join(strings.Fields(out+message), " "), want.text) {
			t.Errorf("%q: code %d (%s), output\n%s", given, code, message, out)
		}
	}
	out, _, _ := commandline.Invoke(t, NewCommand(), "gatekeeper", "all.yaml")
	if strings.Contains(out, "operations:") {
		t.Errorf("the default is written:\n%s", out)
	}
}

// TestMigrateGatekeeperWritesEachTemplateToItsOwnFile has templates whose names aren't such as files, and objects, may
// have, or are taken.
func TestMigrateGatekeeperWritesEachTemplateToItsOwnFile(t *testing.T) {
	second := strings.NewReplacer("kind: Named", "kind: Titled", "named-services", "titled-services",
		"package named", "package titled", "name its team", "give it a title").Replace(gatekeeperFiles)
	for name, tc := range map[string]struct {
		text, says string
		files      []string
	}{
		"a name that leads out of the directory": {strings.Replace(gatekeeperFiles, "{name: named}",
			"{name: ../../evil}", 1), `the name "../../evil" can't be a template's`, nil},
		"no name": {strings.Replace(gatekeeperFiles, "{name: named}", "{}", 1), `the name "" can't be a template's`,
			nil},
		"a name that another kind's template has": {gatekeeperFiles + "---\n" + second,
			"ConstraintTemplate named of kind Named has its name: rename one of them",
			[]string{"named-services.yaml", "templates/named.yaml"}},
		"the same template twice": {gatekeeperFiles + "---\n" + strings.Split(gatekeeperFiles, "---\n")[0],
			"two ConstraintTemplates are named named: leave one of them out",
			[]string{"named-services.yaml", "templates/named.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.MkdirAll("sub", 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("in.yaml", []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, message, code := commandline.Invoke(t, NewCommand(), "gatekeeper", "in.yaml", "-o", "sub/out",
				"--force")
			if code != command.ExitFailed || !strings.Contains(out, tc.says) {
				t.Errorf("code %d (%s), want %d and %q, output\n%s", code, message, command.ExitFailed, tc.says, out)
			}
			var files []string
			err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
				if name, in := strings.CutPrefix(path, "sub/out/"); err == nil && !entry.IsDir() && path != "in.yaml" {
					if files = append(files, name); !in {
						t.Errorf("%s is written", path)
					}
				}
				return err
			})
			if diff := cmp.Diff(tc.files, files); diff != "" || err != nil {
				t.Errorf("files (-want +got):\n%s%v", diff, err)
			}
			for _, file := range files {
				if text, err := os.ReadFile(filepath.Join("sub/out", file)); err != nil ||
					strings.Contains(string(text), "give it a title") {
					t.Errorf("%s has the second's rule (%v):\n%s", file, err, text)
				}
			}
		})
	}
}

func TestNoFileIsWrittenTwice(t *testing.T) {
	item := gatekeeper.Item{Template: &v1alpha1.RegoTemplate{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}
	if _, err := files([]gatekeeper.Item{item, item}); err == nil ||
		!strings.Contains(err.Error(), "two objects would be written to templates/a.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestMigrateGatekeeperIsAFilter(t *testing.T) {
	cmd := NewCommand()
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
			if _, message, code := commandline.Invoke(t, NewCommand(), tc.args...); code != tc.code ||
				message == "" {
				t.Errorf("code %d, message %q, want code %d", code, message, tc.code)
			}
		})
	}
}

// TestConstraintsWriteNoLinesOfTheirOwn migrates what a pull request brings, where a CI system runs it.
func TestConstraintsWriteNoLinesOfTheirOwn(t *testing.T) {
	const own = `\n::error::own\e[31m##[stop-commands]own`
	t.Chdir(commandline.Folder(t, map[string]string{"in/all.yaml": gatekeeperFiles + "---\n" +
		`{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: "K` + own + `", metadata: {name: "::n` + own + `"}}` +
		"\n---\n" + `{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Named, metadata: {name: "::n` + own +
		`"}, spec: {match: {kinds: [{apiGroups: ["a` + own + `"], kinds: ["*"]}], name: "n` + own + `"}}}` +
		"\n---\n" + `{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: "::K", metadata: {name: n}}`}))
	out, message, code := commandline.Invoke(t, NewCommand(), "gatekeeper", "in", "-o", "out")
	if code == 0 {
		t.Errorf("nothing needs work")
	}
	commandline.NoCommands(t, out+prose.Lines(message))
}
