// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/cli/authoring"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/suite"
	"evenkeel.dev/evenkeel/policies"
	"evenkeel.dev/evenkeel/test/commandline"
)

const privilegedPod = `apiVersion: v1
kind: Pod
metadata: {name: debug, namespace: shop}
spec:
  containers:
  - name: shell
    image: registry.example.com/shell:1.0.0
    securityContext:
      privileged: yes
`

func TestCheckEndsWithTheCodeOfWhatItFound(t *testing.T) {
	dir := commandline.Folder(t, map[string]string{
		"bad.yaml":                     privilegedPod,
		"good.yaml":                    strings.Replace(privilegedPod, "yes", "no", 1),
		"broken/bad.yaml":              privilegedPod,
		"broken/twice.yaml":            "apiVersion: v1\nkind: Pod\nkind: Pod\n",
		"mixed/good.yaml":              strings.Replace(privilegedPod, "yes", "no", 1),
		"mixed/values.yaml":            "replicas: 3\n",
		"mixed/kustomization.yaml":     "resources: [good.yaml]\n",
		"mixed/.hidden/bad.yaml":       privilegedPod,
		"mixed/chart/Chart.yaml":       "apiVersion: v2\nname: c\n",
		"mixed/chart/templates/a.yaml": "{{ .Values }}",
		"mixed/notes.txt":              "no manifest",
		"waived/pod.yaml": privilegedPod + `---
apiVersion: evenkeel.dev/v1alpha1
kind: Waiver
metadata: {name: legacy, namespace: shop}
spec: {policies: [privileged-containers], match: {}, reason: debugging, expirationTime: "2999-01-01T00:00:00Z"}
`,
		"within.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nitems:\n- " +
			strings.ReplaceAll(strings.TrimSpace(privilegedPod), "\n", "\n  ") + "\n",
		"owned.yaml": strings.Replace(privilegedPod, "metadata: {", "metadata: {ownerReferences: "+
			"[{apiVersion: apps/v1, kind: ReplicaSet, name: x, uid: a, controller: true}], ", 1),
		"after.yaml":          "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\"}\n" + privilegedPod,
		"waived/expired.yaml": "",
		"empty/readme.md":     "",
		"mistaken/p.yaml": `apiVersion: evenkeel.dev/v1alpha1
kind: ClusterRegoPolicy
metadata: {name: mistaken}
spec:
  titel: It is misspelt
  severity: 3
  match:
    kinds:
    - kindz: [Pod]
      apiGroups: [""]
`,
		"refused/p.yaml": `apiVersion: evenkeel.dev/v1alpha1
kind: ClusterRegoPolicy
metadata: {name: p}
spec:
  severity: Hihg
  admission: {action: Dney}
  title: T
  rego: {main: "package p"}
  match: {kinds: [{apiGroups: [""], kinds: [Pod]}]}
`,
		"refused/q.yaml": `apiVersion: evenkeel.dev/v1alpha1
kind: ClusterRegoPolicy
metadata: {name: q}
spec:
  admission: {action: Deny}
  title: T
  rego: {main: "package q"}
  match: {kinds: [{apiGroups: [""], kinds: [Pod]}]}
`,
		"refused/r.yaml": "apiVersion: evenkeel.dev/v1alpha1\nkind: RemediationStrategy\n" +
			"metadata: {name: \"R\\n::error::x\"}\nspec: {}\n",
		"waivers/e.yaml": "apiVersion: evenkeel.dev/v1alpha1\nkind: Waiver\nmetadata: {name: a}\nspec: " +
			"{polices: [x]}\n",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	only := []string{"--only", "privileged-containers"}
	tests := map[string]struct {
		args []string
		code int
		// says is part of the output or the message.
		says []string
	}{
		"clean": {[]string{at("good.yaml")}, 0, []string{"1 object, 0 violations"}},
		"a violation": {
			[]string{at("bad.yaml")}, command.ExitFailed,
			[]string{"bad.yaml:9  Critical  privileged-containers", "policies are violated"}},
		"one that is an item of another kind": {
			[]string{at("within.yaml")}, command.ExitFailed, []string{"1 violation"}},
		"one that names an owner": {[]string{at("owned.yaml")}, command.ExitFailed, []string{"1 violation"}},
		"one after an object in JSON": {[]string{at("after.yaml")}, command.ExitFailure,
			[]string{"after.yaml:2: it isn't valid YAML: something follows the object"}},
		"a directory and a file of it": {[]string{dir + "/mixed", at("mixed/good.yaml")}, 0,
			[]string{"1 object, 0 violations", "skipped", "helm template", "kustomize build",
				"values.yaml:1: it isn't a Kubernetes object"}},
		"what can't be read": {
			[]string{at("broken")}, command.ExitFailure,
			[]string{"twice.yaml:3: it isn't valid YAML", "1 violation (1 Critical)"}},
		"what isn't there": {
			[]string{at("nowhere")}, command.ExitFailure, []string{"nowhere: it can't be read: no such file"}},
		"nothing at all": {
			[]string{at("empty")}, command.ExitFailure, []string{"no Kubernetes object was found"}},
		"a waiver beside it": {
			[]string{at("waived")}, 0, []string{"waived by Waiver shop/legacy until 2999", "1 waived"}},
		"a misspelt waiver": {
			[]string{at("waivers")}, command.ExitFailure, []string{"e.yaml:4: unknown field spec.polices: remove it, " +
				"or correct its spelling; did you mean spec.policies?"}},
		"a policy with mistakes": {
			[]string{at("shop"), "-p", at("mistaken")}, command.ExitFailure, []string{
				"p.yaml:5: unknown field spec.titel: remove it, or correct its spelling; did you mean spec.title?",
				"p.yaml:9: unknown field spec.match.kinds[0].kindz",
				"p.yaml:6: spec.severity: it is a number, and must be a text"}},
		"a policy that the API server wouldn't take": {
			[]string{at("shop"), "-p", at("refused")}, command.ExitFailure, []string{
				`p.yaml:5: spec.severity: Unsupported value: "Hihg": supported values: "Critical"`,
				`p.yaml:6: spec.admission.action: Unsupported value: "Dney": supported values: "Deny"`,
				`q.yaml:4: spec: Invalid value: owner is required once admission.action is Deny`,
				`r.yaml:3: metadata.name: Invalid value: "R\n::error::x"`}},
		"never failing": {[]string{at("bad.yaml"), "--fail-on", "never"}, 0, []string{"1 violation"}},
		"below the severity": {[]string{at("bad.yaml"), "--severity", "high", "--fail-on", "deny"},
			command.ExitFailed, nil},
		"a summary alone": {[]string{at("bad.yaml"), "--summary"}, command.ExitFailed,
			[]string{"POLICY                  WORST", "NAMESPACE   WORST",
				"VIOLATIONS   OBJECTS\nshop        Critical   1            1\n"}},
		"grouped": {[]string{at("bad.yaml"), "--group-by", "owner"}, command.ExitFailed,
			[]string{"OWNER", "bad.yaml:9  Critical"}},
		"a group that isn't there": {[]string{at("bad.yaml"), "--group-by", "namespaces"}, command.ExitUsage,
			[]string{"severity, policy, namespace, owner; did you mean namespace?"}},
		"a summary for programs": {[]string{at("bad.yaml"), "--summary", "-o", "json"}, command.ExitUsage,
			[]string{"are for -o table"}},
		"no path": {nil, command.ExitUsage, []string{"no PATH given"}},
		"an unknown format": {[]string{at("bad.yaml"), "-o", "xml"}, command.ExitUsage,
			[]string{"use one of github, json"}},
		"an unknown word to fail on": {[]string{at("bad.yaml"), "--fail-on", "x"}, command.ExitUsage,
			[]string{"deny, warn, audit or never"}},
		"an unknown severity": {[]string{at("bad.yaml"), "--severity", "x"}, command.ExitUsage,
			[]string{"Critical, High, Medium or Low"}},
		"a policy that isn't there": {[]string{at("bad.yaml"), "--skip", "x"}, command.ExitUsage,
			[]string{"there is no policy", "privileged-containers"}},
		"no policy left": {[]string{at("bad.yaml"), "--skip", "privileged-containers"}, command.ExitUsage,
			[]string{"no policy is left"}},
		"policies from nowhere": {[]string{at("bad.yaml"), "-p", at("nowhere")}, command.ExitUsage,
			[]string{"doesn't exist"}},
		"no policy in a directory": {[]string{at("bad.yaml"), "-p", at("mixed")}, command.ExitUsage,
			[]string{"it holds no policy"}},
		"two sources at once": {[]string{at("bad.yaml"), "-p", commandline.Library, "--in-force"},
			command.ExitUsage, []string{"exclude each other"}},
		"policies from a directory": {[]string{at("bad.yaml"), "-p", commandline.Library + "/security"},
			command.ExitFailed, []string{"privileged-containers"}},
		"a policy given twice": {
			[]string{at("bad.yaml"), "-p", commandline.Library, "-p", commandline.Library + "/security"},
			command.ExitUsage, []string{"two policies are named"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			out, message, code := commandline.Invoke(t, newCheckCommand(), append(tc.args, only...)...)
			if code != tc.code {
				t.Errorf("code %d, want %d: %s\n%s", code, tc.code, message, out)
			}
			for _, part := range tc.says {
				if !strings.Contains(out+message, part) {
					t.Errorf("nothing says %q:\n%s\n%s", part, out, message)
				}
			}
		})
	}
}

func TestCheckReadsPoliciesAsBuildWritesThem(t *testing.T) {
	built, message, code := commandline.Invoke(t, commandline.Named(t, authoring.Commands(), "build"),
		commandline.Library)
	if code != 0 {
		t.Fatal(message)
	}
	dir := commandline.Folder(t, map[string]string{"policies.yaml": built, "pod.yaml": privilegedPod})
	of := func(args ...string) any {
		out, message, code := commandline.Invoke(
			t, newCheckCommand(), append(args, "-o", "json", filepath.Join(dir, "pod.yaml"))...)
		if code != command.ExitFailed {
			t.Fatalf("code %d: %s", code, message)
		}
		var report struct{ Results any }
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatal(err)
		}
		return report.Results
	}
	embedded := of()
	if diff := cmp.Diff(embedded, of("-p", filepath.Join(dir, "policies.yaml"))); diff != "" {
		t.Errorf("the library in the binary and what build writes differ:\n%s", diff)
	}
	if diff := cmp.Diff(embedded, of("-p", commandline.Library)); diff != "" {
		t.Errorf("the library in the binary and its directory differ:\n%s", diff)
	}
}

// TestCheckJudgesTheLibrarysExamplesAsAdmission asks for each example's creation,
// as the webhook does, and checks it as a manifest.
func TestCheckJudgesTheLibrarysExamplesAsAdmission(t *testing.T) {
	snapshot, err := (&policyChoice{}).load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	tried, violations := 0, 0
	for _, example := range libraryExamples(t) {
		object := example.Object
		if object == nil || example.Operation == policy.Delete || example.NamespaceObject != nil {
			continue
		}
		tried++
		admission := policy.NewAudit(object, nil, now)
		admission.Audit = false
		admission.UserInfo = policy.UserInfo{Username: "jane"}
		want := map[string][]policy.Violation{}
		for _, r := range snapshot.Evaluate(t.Context(), admission) {
			if len(r.Violations)+len(r.Warnings) > 0 || r.Err != nil {
				want[r.Policy] = append(r.Violations, r.Warnings...)
			}
		}
		report, err := check.Run(t.Context(), snapshot, check.Each([]check.Subject{{Object: object}}),
			check.Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]policy.Violation{}
		for _, r := range report.Results {
			got[r.Policy.Name] = append(r.Violations, r.Warnings...)
			violations += len(r.Violations)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-admission +check):\n%s", example.Name, diff)
		}
	}
	if tried < 20 || violations < 20 {
		t.Errorf("%d examples with %d violations prove little", tried, violations)
	}
}

