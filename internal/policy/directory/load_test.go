// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

const goodHead = `# METADATA
# scope: package
# title: No hats
# description: Hats hide.
# organizations: [team-hats]
# related_resources:
#   - https://example.com/hats
# custom:
#   id: no-hats
#   severity: High
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
`

// minimalHead is all that a policy needs which only tells.
const minimalHead = `# METADATA
# title: No hats
# custom:
#   id: no-hats
#   match:
#     kinds:
#       - apiGroups: [""]
#         kinds: [Pod]
`

const goodBody = `package a.hats

import rego.v1

deny contains "hat" if input.object.spec.hat
`

// tree makes a file system of files and their texts.
func tree(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for file, text := range files {
		fsys[file] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func replaced(t *testing.T, old, with string) string {
	t.Helper()
	text := goodHead + goodBody
	if !strings.Contains(text, old) {
		t.Fatalf("the good policy has no %q", old)
	}
	return strings.Replace(text, old, with, 1)
}

func TestLoadFillsThePolicyFromItsMetadata(t *testing.T) {
	got, err := directory.Load(tree(map[string]string{
		"hats/hats.rego": replaced(t, "#   severity: High", "#   severity: Low\n#   admission: {action: Warn, "+
			"failurePolicy: Fail, existingViolations: Deny}\n#   parameters: {max: 3}\n#   remediation: {mode: "+
			"Automatic, strategyRef: {name: careful}}"),
		"hats/hats_test.rego": "package a.hats_test\n",
		"hats/examples.yaml":  "[]",
	}), ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 {
		t.Fatalf("%d policies, want 1", len(got))
	}
	spec := got[0].Spec
	type summary struct {
		Name, Title, Description, Owner, Runbook, Parameters, Strategy string
		Severity                                                       v1alpha1.Severity
		Enforcement                                                    v1alpha1.AdmissionAction
		Failure                                                        v1alpha1.FailurePolicy
		Existing                                                       v1alpha1.ExistingViolations
		Mode                                                           v1alpha1.RemediationMode
		Modules                                                        []string
	}
	want := summary{
		Name: "no-hats", Title: "No hats", Description: "Hats hide.", Owner: "team-hats",
		Runbook: "https://example.com/hats", Parameters: `{"max":3}`, Strategy: "careful",
		Severity: v1alpha1.SeverityLow, Enforcement: v1alpha1.AdmissionWarn, Failure: v1alpha1.FailurePolicyFail,
		Existing: v1alpha1.ExistingDeny, Mode: v1alpha1.RemediationAutomatic, Modules: []string{"hats/hats.rego"},
	}
	found := summary{
		Name: got[0].Name, Title: spec.Title, Description: spec.Description, Owner: spec.Owner,
		Runbook: spec.RunbookURL, Parameters: string(spec.Parameters.Raw),
		Strategy: spec.Remediation.StrategyRef.Name,
		Severity: spec.Severity, Enforcement: spec.Admission.Action, Failure: spec.Admission.FailurePolicy,
		Existing: spec.Admission.ExistingViolations, Mode: spec.Remediation.Mode, Modules: moduleNames(got[0]),
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

func TestLoadFillsInNoDefaults(t *testing.T) {
	got, err := directory.Load(tree(map[string]string{"hats/hats.rego": minimalHead + goodBody}), ".")
	if err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.RegoPolicySpec{
		Title: "No hats",
		Rego:  v1alpha1.RegoSource{File: "hats/hats.rego", Main: minimalHead + goodBody},
		Match: v1alpha1.Match{Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}},
	}
	if diff := cmp.Diff(want, got[0].Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func moduleNames(p *v1alpha1.ClusterRegoPolicy) []string {
	var names []string
	for _, m := range p.Spec.Rego.Modules() {
		names = append(names, m.Name)
	}
	return names
}

func TestLoadBundlesWhatAPolicyImports(t *testing.T) {
	files := map[string]string{
		"lib/one.rego":        "package lib.one\n\nimport rego.v1\nimport data.lib.two\n\nx if two.y\n",
		"lib/two.rego":        "package lib.two\n\nimport rego.v1\n\ny if input.object.spec.hat\n",
		"lib/three.rego":      "package lib.three\n\nimport rego.v1\n\n# data.lib.one\nz if true\n",
		"wear/hats/hats.rego": goodHead + strings.Replace(goodBody, "input.object.spec.hat", "data.lib.one.x", 1),
		"wear/hats/brim.rego": "package a.hats\n\nimport rego.v1\n\nwarn contains \"brim\" if input.object.spec.brim\n",
		"wear/coats/coats.rego": strings.NewReplacer("no-hats", "no-coats", "a.hats", "a.coats").Replace(
			goodHead + goodBody),
		"wear/coats/README.md":    "not Rego",
		"wear/.hidden/empty.text": "left out",
	}
	tests := map[string]struct {
		reason string
		root   string
		want   map[string][]string
	}{
		"the whole tree": {
			reason: "libraries are taken along transitively, own modules come first, and what nobody needs stays out",
			root:   ".",
			want: map[string][]string{
				"no-hats":  {"wear/hats/hats.rego", "wear/hats/brim.rego", "lib/one.rego", "lib/two.rego"},
				"no-coats": {"wear/coats/coats.rego"},
			},
		},
		"one policy of it": {
			reason: "the library at the top serves a root below it, under the same module names",
			root:   "wear/hats",
			want: map[string][]string{
				"no-hats": {"wear/hats/hats.rego", "wear/hats/brim.rego", "lib/one.rego", "lib/two.rego"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			policies, err := directory.Load(tree(files), tc.root)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			for _, p := range policies {
				got[p.Name] = moduleNames(p)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nmodules (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLoadListsAllThatIsWrong(t *testing.T) {
	hats := func(old, with string) map[string]string {
		return map[string]string{"hats/hats.rego": replaced(t, old, with)}
	}
	with := func(file, text string) map[string]string {
		return map[string]string{"hats/hats.rego": goodHead + goodBody, file: text}
	}
	tests := map[string]struct {
		reason string
		files  map[string]string
		want   []string // parts of the problems, in order, one each
	}{
		"an unknown key of METADATA": {
			reason: "OPA would pass it over",
			files:  hats("# description", "# descripton"),
			want:   []string{`hats/hats.rego:4: unknown METADATA key "descripton"`},
		},
		"an unknown key below custom": {
			reason: "a misspelt enforcement must not become the default",
			files:  hats("#   severity: High", "#   severity: High\n#   enforcment: Deny"),
			want:   []string{"hats/hats.rego:11: unknown METADATA key custom.enforcment: remove it"},
		},
		"an unknown key that is near one": {
			reason: "the author sees at once what was meant, at every depth",
			files: hats("#   severity: High",
				"#   severty: High\n#   admission: {acton: Deny}\n#   remediation:\n#     "+
					"strategyRef: {nam: x}\n#     retryLimit: 3"),
			want: []string{
				"hats/hats.rego:10: unknown METADATA key custom.severty: remove it, or correct its spelling; did " +
					"you mean " +
					"custom.severity?",
				"hats/hats.rego:11: unknown METADATA key custom.admission.acton: remove it, or correct its " +
					"spelling; did " +
					"you mean custom.admission.action?",
				"hats/hats.rego:13: unknown METADATA key custom.remediation.strategyRef.nam: remove it, or correct " +
					"its spelling; did you mean custom.remediation.strategyRef.name?",
				"hats/hats.rego:14: unknown METADATA key custom.remediation.retryLimit: set it in the " +
					"RemediationStrategy that strategyRef names",
			},
		},
		"a group with its version": {
			reason: "the key is the author's, not the field of the object that is built",
			files:  hats(`apiGroups: [""]`, `apiGroups: [apps/v1]`),
			want:   []string{`hats/hats.rego:13: custom.match.kinds[0].apiGroups: "apps/v1" isn't an API group`},
		},
		"a match condition that doesn't compile": {
			reason: "build and test refuse what admission would",
			files: hats("#   severity: High", "#   severity: High\n#   admission:\n#     matchConditions:\n#       - "+
				"name: a\n#         expression: object.x == y"),
			want: []string{
				"hats/hats.rego:14: custom.admission.matchConditions[0].expression: 1:13: undeclared reference to 'y'"},
		},
		"an unknown key of match": {
			reason: "the keys of the API hold at every depth",
			files:  hats("#         kinds: [Pod]", "#         kinds: [Pod]\n#         kind: Pod"),
			want:   []string{"hats/hats.rego:15: unknown METADATA key custom.match.kinds[0].kind"},
		},
		"keys in another case": {
			reason: "the API server knows one spelling",
			files:  hats("#   match:", "#   Match:"),
			want: []string{"hats/hats.rego:8: custom.match.kinds: is empty",
				"hats/hats.rego:11: unknown METADATA key custom.Match"},
		},
		"a value of the wrong type": {
			reason: "the line is the key's",
			files:  hats("#   severity: High", "#   severity: [High]"),
			want:   []string{"hats/hats.rego:10: custom.severity: it is a list, and must be a text"},
		},
		"a runbook that is no address": {
			reason: "somebody thinks that it is one",
			files:  hats("#   - https://example.com/hats", "#   - example.com/hats"),
			want:   []string{"hats/hats.rego:6: related_resources: the first ref isn't the runbook's URL"},
		},
		"missing owner and title of a policy that refuses": {
			reason: "all at once; somebody is called at night",
			files: map[string]string{"hats/hats.rego": strings.NewReplacer(
				"# title: No hats\n", "", "#   match:",
				"#   admission: {action: Deny}\n#   match:").Replace(minimalHead + goodBody)},
			want: []string{
				"hats/hats.rego:1: organizations: the owner is missing, and the policy refuses requests or remediates",
				"hats/hats.rego:1: title: it is missing",
			},
		},
		"missing owner of a policy that remediates": {
			reason: "a dry run is planned too",
			files: map[string]string{
				"hats/hats.rego": strings.Replace(
					minimalHead, "#   match:", "#   remediation: {mode: DryRun}\n#   match:", 1) + goodBody},
			want: []string{
				"hats/hats.rego:1: organizations: the owner is missing",
			},
		},
		"values that aren't known": {
			reason: "the API server would refuse them later, without a line",
			files: hats("#   severity: High", "#   severity: high\n#   admission:\n#     action: Block\n#     "+
				"failurePolicy: Open\n#   remediation: {mode: Auto, waves: [5%]}"),
			want: []string{
				`hats/hats.rego:10: custom.severity: "high" isn't supported: use one of Critical High Medium Low`,
				`hats/hats.rego:12: custom.admission.action: "Block" isn't supported`,
				`hats/hats.rego:13: custom.admission.failurePolicy: "Open" isn't supported`,
				`hats/hats.rego:14: custom.remediation.mode: "Auto" isn't supported`,
				"hats/hats.rego:14: custom.remediation.waves: it is gone: set steps of the RemediationStrategy",
			},
		},
		"settings that a policy had once": {
			reason: "each is refused with its new place",
			files: hats("#   severity: High", "#   severity: High\n#   remediation:\n#     mode: Manual\n"+
				"#     canary:\n#       size: 1\n#     budget: {maxUnavailable: 5%}"),
			want: []string{
				"hats/hats.rego:13: custom.remediation.canary: it is gone: set steps[0] of the RemediationStrategy",
				"hats/hats.rego:15: custom.remediation.budget: it is gone: set maxInFlight, maxPerNamespace and",
			},
		},
		"a strategy of which a rollout can't be made": {
			reason: "admission would refuse it; each problem has the line of its key",
			files: with("careful.yaml", `apiVersion: evenkeel.dev/v1alpha1
kind: RemediationStrategy
metadata: {name: careful}
spec:
  steps:
    - targets: 0%
      selector: {}
  stages:
    - name: others
      selector: {namespaceSelector: {matchLabels: {env: staging}}}
  windows:
    - schedule: "0 22 * * 8"
      duration: 200h
`),
			want: []string{
				`careful.yaml:6: spec.steps[0].targets: "0%": must be a count`,
				"careful.yaml:7: spec.steps[0].selector: it chooses every target",
				`careful.yaml:9: spec.stages[0].name: "others" is the stage of targets that no stage chooses`,
				`careful.yaml:12: spec.windows[0].schedule: "0 22 * * 8" can't be read`,
				"careful.yaml:13: spec.windows[0].duration: 200h0m0s: must be from 1m0s to 168h0m0s",
			},
		},
		"unknown keys of a strategy": {
			reason: "a misspelt limit must not be no limit",
			files: with("careful.yaml", `apiVersion: evenkeel.dev/v1alpha1
kind: RemediationStrategy
metadata: {name: careful}
spec:
  maxInFlght: 1
  steps: [{targets: 1, soaks: 1m}]
`),
			want: []string{"careful.yaml:5: unknown field spec.maxInFlght: remove it, or correct its spelling; did " +
				"you mean spec.maxInFlight?", "careful.yaml:6: unknown field spec.steps[0].soaks"},
		},
		"a strategy of another version": {
			reason: "it would be another kind",
			files:  with("a.yaml", "apiVersion: evenkeel.dev/v1\nkind: RemediationStrategy\nmetadata: {name: a}\n"),
			want:   []string{"a.yaml:1: apiVersion: evenkeel.dev/v1 isn't that of RemediationStrategy"},
		},
		"a file of strategies that can't be read": {
			reason: "what a policy names must not be missing in silence",
			files:  with("a.yml", "kind: RemediationStrategy\nmetadata: {name: [\n"),
			want:   []string{"a.yml:"},
		},
		"two strategies of one name": {
			reason: "one would take the other's place",
			files: with("a.yaml", "apiVersion: evenkeel.dev/v1alpha1\nkind: RemediationStrategy\nmetadata: {name: a}\n"+
				"spec: {}\n---\napiVersion: evenkeel.dev/v1alpha1\nkind: RemediationStrategy\n"+
				"metadata: {name: a}\nspec: {}\n"),
			want: []string{`a.yaml:6: metadata.name "a" is taken by a.yaml:1`},
		},
		"parameters that are no object": {
			reason: "the API server would refuse them later",
			files:  hats("#   severity: High", "#   severity: High\n#   parameters: [1]"),
			want:   []string{"hats/hats.rego:11: custom.parameters: they must be an object"},
		},
		"an id that can't be a name": {
			reason: "it becomes metadata.name",
			files:  hats("id: no-hats", "id: No_Hats"),
			want:   []string{`hats/hats.rego:9: custom.id: "No_Hats" can't be the name of a policy`},
		},
		"two policies with one id": {
			reason: "one would take the other's place",
			files: map[string]string{
				"hats/hats.rego": goodHead + goodBody,
				"caps/caps.rego": goodHead + strings.Replace(goodBody, "a.hats", "a.caps", 1),
			},
			want: []string{`hats/hats.rego:9: custom.id "no-hats" is taken by caps/caps.rego:9`},
		},
		"Rego that doesn't parse": {
			reason: "with the parser's line",
			files:  hats(`deny contains "hat" if`, `deny contains if if`),
			want:   []string{"hats/hats.rego:19: rego_parse_error", "hats/hats.rego:19: rego_parse_error"},
		},
		"Rego that doesn't compile": {
			reason: "strictly: an unused import is an error",
			files:  hats("import rego.v1", "import rego.v1\nimport data.other"),
			want:   []string{"hats/hats.rego:18: rego_compile_error"},
		},
		"a forbidden built-in": {
			reason: "a policy reaches no network",
			files:  hats("input.object.spec.hat", `http.send({"url": "https://example.com"})`),
			want:   []string{"hats/hats.rego:19:"},
		},
		"an empty directory": {
			reason: "a policy is missing there",
			files:  map[string]string{"hats/hats.rego": goodHead + goodBody, "caps/notes.txt": "none yet"},
			want:   []string{"caps: the directory holds no policy: put caps.rego there"},
		},
		"a policy without id": {
			reason: "it must not be taken for a library and left out",
			files: map[string]string{
				"hats/hats.rego": goodHead + goodBody,
				"caps/caps.rego": "package a.caps\n\nimport rego.v1\n\ndeny contains \"cap\"\n",
			},
			want: []string{"caps/caps.rego:1: no policy imports package a.caps: if it is a policy"},
		},
		"METADATA without a package": {
			reason: "there is no name to tell",
			files: map[string]string{
				"hats/hats.rego": goodHead + goodBody,
				"caps/cap.rego":  "# METADATA\n# title: Caps\n",
			},
			want: []string{"caps/cap.rego:1: it has no package line, so that no policy can import it"},
		},
		"a library alone": {
			reason: "nothing would be enforced",
			files:  map[string]string{"lib/lib.rego": "package a.lib\n"},
			want:   []string{".: it holds no policy: a policy is a directory <name> with <name>.rego"},
		},
		"a file not named for its directory": {
			reason: "the same, for a misnamed file",
			files:  map[string]string{"hats/hat.rego": goodHead + goodBody},
			want: []string{
				"hats/hat.rego:1: no policy imports package a.hats: if it is a policy, name the file hats.rego",
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			policies, err := directory.Load(tree(tc.files), ".")
			var wrong *directory.Error
			if !errors.As(err, &wrong) {
				t.Fatalf("%s\nerror is %v, want a *source.Error", tc.reason, err)
			}
			if policies != nil {
				t.Errorf("%d policies beside the error, want none", len(policies))
			}
			var got []string
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "  help: ") {
					got = append(got, line)
				}
			}
			if len(got) != len(tc.want) {
				t.Fatalf("%s\nproblems are\n%v\nwant %d: %q", tc.reason, err, len(tc.want), tc.want)
			}
			for i, part := range tc.want {
				if !strings.HasPrefix(got[i], part) {
					t.Errorf("%s\nproblem %d is\n%s\nwant it to begin with\n%s", tc.reason, i+1, got[i], part)
				}
			}
		})
	}
}

func TestLoadOfAMissingDirectoryIsNoFindingAboutPolicies(t *testing.T) {
	_, err := directory.Load(tree(nil), "nowhere")
	var wrong *directory.Error
	if err == nil || errors.As(err, &wrong) {
		t.Errorf("error is %v, want one that says that the directory can't be read", err)
	}
}

func TestStrategiesAreReadBesideThePolicies(t *testing.T) {
	const strategy = "apiVersion: evenkeel.dev/v1alpha1\nkind: RemediationStrategy\nmetadata: {name: %s}\nspec:\n" +
		"  steps: [{targets: 1, soak: 10m}, {targets: 5%%}]\n"
	files := tree(map[string]string{
		"hats/hats.rego": goodHead + goodBody,
		"hats/slow.yaml": fmt.Sprintf(strategy, "slow"),
		"strategies/all.yml": "kind: Other\n---\n" + fmt.Sprintf(strategy, "fast") + "---\n" +
			fmt.Sprintf(strategy, "even"),
		"hats/examples.yaml":    "[]",
		".hidden/careless.yaml": fmt.Sprintf(strategy, "careless"),
	})
	policies, strategies, err := directory.LoadAll(files, ".")
	if err != nil || len(policies) != 1 {
		t.Fatalf("%d policies, %v", len(policies), err)
	}
	var got []string
	for _, s := range strategies {
		got = append(got, fmt.Sprintf("%s in %s: %d steps, %s", s.Definition.Name, s.File, len(s.Definition.Spec.Steps),
			s.Definition.Spec.Steps[0].Soak.Duration))
	}
	want := []string{"even in strategies/all.yml: 2 steps, 10m0s", "fast in strategies/all.yml: 2 steps, 10m0s",
		"slow in hats/slow.yaml: 2 steps, 10m0s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
