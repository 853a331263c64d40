// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper/live"
)

// constraintOf is one that denies, or only records.
func constraintOf(name string, records bool) *live.Constraint {
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "Teamed",
		"metadata": map[string]any{"name": name, "uid": "u1"}, "spec": map[string]any{}}}
	if records {
		_ = unstructured.SetNestedField(object.Object, "dryrun", "spec", "enforcementAction")
	}
	return &live.Constraint{Object: object}
}

// policyOf is what a constraint became, as it is now.
func policyOf(name string, c *live.Constraint, action v1alpha1.AdmissionAction) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{}
	p.Name, p.Spec.Admission.Action = name, action
	p.Annotations = map[string]string{v1alpha1.AnnotationMigratedFrom: c.ID(), v1alpha1.AnnotationMigratedUID: "u1",
		v1alpha1.AnnotationMigratedDigest: (&live.Source{}).Digest(c)}
	return p
}

func estateOf(c *live.Constraint, policies ...*v1alpha1.ClusterRegoPolicy) *estate {
	return &estate{source: &live.Source{Constraints: []*live.Constraint{c}},
		policies: map[string][]*v1alpha1.ClusterRegoPolicy{c.ID(): policies}}
}

// unasked is an estate whose API server doesn't ask Gatekeeper's webhook.
func unasked(e *estate) *estate {
	e.source.Unasked = true
	return e
}

// enforcing is a policy that is in force as it is written.
func enforcing(p *v1alpha1.ClusterRegoPolicy) *v1alpha1.ClusterRegoPolicy {
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Service"}}}
	p.Status.InForce = &v1alpha1.PolicyInForce{AdmissionAction: p.Spec.Admission.Action}
	meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady,
		Status: metav1.ConditionTrue, Reason: "InForce"})
	return p
}

// changed is a policy of which something has changed since.
func changed(p *v1alpha1.ClusterRegoPolicy, change func(*v1alpha1.ClusterRegoPolicy)) *v1alpha1.ClusterRegoPolicy {
	change(p)
	return p
}

// webhookOn is Evenkeel's webhook, asked of some resources.
func webhookOn(resources ...string) *live.Webhook {
	rule := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule: admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"},
			Resources: resources}}
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Rules: []admissionregistrationv1.RuleWithOperations{rule}}}}
	return live.NewWebhook(config, []*metav1.APIResourceList{{GroupVersion: "v1",
		APIResources: []metav1.APIResource{{Name: "services", Kind: "Service", Namespaced: true,
			Verbs: []string{"create", "list"}}}}})
}

func TestStatusSaysWhatIsWrongAndWhatHelps(t *testing.T) {
	edited := constraintOf("a", false)
	made := policyOf("a", edited, v1alpha1.AdmissionAudit)
	_ = unstructured.SetNestedField(edited.Object.Object, "x", "spec", "parameters", "label")
	whole, switched := constraintOf("a", false), constraintOf("a", true)
	cases := map[string]struct {
		estate *estate
		// webhook is asked of Services where it is nil.
		webhook *live.Webhook
		want    []string // nil where nothing is wrong
		notes   string
	}{
		"it isn't migrated": {estate: estateOf(whole)},
		"it is migrated":    {estate: estateOf(whole, policyOf("a", whole, v1alpha1.AdmissionAudit))},
		"it is switched":    {estate: estateOf(switched, enforcing(policyOf("a", switched, v1alpha1.AdmissionDeny)))},
		"both enforce":      {estate: estateOf(whole, enforcing(policyOf("a", whole, v1alpha1.AdmissionDeny)))},
		"both enforce, and the policy does less": {
			estate: estateOf(whole, enforcing(policyOf("a", whole, v1alpha1.AdmissionWarn))),
			notes:  "the constraint's action is Deny, and the policy's is Warn"},
		"both enforce, and the policy isn't in force": {
			estate: estateOf(whole, policyOf("a", whole, v1alpha1.AdmissionDeny)),
			want:   []string{"policy a isn't in force as it is written"}},
		"both enforce, and Evenkeel isn't asked": {
			estate:  estateOf(whole, enforcing(policyOf("a", whole, v1alpha1.AdmissionDeny))),
			webhook: webhookOn("pods"), want: []string{"the API server doesn't ask Evenkeel's webhook of Service"}},
		"it is switched, and the policy isn't in force": {
			estate: estateOf(switched, policyOf("a", switched, v1alpha1.AdmissionDeny)),
			want:   []string{"policy a isn't in force as it is written"}},
		"it is switched, and an override softens the policy": {
			estate: estateOf(switched, changed(enforcing(policyOf("a", switched, v1alpha1.AdmissionDeny)),
				func(p *v1alpha1.ClusterRegoPolicy) { p.Status.InForce.AdmissionAction = v1alpha1.AdmissionAudit })),
			want: []string{"evenkeel policy history a tells of overrides"}},
		"it is switched, and Evenkeel's webhook is gone": {
			estate:  estateOf(switched, enforcing(policyOf("a", switched, v1alpha1.AdmissionDeny))),
			webhook: live.NewWebhook(nil, nil),
			want:    []string{"there is no ValidatingWebhookConfiguration evenkeel, so that Evenkeel refuses nothing"}},
		"it is switched, and Evenkeel isn't asked": {
			estate:  estateOf(switched, enforcing(policyOf("a", switched, v1alpha1.AdmissionDeny))),
			webhook: webhookOn("pods"), want: []string{"the API server doesn't ask Evenkeel's webhook of Service"}},
		"the constraint has changed": {estate: estateOf(edited, made), want: []string{"made of an older constraint"}},
		"Gatekeeper's webhook is gone": {
			estate: unasked(estateOf(whole, policyOf("a", whole, v1alpha1.AdmissionAudit))),
			want:   []string{"nobody enforces it: no ValidatingWebhookConfiguration"}},
		"the same, and it is switched": {estate: unasked(estateOf(switched, enforcing(policyOf("a", switched,
			v1alpha1.AdmissionDeny))))},
		"two policies claim it": {estate: estateOf(whole, policyOf("b", whole, v1alpha1.AdmissionAudit),
			policyOf("a", whole, v1alpha1.AdmissionAudit)), want: []string{"policies a, b all", "none is taken"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.webhook == nil {
				tc.webhook = webhookOn("services")
			}
			all := tc.estate.standings(tc.webhook)
			var out strings.Builder
			if err := drawStandings(&out, all); err != nil {
				t.Fatal(err)
			}
			err := wrong(all)
			if (err == nil) != (tc.want == nil) {
				t.Errorf("it ended as %v: %s", err, &out)
			}
			if !strings.Contains(out.String(), tc.notes) || (tc.notes == "") != (len(all[0].Notes) < 2) {
				t.Errorf("it notes %q, want %q", all[0].Notes, tc.notes)
			}
			noted := strings.Contains(out.String(), "note: Evenkeel never refuses anything in kube-node-lease, ")
			if noted != (all[0].Policy != "") {
				t.Errorf("it says %q", &out)
			}
			for _, part := range tc.want {
				if !strings.Contains(out.String(), part) {
					t.Errorf("it says %q, want %q", &out, part)
				}
			}
		})
	}
}

