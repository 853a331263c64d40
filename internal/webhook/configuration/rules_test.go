// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/discovery"
	"evenkeel.dev/evenkeel/internal/webhook/exempt"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

func testGenerator(kinds *discovery.Kinds) *Generator {
	return &Generator{
		Endpoint:         Endpoint{URLBase: "https://localhost:9443"},
		Timeout:          5 * time.Second,
		ExemptNamespaces: []string{"kube-system", "evenkeel-system", "kube-system"},
		Kinds:            kinds,
	}
}

// golden writes webhooks as lines that people can read: the entry, then a line a
// rule.
func golden(hooks []admissionregistrationv1.ValidatingWebhook) string {
	var b strings.Builder
	for _, h := range hooks {
		fmt.Fprintf(&b, "%s %s %s\n", h.Name, *h.FailurePolicy, *h.ClientConfig.URL)
		for _, r := range h.Rules {
			fmt.Fprintf(&b, "  %q %v %v %v %s\n", r.APIGroups[0], r.APIVersions, r.Resources, r.Operations, *r.Scope)
		}
	}
	return b.String()
}

const policiesHook = `clusterregopolicies.evenkeel.dev Fail https://localhost:9443/validate/policy
  "evenkeel.dev" [v1alpha1] [clusterregopolicies] [CREATE UPDATE] Cluster
regotemplates.evenkeel.dev Fail https://localhost:9443/validate/template
  "evenkeel.dev" [v1alpha1] [regotemplates] [CREATE UPDATE] Cluster
waivers.evenkeel.dev Fail https://localhost:9443/validate/waiver
  "evenkeel.dev" [v1alpha1] [waivers] [CREATE UPDATE] Namespaced
clusterwaivers.evenkeel.dev Fail https://localhost:9443/validate/waiver
  "evenkeel.dev" [v1alpha1] [clusterwaivers] [CREATE UPDATE] Cluster
remediationstrategies.evenkeel.dev Fail https://localhost:9443/validate/strategy
  "evenkeel.dev" [v1alpha1] [remediationstrategies] [CREATE UPDATE] Cluster
policyoverrides.evenkeel.dev Fail https://localhost:9443/validate/override
  "evenkeel.dev" [v1alpha1] [policyoverrides] [CREATE UPDATE] Cluster
records.evenkeel.dev Fail https://localhost:9443/validate/records
  "evenkeel.dev" [v1alpha1] [remediations] [UPDATE] Cluster
breakers.evenkeel.dev Fail https://localhost:9443/validate/records
  "evenkeel.dev" [v1alpha1] [remediationbreakers] [CREATE UPDATE] Cluster
deletions.evenkeel.dev Ignore https://localhost:9443/validate/deletion
  "evenkeel.dev" [v1alpha1] [clusterregopolicies] [DELETE] Cluster
`

