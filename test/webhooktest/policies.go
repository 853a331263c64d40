// SPDX-License-Identifier: Apache-2.0

package webhooktest

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// PrivilegedRego denies and fixes privileged containers, and warns of the default service account.
const PrivilegedRego = `package evenkeel.test.privileged

privileged contains i if {
	some i, c in input.pod.spec.containers
	c.securityContext.privileged
}

at(i) := sprintf("/spec/containers/%d/securityContext/privileged", [i])

deny contains {"msg": msg, "path": at(i)} if {
	some i in privileged
	msg := sprintf("container %q is privileged", [input.pod.spec.containers[i].name])
}

warn contains "the service account is the default one" if input.pod.spec.serviceAccountName == "default"

remediation contains {"action": "patch", "ops": [{"op": "replace", "path": at(i), "value": false}]} if {
	some i in privileged
}
`

// BrokenRego fails when it is evaluated, not when it is compiled.
const BrokenRego = `package evenkeel.test.broken

deny contains "never" if to_number(input.object.metadata.name) > 3
`

// NewPolicy is a Deny policy on Pods and pod templates that fails closed.
func NewPolicy(name, rego string, change ...func(*v1alpha1.ClusterRegoPolicy)) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1},
		Spec: v1alpha1.RegoPolicySpec{
			Title:      "No privileged containers",
			Owner:      "platform",
			Severity:   v1alpha1.SeverityHigh,
			RunbookURL: "https://runbooks.example.com/" + name,
			Rego:       v1alpha1.RegoSource{File: name + ".rego", Main: rego},
			Match: v1alpha1.Match{
				Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}},
			Admission: v1alpha1.Admission{Action: v1alpha1.AdmissionDeny},
		},
	}
	p.SetDefaults()
	for _, c := range change {
		c(p)
	}
	return p
}

// WithAction sets what admission does about a violation.
func WithAction(action v1alpha1.AdmissionAction) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Admission.Action = action }
}

// WithFailurePolicy sets what becomes of a request that nobody judges.
func WithFailurePolicy(f v1alpha1.FailurePolicy) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Admission.FailurePolicy = f }
}

// DenyingExisting has a policy refuse what was there before an update, too.
func DenyingExisting(p *v1alpha1.ClusterRegoPolicy) {
	p.Spec.Admission.ExistingViolations = v1alpha1.ExistingDeny
}

// WithOperations sets what a policy judges.
func WithOperations(ops ...v1alpha1.Operation) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Admission.Operations = ops }
}

// WithResources adds kinds that a policy matches.
func WithResources(group string, kinds ...string) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Match.Kinds = append(
			p.Spec.Match.Kinds, v1alpha1.KindMatch{APIGroups: []string{group}, Kinds: kinds})
	}
}

// NewCatalog is a catalog with the policies in force.
func NewCatalog(t testing.TB, policies ...*v1alpha1.ClusterRegoPolicy) *catalog.Catalog {
	t.Helper()
	c := catalog.New(catalog.Options{TimeLimit: 5 * time.Second})
	for _, p := range policies {
		if err := c.Set(p); err != nil {
			t.Fatalf("policy %s: %v", p.Name, err)
		}
	}
	return c
}

// JSON is a value of a field that takes any.
func JSON(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

// WithConditions has a policy judge only what these say.
func WithConditions(expressions ...string) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) {
		for i, expression := range expressions {
			p.Spec.Admission.MatchConditions = append(p.Spec.Admission.MatchConditions,
				v1alpha1.MatchCondition{Name: string(rune('a' + i)), Expression: expression})
		}
	}
}
