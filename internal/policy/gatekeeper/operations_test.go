// SPDX-License-Identifier: Apache-2.0

package gatekeeper_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

// asking is Gatekeeper's configuration of its webhook with some rules.
func asking(rules ...string) string {
	return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n" +
		"metadata: {name: gatekeeper-validating-webhook-configuration}\nwebhooks:\n" +
		"- name: validation.gatekeeper.sh\n  failurePolicy: Ignore\n  rules: [" + strings.Join(rules, ", ") + "]\n" +
		"- name: check-ignore-label.gatekeeper.sh\n" +
		"  rules: [{apiGroups: [\"\"], resources: [namespaces], operations: [\"*\"]}]\n---\n"
}

// bearing is a constraint of mustBear with a match.
func bearing(match string) string {
	return mustBear + "apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: MustBear\nmetadata: {name: bear}\n" +
		"spec:\n  match: " + match + "\n  parameters: {keys: [owner]}\n"
}

// wantNotes holds an item's notes to a part of them; to none where it is empty.
func wantNotes(t *testing.T, item *gatekeeper.Item, want string) {
	t.Helper()
	notes := strings.Join(item.Notes, "\n")
	if want == "" && notes != "" || !strings.Contains(notes, want) {
		t.Errorf("notes are %q, want %q", notes, want)
	}
}