func TestWebhooksCoverWhatThePoliciesConcern(t *testing.T) {
	noTemplates := func(p *v1alpha1.ClusterRegoPolicy) { off := false; p.Spec.Match.PodTemplates = &off }
	onlyServices := func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Service"}}}
	}
	cases := map[string]struct {
		reason      string
		policies    []*v1alpha1.ClusterRegoPolicy
		want        string
		wantUnknown []string
	}{
		"without policies only policies themselves are checked": {
			reason: "no request is slowed down for nothing",
			want:   policiesHook,
		},
		"a policy on Pods covers every kind with a pod template": {
			policies: []*v1alpha1.ClusterRegoPolicy{webhooktest.NewPolicy("a", webhooktest.PrivilegedRego)},
			want: `fail.evenkeel.dev Fail https://localhost:9443/validate/fail
  "" [v1] [pods replicationcontrollers] [CREATE UPDATE] Namespaced
  "" [v1] [pods/ephemeralcontainers pods/resize] [UPDATE] Namespaced
  "apps" [v1] [daemonsets deployments replicasets statefulsets] [CREATE UPDATE] Namespaced
  "batch" [v1] [cronjobs jobs] [CREATE UPDATE] Namespaced
` + policiesHook,
		},
		"policies of both classes make both entries": {
			policies: []*v1alpha1.ClusterRegoPolicy{
				webhooktest.NewPolicy("a", webhooktest.PrivilegedRego, noTemplates),
				webhooktest.NewPolicy("b", webhooktest.PrivilegedRego, onlyServices,
					webhooktest.WithFailurePolicy(v1alpha1.FailurePolicyIgnore)),
			},
			want: `fail.evenkeel.dev Fail https://localhost:9443/validate/fail
  "" [v1] [pods] [CREATE UPDATE] Namespaced
  "" [v1] [pods/ephemeralcontainers pods/resize] [UPDATE] Namespaced
ignore.evenkeel.dev Ignore https://localhost:9443/validate/ignore
  "" [v1] [services] [CREATE UPDATE] Namespaced
` + policiesHook,
		},
		"a policy that refuses nothing fails open, whatever its failurePolicy": {
			policies: []*v1alpha1.ClusterRegoPolicy{
				webhooktest.NewPolicy("a", webhooktest.PrivilegedRego, onlyServices,
					webhooktest.WithAction(v1alpha1.AdmissionAudit))},
			want: `ignore.evenkeel.dev Ignore https://localhost:9443/validate/ignore
  "" [v1] [services] [CREATE UPDATE] Namespaced
` + policiesHook,
		},
		"operations of policies on one resource are joined, resources with other ones stay apart": {
			policies: []*v1alpha1.ClusterRegoPolicy{
				webhooktest.NewPolicy("a", webhooktest.PrivilegedRego, noTemplates,
					webhooktest.WithOperations(v1alpha1.OperationDelete)),
				webhooktest.NewPolicy("b", webhooktest.PrivilegedRego, noTemplates,
					webhooktest.WithResources("", "Service"), webhooktest.WithOperations(v1alpha1.OperationCreate)),
			},
			want: `fail.evenkeel.dev Fail https://localhost:9443/validate/fail
  "" [v1] [services] [CREATE] Namespaced
  "" [v1] [pods] [CREATE DELETE] Namespaced
  "" [v1] [pods/ephemeralcontainers] [UPDATE] Namespaced
` + policiesHook,
		},
		"cluster-scoped kinds have a rule of their own": {
			policies: []*v1alpha1.ClusterRegoPolicy{
				webhooktest.NewPolicy("a", webhooktest.PrivilegedRego, noTemplates,
					webhooktest.WithResources("", "Namespace"))},
			want: `fail.evenkeel.dev Fail https://localhost:9443/validate/fail
  "" [v1] [namespaces] [CREATE UPDATE] Cluster
  "" [v1] [pods] [CREATE UPDATE] Namespaced
  "" [v1] [pods/ephemeralcontainers pods/resize] [UPDATE] Namespaced
` + policiesHook,
		},
		"kinds that aren't served are left out and named": {
			policies: []*v1alpha1.ClusterRegoPolicy{
				webhooktest.NewPolicy("a", webhooktest.PrivilegedRego, onlyServices,
					webhooktest.WithResources("example.com", "Widget"))},
			want: `fail.evenkeel.dev Fail https://localhost:9443/validate/fail
  "" [v1] [services] [CREATE UPDATE] Namespaced
` + policiesHook,
			wantUnknown: []string{"example.com/Widget"},
		},
		"leases and Evenkeel's own kinds are never covered": {
			policies: []*v1alpha1.ClusterRegoPolicy{
				webhooktest.NewPolicy("a", webhooktest.PrivilegedRego, onlyServices,
					webhooktest.WithResources("coordination.k8s.io", "Lease"),
					webhooktest.WithResources("evenkeel.dev", "ClusterRegoPolicy"))},
			want: `fail.evenkeel.dev Fail https://localhost:9443/validate/fail
  "" [v1] [services] [CREATE UPDATE] Namespaced
` + policiesHook,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hooks, unknown, err := testGenerator(webhooktest.Kinds()).Webhooks(tc.policies, []byte("bundle"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, golden(hooks)); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.wantUnknown, unknown); diff != "" {
				t.Errorf("unknown kinds (-want +got)\n%s", diff)
			}
		})
	}
}

func TestWebhooksStateEveryField(t *testing.T) {
	hooks, _, err := testGenerator(webhooktest.Kinds()).Webhooks(
		[]*v1alpha1.ClusterRegoPolicy{webhooktest.NewPolicy("a", webhooktest.PrivilegedRego)}, []byte("bundle"))
	if err != nil {
		t.Fatal(err)
	}
	selector := hooks[0].NamespaceSelector.MatchExpressions
	if diff := cmp.Diff([]string{"evenkeel-system", "kube-system"}, selector[0].Values); diff != "" ||
		selector[0].Operator != "NotIn" || selector[0].Key != "kubernetes.io/metadata.name" {
		t.Errorf("namespaceSelector %v\n%s", selector, diff)
	}
	for _, h := range hooks {
		if *h.MatchPolicy != admissionregistrationv1.Equivalent ||
			*h.SideEffects != admissionregistrationv1.SideEffectClassNone || *h.TimeoutSeconds != 5 ||
			h.NamespaceSelector == nil || h.ObjectSelector == nil || string(h.ClientConfig.CABundle) != "bundle" {
			t.Errorf("%s has an incomplete entry: %+v", h.Name, h)
		}
	}
}

