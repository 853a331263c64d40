// SPDX-License-Identifier: Apache-2.0

package gatekeeper_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/template"
)

// mustBear asks for annotations, with a library, in Rego v0, as most templates are.
const mustBear = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata:
  name: mustbear
  annotations: {metadata.gatekeeper.sh/title: "Required  annotations", description: Every object says who keeps it.}
spec:
  crd:
    spec:
      names: {kind: MustBear}
      validation:
        openAPIV3Schema:
          type: object
          properties:
            keys: {type: array, items: {type: string}}
            word: {type: string, default: annotation}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package mustbear

      import data.lib.sets

      violation[{"msg": msg, "details": {"missing": missing}}] {
        given := {key | input.review.object.metadata.annotations[key]}
        wanted := {key | key := input.parameters.keys[_]}
        missing := sets.without(wanted, given)
        count(missing) > 0
        msg := sprintf("%v %v is missing", [input.parameters.word, missing])
      }
    libs:
    - |
      package lib.sets

      without(a, b) = a - b
---
`

const bearOwner = `apiVersion: constraints.gatekeeper.sh/v1beta1
kind: MustBear
metadata: {name: bear-owner}
spec:
  enforcementAction: warn
  match:
    kinds: [{apiGroups: [""], kinds: [Service, ConfigMap]}]
    excludedNamespaces: [kube-*]
  parameters: {keys: [owner]}
---
`

// noNodePort is written for the v1 engine.
const noNodePort = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: nonodeport}
spec:
  crd: {spec: {names: {kind: NoNodePort}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: Rego
      source:
        version: v1
        rego: |
          package nonodeport

          violation contains {"msg": msg} if {
            input.review.kind.kind == "Service"
            input.review.object.spec.type == "NodePort"
            msg := sprintf("service %v opens a port on every node", [input.review.object.metadata.name])
          }
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: NoNodePort
metadata: {name: no-node-port}
spec:
  match: {kinds: [{apiGroups: [""], kinds: [Service]}]}
---
`

func migrated(t *testing.T, text string) []gatekeeper.Item {
	t.Helper()
	return gatekeeper.Migrate(documents(t, text),
		gatekeeper.Options{Owner: "team", Runbook: "https://example.com/NAME", Severity: v1alpha1.SeverityHigh})
}

