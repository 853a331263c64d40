// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/check/fix"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/test/commandline"
)

// onPods is a policy on Pods: its name, its METADATA below custom, its rule and its fix.
func onPods(name, custom, deny, remediation string) map[string]string {
	return map[string]string{name + "/" + name + ".rego": fmt.Sprintf(`# METADATA
# title: t
# organizations: [us]
# related_resources: [{ref: "https://example.com/runbooks/t"}]
# custom:
#   id: %[1]s
#   match: {kinds: [{apiGroups: [""], kinds: [Pod]}]}
%[2]spackage %[1]s

import rego.v1

labels := object.get(input.object.metadata, "labels", {})

deny contains {"msg": "%[1]s is violated", "path": "/metadata"} if %[3]s

remediation contains %[4]s
`, name, custom, deny, remediation)}
}

// label is a fix that sets the labels.
func label(pairs string) string {
	return `{"action": "patch", "ops": [{"op": "add", "path": "/metadata/labels", "value": object.union(labels, {` +
		pairs + `})}]}`
}

// TestCheckAndFixTellTheSame: whoever looks at check --diff knows what fix will do, and why it leaves the rest.
func TestCheckAndFixTellTheSame(t *testing.T) {
	const dryRun = "#   remediation: {mode: DryRun}\n"
	const verbs = "#   remediation: {mode: DryRun, allowedActions: [%s]}\n"
	owner, named := onPods("owner", "", "not labels.owner", label(`"owner": "us"`)),
		onPods("named", "", "not labels.name", label(`"name": "web"`))
	tests := map[string]struct {
		reason   string
		policies []map[string]string
		// left are the policies that are left, with why; the others are fixed.
		left map[string]string
	}{
		"two that get along": {"one after the other", []map[string]string{owner, named}, nil},
		"one that needs another's fix first": {"it violates that for itself", []map[string]string{owner,
			onPods("strict", "", "{ labels.name; not labels.owner }", label(`"owner": "us"`)), named}, nil},
		"two that contradict each other": {"both are left", []map[string]string{
			onPods("up", "", `not labels.way == "up"`, label(`"way": "up"`)),
			onPods("down", "", `labels.way == "up"`, label(`"way": "down"`))},
			map[string]string{"up": "the fixed object would violate policy down"}},
		"one that a policy in mode DryRun contests": {"it would violate that one, whatever it writes",
			[]map[string]string{onPods("up", "", `not labels.way == "up"`, label(`"way": "up"`)),
				onPods("down", dryRun, `labels.way == "up"`, label(`"way": "down"`))},
			map[string]string{"up": "the fixed object would violate policy down"}},
		"one in mode DryRun": {"that holds in a cluster, and nobody fixes there", []map[string]string{owner,
			onPods("named", dryRun, "not labels.name", label(`"name": "web"`))}, nil},
		"one that deletes": {"a person must decide that", []map[string]string{
			onPods("gone", fmt.Sprintf(verbs, "Delete"), "true", `{"action": "delete"}`)},
			map[string]string{"gone": "its fix deletes the object"}},
		"one that evicts": {"no file holds that", []map[string]string{
			onPods("evicted", fmt.Sprintf(verbs, "Evict"), "true", `{"action": "evict"}`)},
			map[string]string{"evicted": "is for a running object"}},
		"one that uses what it doesn't allow": {"no rollout would do it", []map[string]string{
			onPods("forbidden", fmt.Sprintf(verbs, "Scale"), "not labels.a", label(`"a": "b"`))},
			map[string]string{"forbidden": "allowedActions leave out"}},
		"one of the status": {"no file holds that", []map[string]string{onPods("status", "", "true",
			`{"action": "patch", "subresource": "status", "ops": [{"op": "add", "path": "/status", "value": {}}]}`)},
			map[string]string{"status": "its fix changes the status"}},
		"one that offers nothing": {"a person must", []map[string]string{
			onPods("silent", "", "true", label(`"a": "b"`)+" if false")},
			map[string]string{"silent": "the policy offers no fix for it"}},
		"one whose fix fails": {"it can't be known", []map[string]string{
			onPods("broken", "", "true", label(`"a": to_number(input.object.metadata.name)`))},
			map[string]string{"broken": "its fix can't be known: "}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"pods/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec: {}\n"}
			for _, p := range tt.policies {
				for file, text := range p {
					files["policies/"+file] = text
				}
			}
			dir := commandline.Folder(t, files)
			pod, policies := filepath.Join(dir, "pods"), filepath.Join(dir, "policies")
			shown, why, checked := commandline.Invoke(t, newCheckCommand(), "-p", policies, "--diff", "--fail-on",
				"audit", pod)
			if checked != command.ExitFailed && tt.left["broken"] == "" {
				t.Fatalf("check ends with code %d: %s", checked, why)
			}
			done, _, fixed := commandline.Invoke(t, newFixCommand(), "-p", policies, pod)
			for policy, reason := range tt.left {
				if !strings.Contains(done, " "+policy+": "+policy+" is violated") || !strings.Contains(done, reason) {
					t.Errorf("%s: fix doesn't leave %s because of %q:\n%s", tt.reason, policy, reason, done)
				}
				if !strings.Contains(shown, reason) || strings.Contains(shown, " fix: ") {
					t.Errorf("%s: check shows %s and not %q:\n%s", tt.reason, policy, reason, shown)
				}
			}
			if tt.left == nil && (strings.Contains(shown, "no fix is shown") || fixed != 0) {
				t.Errorf("%s: fix ends with code %d:\n%s\ncheck shows\n%s", tt.reason, fixed, done, shown)
			}
			if checked == 3 != (fixed == 3) {
				t.Errorf("%s: check ends with code %d, fix with %d", tt.reason, checked, fixed)
			}
		})
	}
}