func TestWebhooksAreNotWrittenWhenTheAPICannotBeAsked(t *testing.T) {
	down := errors.New("connection refused")
	kinds := discovery.NewKinds(func() (meta.RESTMapper, error) { return nil, down })
	_, _, err := testGenerator(kinds).Webhooks(
		[]*v1alpha1.ClusterRegoPolicy{webhooktest.NewPolicy("a", webhooktest.PrivilegedRego)}, nil)
	if !errors.Is(err, down) {
		t.Errorf("want the API's error, got %v: leaving the kinds out would switch the policy off", err)
	}
}

func TestEndpoint(t *testing.T) {
	cases := map[string]struct {
		endpoint Endpoint
		want     string // part of the error; empty when the endpoint is good
		name     string
	}{
		"a host by name":            {endpoint: Endpoint{URLBase: "https://localhost:9443"}, name: "localhost"},
		"a service":                 {endpoint: Endpoint{Service: "hook", Namespace: "ns"}, name: "hook.ns.svc"},
		"an address has no name":    {endpoint: Endpoint{URLBase: "https://127.0.0.1:9443"}, want: "name the host"},
		"plain HTTP is refused":     {endpoint: Endpoint{URLBase: "http://localhost:9443"}, want: "https://HOST:PORT"},
		"a query is refused":        {endpoint: Endpoint{URLBase: "https://localhost?x=1"}, want: "https://HOST:PORT"},
		"neither URL nor a service": {endpoint: Endpoint{Namespace: "ns"}, want: "set a URL base"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.endpoint.Validate()
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("want an error with %q, got %v", tc.want, err)
				}
				return
			}
			if err != nil || tc.endpoint.ServerName() != tc.name {
				t.Errorf("got %q, %v; want %q", tc.endpoint.ServerName(), err, tc.name)
			}
		})
	}
}