func documents(t *testing.T, text string) []manifest.Document {
	t.Helper()
	read, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(text), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// rules are the templates among what was migrated, by name.
func rules(t *testing.T, items []gatekeeper.Item) map[string]*template.Template {
	t.Helper()
	out := map[string]*template.Template{}
	for _, item := range items {
		if item.Template == nil {
			continue
		}
		compiled, err := template.Compile(item.Template)
		if err != nil {
			t.Fatal(err)
		}
		out[item.Template.Name] = compiled
	}
	return out
}

// verdict is what a policy says of an object: nil when it doesn't concern it.
func verdict(t *testing.T, by map[string]*template.Template, p *v1alpha1.ClusterRegoPolicy, object string) []string {
	t.Helper()
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(object), &tree); err != nil {
		t.Fatal(err)
	}
	request := policy.NewAudit(tree, nil, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	index, err := match.NewIndex([]*v1alpha1.ClusterRegoPolicy{p})
	if err != nil {
		t.Fatal(err)
	}
	if len(index.Match(request)) == 0 {
		return nil
	}
	compiled, err := by[p.Spec.TemplateRef.Name].Policy(p)
	if err != nil {
		t.Fatal(err)
	}
	input, err := rego.NewInput(request)
	if err != nil {
		t.Fatal(err)
	}
	decision := compiled.Evaluate(t.Context(), input, time.Minute)
	if decision.Err != nil {
		t.Fatal(decision.Err)
	}
	fast := compiled.On(rego.CompiledEngine).Evaluate(t.Context(), input, time.Minute)
	if fast.Engine != rego.CompiledEngine || !slices.EqualFunc(decision.Violations, fast.Violations,
		func(a, b policy.Violation) bool { return a.Message == b.Message }) {
		t.Errorf("%s finds %v, topdown %v", fast.Engine, fast.Violations, decision.Violations)
	}
	messages := []string{}
	for _, violation := range decision.Violations {
		messages = append(messages, violation.Message)
	}
	return messages
}

func TestMigratedPoliciesJudgeAsTheirConstraints(t *testing.T) {
	policies := map[string]*v1alpha1.ClusterRegoPolicy{}
	items := migrated(t, mustBear+bearOwner+noNodePort)
	by := rules(t, items)
	for _, item := range items {
		if item.Policy != nil {
			policies[item.Policy.Name] = item.Policy
		}
	}
	tests := map[string]struct {
		reason, policy, object string
		want                   []string
	}{
		"an annotation is missing": {"the library, the parameters and the schema's default are there",
			"bear-owner", "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}}",
			[]string{`annotation {"owner"} is missing`}},
		"the annotation is there": {
			"it passes", "bear-owner",
			"{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop, annotations: {owner: me}}}",
			[]string{}},
		"another kind": {
			"it isn't matched", "bear-owner", "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}}",
			nil},
		"an excluded namespace": {
			"it isn't matched", "bear-owner",
			"{apiVersion: v1, kind: Service, metadata: {name: a, namespace: kube-system}}", nil},
		"Rego of the v1 engine": {
			"it is read as v1", "no-node-port",
			"{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}, spec: {type: NodePort}}",
			[]string{"service a opens a port on every node"}},
		"Rego of the v1 engine, passes": {"input.review is what it was", "no-node-port",
			"{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}, spec: {type: ClusterIP}}",
			[]string{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, verdict(t, by, policies[tc.policy], tc.object)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestABuiltinThatFailsIsUndefinedAsInGatekeeper migrates a rule that calls to_number with what isn't a number.
func TestABuiltinThatFailsIsUndefinedAsInGatekeeper(t *testing.T) {
	items := migrated(t, strings.Replace(mustBear, "given :=",
		"not to_number(input.review.object.metadata.name)\n        given :=", 1)+bearOwner)
	for name, want := range map[string][]string{"a": {`annotation {"owner"} is missing`}, "\"7\"": {}} {
		object := "{apiVersion: v1, kind: Service, metadata: {name: " + name + ", namespace: shop}}"
		if diff := cmp.Diff(want, verdict(t, rules(t, items), items[1].Policy, object)); diff != "" {
			t.Errorf("a Service named %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAPolicySaysWhatItsConstraintSaid(t *testing.T) {
	items := migrated(t, mustBear+bearOwner)
	if len(items) != 2 || items[0].State != gatekeeper.Migrated || items[1].State != gatekeeper.Migrated {
		t.Fatalf("items are %+v, want both migrated", items)
	}
	spec, rule := items[1].Policy.Spec, items[0].Template.Spec.Rego
	got := []any{spec.Title, spec.Description, spec.Owner, spec.RunbookURL, spec.Severity, rule.Version,
		len(rule.Modules()),
		spec.Admission.Action, spec.Admission.FailurePolicy, spec.Admission.ExistingViolations,
		*spec.Match.PodTemplates, spec.Remediation.Mode}
	want := []any{"Required annotations (bear-owner)", "Every object says who keeps it.", "team",
		"https://example.com/bear-owner",
		v1alpha1.SeverityHigh, v1alpha1.RegoV0, 2, v1alpha1.AdmissionWarn, v1alpha1.FailurePolicyIgnore,
		v1alpha1.ExistingDeny, false, v1alpha1.RemediationMode("")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

// A comment and a text name what they like.
func TestWhatIsOnlySpokenOf(t *testing.T) {
	for name, spoken := range map[string]string{
		"a comment":          "count([1]) > 0 # not data.inventory, nor external_data({})",
		"a text":             `count("data.inventory, external_data(x) and _unstable # too") > 0`,
		"a key of an object": `not input.review.object.inventory`,
	} {
		items := migrated(t, strings.Replace(mustBear, "given :=", spoken+"\n        given :=", 1)+bearOwner)
		for _, item := range items {
			if item.State != gatekeeper.Migrated {
				t.Errorf("%s: %s is %s: %q", name, item.Object, item.State, item.Notes)
			}
		}
	}
}

// Gatekeeper's webhook isn't asked about deletions unless it is told to; nor is a migrated policy.
func TestARuleThatNamesDeletionsSaysSo(t *testing.T) {
	const deletes = `input.review.operation == "DELETE"`
	for _, tc := range []struct {
		spoken, webhook string
		want            bool
	}{
		{deletes, "", true},
		{`input.review.operation == "UPDATE"`, "", false},
		{deletes, asking(`{apiGroups: ["*"], resources: ["*"], operations: [CREATE, UPDATE]}`), false},
	} {
		spoken, want := tc.spoken, tc.want
		items := migrated(t,
			tc.webhook+strings.Replace(mustBear, "given :=", spoken+"\n        given :=", 1)+bearOwner)
		says := slices.ContainsFunc(items, func(i gatekeeper.Item) bool {
			return strings.Contains(strings.Join(i.Notes, "\n"),
				"give its ValidatingWebhookConfiguration too, or --operations")
		})
		if says != want {
			t.Errorf("%s: it says so: %t, want %t: %+v", spoken, says, want, items)
		}
	}
}

// What Gatekeeper leaves undefined may decide there.
func TestARuleThatReadsWhatGatekeeperLacksSaysSo(t *testing.T) {
	for reads, want := range map[string]string{
		"input.request.object.metadata": "input.request, undefined",
		"not input.object.metadata":     "input.object, undefined",
		"walk(input, [_, 1])":           "input.object, input.pod, input.request, undefined",
		"input.review.object.metadata":  "",
	} {
		items := migrated(t, strings.Replace(mustBear, "given :=", reads+"\n        given :=", 1)+bearOwner)
		says := ""
		for _, item := range items {
			if notes := strings.Join(item.Notes, "\n"); strings.Contains(notes, "undefined in Gatekeeper") {
				says = notes
			}
		}
		if !strings.Contains(says, want) || (says == "") != (want == "") {
			t.Errorf("%s: notes are %q, want %q", reads, says, want)
		}
	}
}

func TestWhatNeedsWork(t *testing.T) {
	constraint := func(pairs ...string) string { return mustBear + strings.NewReplacer(pairs...).Replace(bearOwner) }
	template := func(old, replaced string) string { return strings.Replace(mustBear, old, replaced, 1) + bearOwner }
	tests := map[string]struct{ reason, text, want string }{
		"no template": {"the rule is missing", bearOwner, "no ConstraintTemplate for kind MustBear"},
		"the inventory": {
			"a rule would see nothing there",
			template("given :=", "count(data.inventory.cluster) > 0\n        given :="), "data.inventory"},
		"the inventory by name": {
			"an import is one too",
			template("given :=", "inv := data[\"inventory\"]\n        count(inv) > 0\n        given :="),
			"data.inventory"},
		"what is unstable": {
			"whatever holds it", template(
				"given :=", "r := input.review\n        r._unstable.namespace\n        given :="), "namespaceObject"},
		"external data": {
			"a rule reaches no network",
			template("given :=", `external_data({"provider": "p", "keys": []})`+"\n        given :="), "external_data"},
		"a rule of a taken name": {
			"it would count as a result", template("violation[", "warn[x] { x := 1 }\n\n      violation["),
			"rename it"},
		"elements that are strings": {"Gatekeeper's compiler refuses them, and with strings alone it enforces nothing",
			template(`violation[{"msg": msg, "details": {"missing": missing}}]`, "violation[msg]"), "with a msg"},
		"elements without msg": {"likewise", template(`{"msg": msg, "details"`, `{"details"`), "with a msg"},
		"Rego that doesn't compile": {"with the compiler's line", template("count(missing) > 0", "cnt(missing) > 0"),
			"undefined function cnt"},
		"a built-in function that is refused": {"nothing stops it at the time limit",
			template("given :=", `glob.match("a*", [], input.parameters.word)`+"\n        given :="), "glob.match"},
		"CEL": {
			"it is another language", strings.Replace(noNodePort, "engine: Rego", "engine: K8sNativeValidation", 1),
			"only K8sNativeValidation"},
		"a scope that there isn't": {
			"Gatekeeper takes it for any", constraint("    kinds:", "    scope: cluster\n    kinds:"),
			`match.scope "cluster": give Cluster, Namespaced or *`},
		"a scope of another kind": {"it judges nothing", constraint("    kinds:", "    scope: Cluster\n    kinds:"),
			"none of the kinds in match.kinds is of that scope"},
		"a scope that isn't known": {"a policy can't leave out what is in namespaces",
			constraint(`[""], kinds: [Service, ConfigMap]`, `[example.com], kinds: [Widget]`,
				"    excluded", "    scope: Cluster\n    excluded"),
			"whether Widget.example.com lives in namespaces isn't known"},
		"source": {
			"generated objects are judged by nobody", constraint("    kinds:", "    source: Generated\n    kinds:"),
			"match.source Generated"},
		"a name": {"labels choose", constraint("    kinds:", "    name: web-*\n    kinds:"),
			"match.name"},
		"kinds of a group that isn't known": {"there is nothing to name",
			constraint(`[""], kinds: [Service, ConfigMap]`, `[example.com], kinds: ["*"]`),
			`no kind is known of groups ["example.com"] and kinds ["*"]`},
		"a kind of whatever group that isn't known": {"likewise",
			constraint(`[""], kinds: [Service, ConfigMap]`, `["*"], kinds: [Widget]`),
			`no kind is known of groups ["*"]`},
		"an unknown field": {"it may narrow the match", constraint("    kinds:", "    teams: [a]\n    kinds:"),
			`unknown field "teams"`},
		"enforcement at no point": {
			"it enforces nothing", constraint(
				"enforcementAction: warn", "enforcementAction: scoped\n  scopedEnforcementActions: [{action: deny}]"),
			"name neither validation.gatekeeper.sh nor audit.gatekeeper.sh"},
		"enforcement by Kubernetes' policies alone": {
			"Kubernetes refuses what the policy would let through", constraint("enforcementAction: warn",
				"enforcementAction: scoped\n  scopedEnforcementActions: [{action: deny, "+
					"enforcementPoints: [{name: vap.k8s.io}]}, {action: dryrun, enforcementPoints: "+
					"[{name: audit.gatekeeper.sh}]}]"), "stricter at vap.k8s.io than at validation.gatekeeper.sh"},
		"stricter enforcement by Kubernetes' policies": {
			"Kubernetes refuses what the policy would only warn of", constraint("enforcementAction: warn",
				"enforcementAction: scoped\n  scopedEnforcementActions: [{action: deny, "+
					"enforcementPoints: [{name: vap.k8s.io}]}, {action: warn, enforcementPoints: "+
					"[{name: \"*\"}]}]"), "give both points the same action"},
		"an unknown action": {"there is none like it", constraint("enforcementAction: warn", "enforcementAction: log"),
			`enforcementAction "log"`},
		"an unknown action at a point": {"there is none like it",
			constraint("enforcementAction: warn", "enforcementAction: scoped\n  scopedEnforcementActions: "+
				"[{action: log, enforcementPoints: [{name: \"*\"}]}]"), `enforcementAction "log"`},
		"a name that no object can have": {
			"Gatekeeper's cluster refuses it too", constraint("bear-owner", "Bear_Owner"), "rename the constraint"},
		"a mutation": {
			"requests aren't changed", "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: a}\n",
			"remediation"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, item := range migrated(t, tc.text) {
				if item.Policy != nil {
					t.Fatalf("%s: %s was migrated", tc.reason, item.Object)
				}
				if item.State == gatekeeper.NeedsWork {
					if notes := strings.Join(item.Notes, "\n"); !strings.Contains(notes, tc.want) {
						t.Errorf("%s: notes are %q, want %q", tc.reason, notes, tc.want)
					}
					return
				}
			}
			t.Errorf("%s: nothing needs work", tc.reason)
		})
	}
}

func TestOneThatNeedsWorkDoesNotHoldUpTheOthers(t *testing.T) {
	twin := strings.Replace(strings.ReplaceAll(mustBear, "MustBear", "MustWear"), "name: mustbear", "name: mustwear",
		1) +
		strings.Replace(bearOwner, "MustBear", "MustWear", 1)
	config := "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\n---\n"
	other := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\n---\n"
	bad := strings.Replace(strings.Replace(bearOwner, "bear-owner", "bad", 1), "kinds: [{",
		"name: bad\n    kinds: [{", 1)
	got := map[string]string{}
	for _, item := range migrated(t, bad+mustBear+bearOwner+config+other+twin) {
		got[item.Object] = string(item.State)
		if item.Policy != nil {
			got[item.Object] = item.Policy.Name
		}
	}
	want := map[string]string{
		"MustBear/bad": "needs work", "MustBear/bear-owner": "bear-owner", "MustWear/bear-owner": "mustwear-bear-owner",
		"ConstraintTemplate/mustbear": "migrated", "ConstraintTemplate/mustwear": "migrated",
		"Config/config": "skipped",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