// TestCheckAndFixTellTheSameOfTheLibrary judges each of its examples by all its policies at once, which fix one after
// the other.
func TestCheckAndFixTellTheSameOfTheLibrary(t *testing.T) {
	snapshot, err := (&policyChoice{}).load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	shown, left := 0, 0
	for _, example := range libraryExamples(t) {
		if example.Object == nil || example.Operation == policy.Delete || example.NamespaceObject != nil {
			continue
		}
		text, err := yaml.Marshal(example.Object)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "manifest.yaml")
		if err := os.WriteFile(file, text, fs.FileMode(0o600)); err != nil {
			t.Fatal(err)
		}
		documents, err := manifest.Read(t.Context(), []string{file}, nil, manifest.Options{})
		if err != nil {
			continue // an example of a request that isn't about an object
		}
		report, err := check.Run(t.Context(), snapshot, check.Each(check.Of(documents, "default", nil)),
			check.Options{Now: now, Fix: true, Fixed: fix.Teller(snapshot, now)})
		if err != nil {
			t.Fatal(err)
		}
		done, err := fix.Run(t.Context(), snapshot, documents, map[string][]byte{file: text},
			fix.Options{Now: now, Namespace: "default"})
		if err != nil {
			t.Fatal(err)
		}
		reasons := map[string]string{}
		for _, l := range done.Left {
			reasons[l.Policy] = l.Reason
		}
		for _, r := range report.Results {
			reason, isLeft := reasons[r.Policy.Name]
			switch {
			case len(r.Violations) == 0 || r.Waived != nil:
			case isLeft && (r.NoFix != reason || r.Fix != ""):
				t.Errorf("%s: %s is left (%s); check says %q, and shows\n%s", example.Name, r.Policy.Name, reason,
					r.NoFix, r.Fix)
			case !isLeft && r.Fix == "" && r.NoFix != "the fix of another policy resolves it":
				t.Errorf("%s: %s is fixed; check says %q", example.Name, r.Policy.Name, r.NoFix)
			case isLeft:
				left++
			default:
				shown++
			}
		}
	}
	if shown < 20 || left < 20 {
		t.Errorf("%d fixes that are shown and %d that are left prove little", shown, left)
	}
}