func TestConditionsOfEveryWebhookCompile(t *testing.T) {
	hooks, _, err := testGenerator(webhooktest.Kinds()).Webhooks(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hooks {
		if len(h.MatchConditions) == 0 || h.MatchConditions[0].Name != "not-finalizers-of-a-deletion" {
			t.Errorf("%s: a deletion of Evenkeel's own kind hangs while nobody answers: %v", h.Name, h.MatchConditions)
		}
		for _, c := range h.MatchConditions {
			webhooktest.Condition(t, c.Expression)
		}
	}
	for _, h := range testGenerator(webhooktest.Kinds()).MutatingWebhooks(nil) {
		for _, c := range h.MatchConditions {
			webhooktest.Condition(t, c.Expression)
		}
		if len(h.MatchConditions) == 0 {
			t.Errorf("%s has no condition", h.Name)
		}
	}
}

func TestTheManagersRollbacksAreNotReviewed(t *testing.T) {
	type tree = map[string]any
	const self = "system:serviceaccount:evenkeel-system:evenkeel"
	rollback := tree{"fieldManager": v1alpha1.RollbackFieldManager}
	cases := map[string]struct {
		reason   string
		request  tree
		reviewed bool
	}{
		"The manager's rollback": {
			reason:  "a rollback must never be blocked",
			request: tree{"userInfo": tree{"username": self}, "options": rollback},
		},
		"Another write of the manager": {
			reason: "a fix must not violate", reviewed: true,
			request: tree{"userInfo": tree{"username": self}, "options": tree{"fieldManager": v1alpha1.FieldManager}},
		},
		"A write of the manager without options": {
			reason: "a fix must not violate", reviewed: true, request: tree{"userInfo": tree{"username": self}},
		},
		"A user who sends the field manager of rollbacks": {
			reason: "anyone can send that name", reviewed: true,
			request: tree{"userInfo": tree{"username": "mallory"}, "options": rollback},
		},
		"No user": {
			reason: "it isn't the manager", reviewed: true, request: tree{"userInfo": tree{}, "options": rollback},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			generator := testGenerator(webhooktest.Kinds())
			generator.Self = self
			condition := webhooktest.Condition(t, generator.notRollback().Expression)
			got, _, err := condition.Eval(tree{"request": tc.request})
			if err != nil || got.Value() != tc.reviewed {
				t.Errorf("%s: reviewed %v (%v), want %t", tc.reason, got, err, tc.reviewed)
			}
		})
	}
	hooks, _, err := testGenerator(webhooktest.Kinds()).Webhooks([]*v1alpha1.ClusterRegoPolicy{
		webhooktest.NewPolicy("p", webhooktest.PrivilegedRego)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := hooks[0].MatchConditions[len(hooks[0].MatchConditions)-1]
	if last.Name != "not-rollback-of-the-manager" {
		t.Errorf("%s: the last condition is %s, want that on rollbacks", hooks[0].Name, last.Name)
	}
}

func TestMutatingWebhooksConcernOwnKindsOnly(t *testing.T) {
	var lines []string
	for _, h := range testGenerator(webhooktest.Kinds()).MutatingWebhooks([]byte("bundle")) {
		r := h.Rules[0]
		line := strings.Join([]string{h.Name, string(*h.FailurePolicy), *h.ClientConfig.URL, r.APIGroups[0],
			r.Resources[0], string(*r.Scope), string(*h.ReinvocationPolicy)}, " ")
		for _, op := range r.Operations {
			line += " " + string(op)
		}
		if h.MatchConditions[0] != exempt.OwnConditions()[0] {
			t.Errorf("%s: the deletion of an object of ours can't end while nobody answers: %v", h.Name,
				h.MatchConditions)
		}
		for _, c := range h.MatchConditions[1:] {
			line += " if " + c.Expression
		}
		lines = append(lines, line)
		if len(h.Rules) != 1 || *h.SideEffects != "None" || *h.TimeoutSeconds != 5 || h.NamespaceSelector == nil ||
			h.ObjectSelector == nil || string(h.ClientConfig.CABundle) != "bundle" {
			t.Errorf("%s has an incomplete entry: %+v", h.Name, h)
		}
	}
	act := func(webhook string) string {
		for _, s := range stamp.All() {
			if s.Webhook == webhook && s.Condition != "" {
				return s.Condition
			}
		}
		t.Fatalf("%s has no condition", webhook)
		return ""
	}
	want := []string{
		"author.evenkeel.dev Fail https://localhost:9443/mutate/stamp evenkeel.dev clusterregopolicies Cluster " +
			"IfNeeded CREATE UPDATE",
		"template-author.evenkeel.dev Fail https://localhost:9443/mutate/stamp evenkeel.dev regotemplates Cluster " +
			"IfNeeded CREATE UPDATE",
		"strategy-author.evenkeel.dev Fail https://localhost:9443/mutate/stamp evenkeel.dev remediationstrategies " +
			"Cluster IfNeeded CREATE UPDATE",
		// The kill switch works while nobody answers; nothing else of a breaker does.
		"force-open.evenkeel.dev Ignore https://localhost:9443/mutate/stamp evenkeel.dev remediationbreakers Cluster " +
			"IfNeeded CREATE UPDATE" +
			" if " + act(names.WebhookForceOpen),
		"breaker-requests.evenkeel.dev Fail https://localhost:9443/mutate/stamp evenkeel.dev remediationbreakers " +
			"Cluster IfNeeded CREATE UPDATE" +
			" if " + act(names.WebhookBreakerRequests),
		"plan-requests.evenkeel.dev Fail https://localhost:9443/mutate/stamp evenkeel.dev remediations Cluster " +
			"IfNeeded CREATE UPDATE" +
			" if " + act(names.WebhookPlanRequests),
		"override-requests.evenkeel.dev Fail https://localhost:9443/mutate/stamp evenkeel.dev policyoverrides " +
			"Cluster IfNeeded CREATE UPDATE",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRulesNameSubresources(t *testing.T) {
	cases := map[string]struct {
		policies []*v1alpha1.ClusterRegoPolicy
		want     string
	}{
		"CONNECT of each that is named, and nothing of the Pod itself": {
			policies: []*v1alpha1.ClusterRegoPolicy{
				webhooktest.NewPolicy("a", webhooktest.NoShells,
					webhooktest.OfParts("CONNECT", "", "Pod", "exec", "attach"))},
			want: `fail.evenkeel.dev Fail https://localhost:9443/validate/fail
  "" [v1] [pods/attach pods/exec] [CONNECT] Namespaced
` + policiesHook,
		},
		"each by its own operation": {
			policies: []*v1alpha1.ClusterRegoPolicy{
				webhooktest.NewPolicy("a", webhooktest.NoShells, webhooktest.OfParts("CREATE", "", "Pod", "eviction")),
				webhooktest.NewPolicy("b", webhooktest.NoShells,
					webhooktest.OfParts("UPDATE", "apps", "Deployment", "scale")),
				webhooktest.NewPolicy("c", webhooktest.NoShells, func(p *v1alpha1.ClusterRegoPolicy) {
					off := false
					p.Spec.Match.PodTemplates = &off
				}, webhooktest.WithResources("", "Pod"),
					func(p *v1alpha1.ClusterRegoPolicy) {
						p.Spec.Match.Kinds[1].Subresources = []v1alpha1.Subresource{"exec"}
						p.Spec.Admission.Operations = []v1alpha1.Operation{"DELETE", "CONNECT"}
					}),
			},
			want: `fail.evenkeel.dev Fail https://localhost:9443/validate/fail
  "" [v1] [pods/exec] [CONNECT] Namespaced
  "" [v1] [pods/eviction] [CREATE] Namespaced
  "" [v1] [pods] [DELETE] Namespaced
  "apps" [v1] [deployments/scale] [UPDATE] Namespaced
` + policiesHook,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hooks, _, err := testGenerator(webhooktest.Kinds()).Webhooks(tc.policies, []byte("bundle"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, golden(hooks)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