func TestAConstraintWithoutOnePolicyIsNotCompared(t *testing.T) {
	whole := constraintOf("a", false)
	a, b := policyOf("a", whole, v1alpha1.AdmissionAudit), policyOf("b", whole, v1alpha1.AdmissionAudit)
	cases := map[string]struct {
		estate *estate
		pairs  int
		want   string
	}{
		"one":  {estate: estateOf(whole, a), pairs: 1},
		"none": {estate: estateOf(whole), want: "not migrated: run evenkeel migrate gatekeeper apply"},
		"two":  {estate: estateOf(whole, a, b), want: "policies a, b all"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pairs, err := tc.estate.pairs("")
			if err != nil || len(pairs) != tc.pairs {
				t.Errorf("%d pairs, %v", len(pairs), err)
			}
			_, err = tc.estate.pairs("a")
			if (err == nil) != (tc.pairs == 1) {
				t.Errorf("one alone ended as %v", err)
			}
			rows := tc.estate.unpaired()
			if len(rows) != 1-tc.pairs {
				t.Fatalf("it says %v", rows)
			}
			if len(rows) == 1 && (rows[0].Verdict != live.Different ||
				!strings.Contains(strings.Join(rows[0].Notes, "\n"), tc.want)) {
				t.Errorf("it says %v, want %q", rows, tc.want)
			}
		})
	}
}

func TestAPolicyKeepsTheNameThatItHas(t *testing.T) {
	whole := constraintOf("a", false)
	cases := map[string]struct {
		estate *estate
		want   map[string]string
	}{
		"none": {estateOf(whole), map[string]string{}},
		"one":  {estateOf(whole, policyOf("x", whole, "Audit")), map[string]string{"Teamed/a": "x"}},
		"two, none is taken": {estateOf(whole, policyOf("x", whole, ""), policyOf("y", whole, "")),
			map[string]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.estate.names()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestApplyKnowsWhatGatekeepersWebhookIsAskedAbout has it be gone: a policy that enforces might be written to do so less.
func TestApplyKnowsWhatGatekeepersWebhookIsAskedAbout(t *testing.T) {
	switched := constraintOf("a", true)
	enforces := estateOf(switched, policyOf("a", switched, v1alpha1.AdmissionDeny))
	if err := enforces.knowsWebhook(); err != nil {
		t.Error(err)
	}
	if err := unasked(enforces).knowsWebhook(); err == nil || !strings.Contains(err.Error(), "nothing is written") {
		t.Errorf("it says %v", err)
	}
	records := unasked(estateOf(switched, policyOf("a", switched, v1alpha1.AdmissionAudit)))
	if err := records.knowsWebhook(); err != nil {
		t.Error(err)
	}
}