func TestAPolicyIsAskedAboutWhatGatekeepersWebhookIs(t *testing.T) {
	const create, update, remove, connect = v1alpha1.OperationCreate, v1alpha1.OperationUpdate,
		v1alpha1.OperationDelete, v1alpha1.OperationConnect
	type ops = []v1alpha1.Operation
	const pods, both = `{kinds: [{apiGroups: [""], kinds: [Pod]}]}`,
		`{kinds: [{apiGroups: ["", example.com], kinds: [Pod, Widget]}]}`
	all := func(operations string) string {
		return asking(`{apiGroups: ["*"], resources: ["*", pods/eviction, pods/exec], operations: ` + operations + `}`)
	}
	cases := map[string]struct {
		webhook string
		given   ops
		match   string
		want    ops
		notes   string
	}{
		"nothing tells":                          {match: pods},
		"a flag tells":                           {given: ops{create, remove}, match: pods, want: ops{create, remove}},
		"the default":                            {webhook: all("[CREATE, UPDATE]"), match: both},
		"the configuration counts before a flag": {webhook: all("[CREATE, UPDATE]"), given: ops{remove}, match: pods},
		"deletions too": {webhook: all("[CREATE, UPDATE, DELETE]"), match: both,
			want: ops{create, update, remove}},
		"all operations, and nothing can be connected to": {webhook: all(`["*"]`), match: pods,
			want: ops{create, update, remove}},
		"creations alone": {webhook: all("[CREATE]"), match: pods, want: ops{create}},
		"several rules": {webhook: asking(`{apiGroups: [""], resources: [pods], operations: [CREATE]}`,
			`{apiGroups: [""], resources: ["*/*"], operations: [DELETE]}`), match: pods, want: ops{create, remove}},
		"deletions of some kinds": {webhook: asking(`{apiGroups: ["*"], resources: ["*"], operations: [CREATE, UPDATE]}`,
			`{apiGroups: [""], resources: [pods], operations: [DELETE]}`), match: both,
			notes: "DELETE of Pod, and not of Widget.example.com, by the rules of its configuration; the policy is " +
				"asked of none"},
		"some kinds alone": {webhook: asking(
			`{apiGroups: [example.com], resources: [widgets], operations: [CREATE, UPDATE]}`), match: both,
			notes: "CREATE of Widget.example.com, and not of Pod, by the rules of its configuration; the policy is " +
				"asked of all"},
		"no rules": {webhook: asking(), match: pods, notes: "isn't asked about these kinds"},
		"other kinds": {webhook: asking(`{apiGroups: [apps], resources: [deployments], operations: [CREATE]}`),
			match: pods, notes: "isn't asked about these kinds"},
		"what is in namespaces": {webhook: asking(
			`{apiGroups: ["*"], resources: ["*"], operations: ["*"], scope: Cluster}`), match: pods,
			notes: "isn't asked about these kinds"},
		"an eviction": {match: `{kinds: [{apiGroups: [policy], kinds: [Eviction]}]}`, want: ops{create}},
		"an eviction, and the webhook is asked about connections": {webhook: all(`["*"]`), want: ops{create},
			match: `{kinds: [{apiGroups: [policy], kinds: [Eviction]}]}`},
		"an eviction, and Pods of which creations aren't asked": {
			webhook: asking(`{apiGroups: [""], resources: [pods], operations: [UPDATE]}`,
				`{apiGroups: [""], resources: [pods/eviction], operations: [CREATE]}`),
			match: `{kinds: [{apiGroups: ["policy", ""], kinds: [Eviction, Pod]}]}`,
			notes: "asked about CREATE for the sake of pods/eviction"},
		"deletions by what names all of a resource": {webhook: asking(
			`{apiGroups: ["*"], resources: ["*"], operations: [CREATE, UPDATE]}`,
			`{apiGroups: [""], resources: ["pods/*"], operations: [DELETE]}`), match: pods,
			want: ops{create, update, remove}},
		"deletions alone": {webhook: all("[DELETE]"), match: pods, want: ops{remove},
			notes: "the scan leaves the policy out"},
		"an eviction and deletions": {webhook: all("[CREATE, UPDATE, DELETE]"), want: ops{create, update, remove},
			match: `{kinds: [{apiGroups: ["policy", ""], kinds: [Eviction, Pod]}]}`},
		"exec": {webhook: all("[CREATE, UPDATE, CONNECT]"), want: ops{create, update, connect},
			match: `{kinds: [{apiGroups: ["*"], kinds: [Pod, PodExecOptions]}]}`, notes: "migrate it again"},
		"exec alone": {webhook: all("[CREATE, UPDATE, CONNECT]"), want: ops{connect},
			match: `{kinds: [{apiGroups: [""], kinds: [PodExecOptions]}]}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			items := gatekeeper.Migrate(documents(t, tc.webhook+widgets+bearing(tc.match)), gatekeeper.Options{
				Owner: "team", Runbook: "https://example.com/NAME", Severity: v1alpha1.SeverityHigh,
				Operations: tc.given})
			last := items[len(items)-1]
			if last.State != gatekeeper.Migrated {
				t.Fatalf("%s: %q", last.State, last.Notes)
			}
			if diff := cmp.Diff(tc.want, last.Policy.Spec.Admission.Operations); diff != "" {
				t.Error(diff)
			}
			wantNotes(t, &last, tc.notes)
		})
	}
}

// TestKindsThatAreSentToSubresources has constraints name what is stored nowhere: a policy names the subresource.
func TestKindsThatAreSentToSubresources(t *testing.T) {
	connecting := asking(`{apiGroups: ["*"], resources: ["*", "pods/exec", "*/attach"], operations: [CREATE, ` +
		`UPDATE, CONNECT]}`)
	entry := func(group, kind string, subresources ...v1alpha1.Subresource) v1alpha1.KindMatch {
		return v1alpha1.KindMatch{APIGroups: []string{group}, Kinds: []string{kind}, Subresources: subresources}
	}
	cases := map[string]struct {
		webhook, match string
		want           []v1alpha1.KindMatch // nil: it needs work
		notes          string
	}{
		"an eviction": {match: `{kinds: [{apiGroups: [policy], kinds: [Eviction]}]}`,
			want: []v1alpha1.KindMatch{entry("", "Pod", "eviction")}},
		"a scale": {match: `{kinds: [{apiGroups: [autoscaling], kinds: [Scale]}]}`,
			want: []v1alpha1.KindMatch{entry("apps", "Deployment", "scale"), entry("apps", "ReplicaSet", "scale"),
				entry("apps", "StatefulSet", "scale"), entry("", "ReplicationController", "scale")}},
		"beside Pods": {webhook: connecting, match: `{kinds: [{apiGroups: [""], kinds: [Pod, PodExecOptions, ` +
			`PodAttachOptions]}]}`, want: []v1alpha1.KindMatch{entry("", "Pod"), entry("", "Pod", "exec", "attach")}},
		"of any group": {webhook: connecting, match: `{kinds: [{apiGroups: ["*"], kinds: [PodExecOptions]}]}`,
			want: []v1alpha1.KindMatch{entry("", "Pod", "exec")}},
		"of a resource that the webhook isn't asked about": {
			webhook: asking(`{apiGroups: ["*"], resources: ["*"], operations: ["*"]}`),
			match:   `{kinds: [{apiGroups: [policy], kinds: [Eviction]}]}`,
			notes:   "Eviction on pods/eviction is left out: Gatekeeper's webhook isn't asked about CREATE there"},
		"of what is in no namespace": {match: `{scope: Cluster, kinds: [{apiGroups: [policy], kinds: [Eviction]}]}`,
			notes: "nothing is left"},
		"the same, and Nodes": {match: `{scope: Cluster, kinds: [{apiGroups: [policy, ""], kinds: [Eviction, Node]}]}`,
			want: []v1alpha1.KindMatch{entry("", "Node")}},
		"a kind that isn't served beside it": {
			match: `{kinds: [{apiGroups: [policy], kinds: [Eviction, PodSecurityPolicy]}]}`,
			want:  []v1alpha1.KindMatch{entry("", "Pod", "eviction")},
			notes: "PodSecurityPolicy.policy, which no new policy"},
		"of Nodes, in some namespaces": {webhook: asking(`{apiGroups: ["*"], resources: ["*/*"], operations: ["*"]}`),
			match: `{namespaces: [shop], kinds: [{apiGroups: [""], kinds: [NodeProxyOptions]}]}`,
			want:  []v1alpha1.KindMatch{entry("", "Node", "proxy")}, notes: "whatever namespaces are chosen"},
		"of Nodes, where what is in namespaces is asked about": {
			webhook: asking(`{apiGroups: ["*"], resources: ["*/*"], operations: ["*"], scope: Namespaced}`),
			match:   `{kinds: [{apiGroups: [""], kinds: [NodeProxyOptions, PodProxyOptions]}]}`,
			want:    []v1alpha1.KindMatch{entry("", "Pod", "proxy")},
			notes:   "NodeProxyOptions on nodes/proxy is left out"},
		"in namespaces": {match: `{scope: Namespaced, kinds: [{apiGroups: [policy], kinds: [Eviction]}]}`,
			want: []v1alpha1.KindMatch{entry("", "Pod", "eviction")}},
		"a webhook that isn't asked about connections": {match: `{kinds: [{apiGroups: [""], kinds: [PodExecOptions]}]}`,
			notes: "PodExecOptions on pods/exec is left out: Gatekeeper's webhook isn't asked about CONNECT there, " +
				"so that the constraint never judges it; where yours is asked, give its " +
				"ValidatingWebhookConfiguration too"},
		"the same, and Pods": {match: `{kinds: [{apiGroups: [""], kinds: [Pod, PodExecOptions]}]}`,
			want: []v1alpha1.KindMatch{entry("", "Pod")}, notes: "PodExecOptions on pods/exec is left out"},
		"labels, which an eviction has none of": {
			match: `{labelSelector: {matchLabels: {a: b}}, kinds: [{apiGroups: [policy], kinds: [Eviction]}]}`,
			notes: "bears no labels"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			items := migrated(t, tc.webhook+bearing(tc.match))
			last := items[len(items)-1]
			var got []v1alpha1.KindMatch
			if last.Policy != nil {
				got = last.Policy.Spec.Match.Kinds
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%q", diff, last.Notes)
			}
			wantNotes(t, &last, tc.notes)
		})
	}
}

// TestKindsThatNobodyServes has constraints name kinds that there are no objects of, beside others and alone.
func TestKindsThatNobodyServes(t *testing.T) {
	older := slices.DeleteFunc(gatekeeper.BuiltIn(), func(k gatekeeper.Kind) bool { return k.Kind == "IPAddress" })
	pod, thing := gatekeeper.Kind{Kind: "Pod"}, gatekeeper.Kind{Group: "example.org", Kind: "Thing"}
	cases := map[string]struct {
		match  string
		served []gatekeeper.Kind // nil: nobody asked the cluster
		unsaid []string
		// enforced are what a policy names that enforces already.
		enforced []gatekeeper.Kind
		want     []string // nil: it needs work
		notes    string
	}{
		"groups beside kinds": {match: `{kinds: [{apiGroups: ["", apps, batch], kinds: [Pod, Deployment, Job]}]}`,
			want: []string{"Pod", "Deployment.apps", "Job.batch"}},
		"a group that is gone, beside another": {
			match: `{kinds: [{apiGroups: [extensions, networking.k8s.io], kinds: [Ingress]}]}`,
			want:  []string{"Ingress.networking.k8s.io"}},
		"a group that is gone, in another entry": {
			match: `{kinds: [{apiGroups: [extensions], kinds: [Ingress]}, {apiGroups: [""], kinds: [Pod]}]}`,
			want:  []string{"Pod"}, notes: "Ingress.extensions"},
		"a group that is gone alone": {match: `{kinds: [{apiGroups: [extensions], kinds: [Ingress]}]}`,
			notes: "Kubernetes doesn't serve Ingress.extensions, which no new policy may name then: left out\n" +
				"match.kinds: of what it names nothing is left"},
		"a kind that is gone alone": {match: `{kinds: [{apiGroups: [policy], kinds: [PodSecurityPolicy]}]}`,
			notes: "Kubernetes doesn't serve PodSecurityPolicy.policy"},
		"a kind in another's group alone": {match: `{kinds: [{apiGroups: [apps], kinds: [Pod]}]}`,
			notes: "Kubernetes doesn't serve Pod.apps"},
		"a kind of a later Kubernetes": {match: `{kinds: [{apiGroups: [scheduling.k8s.io], kinds: [Workload]}]}`,
			want: []string{"Workload.scheduling.k8s.io"}},
		"a kind whose definition isn't there": {match: `{kinds: [{apiGroups: [example.org], kinds: [Thing]}]}`,
			want: []string{"Thing.example.org"}},
		"the same, and the cluster was asked": {match: `{kinds: [{apiGroups: [example.org], kinds: [Thing]}]}`,
			served: older, notes: "this cluster doesn't serve Thing.example.org, which"},
		"the same, and its group doesn't say what it serves": {unsaid: []string{"example.org"},
			match: `{kinds: [{apiGroups: [example.org], kinds: [Thing]}]}`, served: older,
			want: []string{"Thing.example.org"}},
		"a kind that the cluster is too old for": {
			match:  `{kinds: [{apiGroups: [networking.k8s.io], kinds: [IPAddress, Ingress]}]}`,
			served: older, want: []string{"Ingress.networking.k8s.io"},
			notes: "this cluster doesn't serve IPAddress.networking.k8s.io, which no new policy may name then: left " +
				"out"},
		"any kind of a group that the cluster is too old for": {
			match:  `{kinds: [{apiGroups: [networking.k8s.io], kinds: ["*"]}]}`,
			served: older, want: []string{"Ingress.networking.k8s.io", "IngressClass.networking.k8s.io",
				"NetworkPolicy.networking.k8s.io", "ServiceCIDR.networking.k8s.io"}, notes: "whatever kind there is"},
		"a kind that is gone for the moment, and is enforced": {enforced: []gatekeeper.Kind{pod, thing},
			match: `{kinds: [{apiGroups: ["", example.org], kinds: [Pod, Thing]}]}`, served: older,
			want: []string{"Pod", "Thing.example.org"}, notes: "keeps naming them"},
		"the same, alone": {enforced: []gatekeeper.Kind{thing}, served: older,
			match: `{kinds: [{apiGroups: [example.org], kinds: [Thing]}]}`, want: []string{"Thing.example.org"},
			notes: "this cluster doesn't serve Thing.example.org just now, or doesn't say so; the policy enforces"},
		"the same, of a scope": {enforced: []gatekeeper.Kind{thing}, served: older,
			match: `{scope: Cluster, kinds: [{apiGroups: [example.org], kinds: [Thing]}]}`,
			notes: "whether Thing.example.org lives in namespaces isn't known"},
		"the same, of any kind of its group": {enforced: []gatekeeper.Kind{thing}, served: older,
			match: `{kinds: [{apiGroups: [example.org], kinds: ["*"]}]}`, want: []string{"Thing.example.org"},
			notes: "keeps naming them"},
		"the same, and the group doesn't say what it serves": {enforced: []gatekeeper.Kind{thing}, served: older,
			unsaid: []string{"example.org"}, match: `{kinds: [{apiGroups: [example.org], kinds: ["*"]}]}`,
			want: []string{"Thing.example.org"}, notes: "or doesn't say so"},
		"the constraint has given it up": {enforced: []gatekeeper.Kind{pod, thing}, served: older,
			match: `{kinds: [{apiGroups: [""], kinds: [Pod]}]}`, want: []string{"Pod"}},
		"a product of groups and kinds is enforced": {served: older,
			enforced: []gatekeeper.Kind{pod, {Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "Pod"}},
			match:    `{kinds: [{apiGroups: ["", apps], kinds: [Pod, Deployment]}]}`,
			want:     []string{"Pod", "Deployment.apps"}},
		"what no constraint on every kind means": {match: `{kinds: [{apiGroups: [""], kinds: [Event]}]}`,
			want: []string{"Event"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			items := gatekeeper.Migrate(documents(t, bearing(tc.match)), gatekeeper.Options{
				Owner: "team", Runbook: "https://example.com/NAME", Severity: v1alpha1.SeverityHigh,
				Kinds: tc.served, Served: tc.served != nil, Unsaid: tc.unsaid,
				Enforced: map[string][]gatekeeper.Kind{"MustBear/bear": tc.enforced}})
			last := items[len(items)-1]
			var got []string
			if last.Policy != nil {
				for _, r := range last.Policy.Spec.Match.Kinds {
					for _, group := range r.APIGroups {
						for _, kind := range r.Kinds {
							got = append(got, gatekeeper.Kind{Group: group, Kind: kind}.String())
						}
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%q", diff, last.Notes)
			}
			wantNotes(t, &last, tc.notes)
		})
	}
}

// TestAPolicyFailsClosedWhereGatekeepersWebhookDoes: by the API's default it does (admissionregistration.k8s.io/v1).
func TestAPolicyFailsClosedWhereGatekeepersWebhookDoes(t *testing.T) {
	open := asking(`{apiGroups: ["*"], resources: ["*"], operations: ["*"]}`)
	for webhook, want := range map[string]v1alpha1.FailurePolicy{
		"":   v1alpha1.FailurePolicyIgnore,
		open: v1alpha1.FailurePolicyIgnore,
		strings.Replace(open, "failurePolicy: Ignore", "failurePolicy: Fail", 1): v1alpha1.FailurePolicyFail,
		strings.Replace(open, "  failurePolicy: Ignore\n", "", 1):                v1alpha1.FailurePolicyFail,
	} {
		items := migrated(t, webhook+bearing(`{kinds: [{apiGroups: [""], kinds: [Pod]}]}`))
		if got := items[len(items)-1].Policy.Spec.Admission.FailurePolicy; got != want {
			t.Errorf("%s, want %s: %s", got, want, webhook)
		}
	}
}