func libraryExamples(t *testing.T) []suite.Example {
	t.Helper()
	var all []suite.Example
	err := fs.WalkDir(policies.FS, ".", func(at string, _ fs.DirEntry, err error) error {
		if err != nil || path.Base(at) != suite.ExamplesFile {
			return err
		}
		text, err := fs.ReadFile(policies.FS, at)
		if err != nil {
			return err
		}
		var examples []suite.Example
		err = yaml.Unmarshal(text, &examples)
		all = append(all, examples...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCheckBeginsWithASummaryOfWhatNobodyReads: where, and by what, before the pages of it.
func TestCheckBeginsWithASummaryOfWhatNobodyReads(t *testing.T) {
	files := map[string]string{}
	for i := range 51 {
		files[fmt.Sprintf("%02d.yaml", i)] = strings.Replace(privilegedPod, "name: debug", fmt.Sprintf("name: d%d", i),
			1)
	}
	dir := commandline.Folder(t, files)
	out, _, _ := commandline.Invoke(t, newCheckCommand(), "--only", "privileged-containers", dir)
	if !strings.HasPrefix(out, "POLICY") || !strings.Contains(out, "50.yaml:9") {
		t.Errorf("51 findings don't begin with a summary:\n%s", out)
	}
	out, _, _ = commandline.Invoke(t, newCheckCommand(), "--only", "privileged-containers", "--summary", dir)
	if strings.Contains(out, ".yaml:9") || !strings.Contains(out, "51 objects, 51 violations") {
		t.Errorf("a summary alone is\n%s", out)
	}
	out, _, _ = commandline.Invoke(t, newCheckCommand(), "--only", "privileged-containers", dir+"/01.yaml")
	if strings.HasPrefix(out, "POLICY") {
		t.Errorf("a finding that is read at once begins with a summary:\n%s", out)
	}
}

// TestCheckSaysWhyNoFixIsShown: an author looks for the reason first.
func TestCheckSaysWhyNoFixIsShown(t *testing.T) {
	const contested = `# METADATA
# title: t
# custom:
#   id: %[1]s
#   match: {kinds: [{apiGroups: [""], kinds: [Pod]}]}
package %[1]s

import rego.v1

deny contains {"msg": "m", "path": "/metadata"} if %[2]s

remediation contains {"action": "patch", "ops": [{"op": %[3]q, "path": "/metadata/annotations", "value": {"a": "b"}}]} if {
	input.object.metadata.name == %[4]q
}
`
	const missing = "not input.object.metadata.annotations.a"
	tests := map[string]struct {
		reason string
		files  map[string]string
		want   string
	}{
		"no fix is proposed": {"for this object", map[string]string{
			"a/a.rego": fmt.Sprintf(contested, "a", missing, "add", "other")},
			"the policy offers no fix for it"},
		"a policy that only records contests it": {"check and fix say the same", map[string]string{
			"a/a.rego": fmt.Sprintf(contested, "a", missing, "add", "debug"),
			"b/b.rego": fmt.Sprintf(contested, "b", "input.object.metadata.annotations.a", "add", "other")},
			"the fixed object would violate policy b: m"},
		"a field is replaced that isn't there": {"RFC 6902, 4.3", map[string]string{
			"a/a.rego": fmt.Sprintf(contested, "a", missing, "replace", "debug")},
			"replace /metadata/annotations: nothing is there to be replaced: use add"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := commandline.Folder(t, tc.files)
			pod := filepath.Join(commandline.Folder(t, map[string]string{"pod.yaml": privilegedPod}), "pod.yaml")
			out, _, _ := commandline.Invoke(t, newCheckCommand(), "-p", dir, "--diff", pod)
			if !strings.Contains(out, tc.want) {
				t.Errorf("%s: check doesn't say %q:\n%s", tc.reason, tc.want, out)
			}
			left, _, _ := commandline.Invoke(t, newFixCommand(), "-p", dir, "--dry-run", pod)
			if !strings.Contains(left, tc.want) {
				t.Errorf("%s: fix doesn't say %q:\n%s", tc.reason, tc.want, left)
			}
		})
	}
}
