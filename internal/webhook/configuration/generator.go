// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/discovery"
	"evenkeel.dev/evenkeel/internal/webhook/exempt"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
)

// Endpoint is how the API server reaches the webhook server.
type Endpoint struct {
	// URLBase is set when the manager runs outside the cluster: "https://localhost:9443".
	URLBase string
	// Service and Namespace name the Service otherwise; its port is 443.
	Service, Namespace string
}

// Validate checks that the endpoint can be served with a certificate of ours.
func (e Endpoint) Validate() error {
	if e.URLBase == "" {
		if e.Service == "" || e.Namespace == "" {
			return errors.New("webhook endpoint: set a URL base, or a service and its namespace")
		}
		return nil
	}
	u, err := url.Parse(e.URLBase)
	if err != nil {
		return fmt.Errorf("webhook URL base %q: %w", e.URLBase, err)
	}
	if u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("webhook URL base %q: must be https://HOST:PORT", e.URLBase)
	}
	if net.ParseIP(u.Hostname()) != nil {
		return fmt.Errorf(
			"webhook URL base %q: name the host, for example localhost; the certificate holds names, not addresses",
			e.URLBase)
	}
	return nil
}

// ServerName is the name that the API server expects in the certificate.
func (e Endpoint) ServerName() string {
	if e.URLBase != "" {
		if u, err := url.Parse(e.URLBase); err == nil {
			return u.Hostname()
		}
	}
	return e.Service + "." + e.Namespace + ".svc"
}

func (e Endpoint) clientConfig(path string, caBundle []byte) admissionregistrationv1.WebhookClientConfig {
	if e.URLBase != "" {
		address := strings.TrimSuffix(e.URLBase, "/") + path
		return admissionregistrationv1.WebhookClientConfig{URL: &address, CABundle: caBundle}
	}
	port := int32(443)
	return admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{Namespace: e.Namespace, Name: e.Service, Path: &path,
			Port: &port},
		CABundle: caBundle,
	}
}

// Generator generates the webhooks that the policies in force need.
type Generator struct {
	Endpoint Endpoint
	// Timeout is how long the API server waits; whole seconds from 1 to 30.
	Timeout time.Duration
	// ExemptNamespaces are never judged; see internal/webhook/exempt for what and why.
	ExemptNamespaces []string
	// Self is the user name of the manager, whose own requests of plans and breakers aren't asked about.
	Self  string
	Kinds *discovery.Kinds
}

// Webhooks returns the entries of the webhook configuration, with every default
// written out so that they compare equal to what the API server stores. A class
// without policies has no entry. unknown names the kinds that aren't served.
func (c *Generator) Webhooks(policies []*v1alpha1.ClusterRegoPolicy, caBundle []byte) (
	hooks []admissionregistrationv1.ValidatingWebhook, unknown []string, err error) {
	classes := []struct {
		name, path string
		class      v1alpha1.FailurePolicy
	}{
		{names.WebhookFail, names.PathFail, v1alpha1.FailurePolicyFail},
		{names.WebhookIgnore, names.PathIgnore, v1alpha1.FailurePolicyIgnore},
	}
	for _, class := range classes {
		of := slices.DeleteFunc(slices.Clone(policies), func(p *v1alpha1.ClusterRegoPolicy) bool {
			return serving.Class(p) != class.class
		})
		covered, missing, err := rules(of, c.Kinds)
		if err != nil {
			return nil, nil, err
		}
		unknown = append(unknown, missing...)
		if len(covered) > 0 {
			hook := c.webhook(class.name, class.path, admissionregistrationv1.FailurePolicyType(class.class), caBundle)
			hook.Rules = covered
			hook.NamespaceSelector = c.exemptSelector()
			hook.MatchConditions = append(exempt.Conditions(), c.notRollback())
			hooks = append(hooks, hook)
		}
	}
	slices.Sort(unknown)
	return append(hooks, c.ownWebhooks(caBundle)...), slices.Compact(unknown), nil
}

// ownWebhooks check Evenkeel's own kinds, in every namespace. They fail closed: an
// object that nobody checked is worse than one that arrives a minute later. Of
// deletions only those are asked about that a PolicySource undoes, to warn of them.
func (c *Generator) ownWebhooks(caBundle []byte) []admissionregistrationv1.ValidatingWebhook {
	writes := []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
	own := func(name, path, resource string, scope admissionregistrationv1.ScopeType,
		operations []admissionregistrationv1.OperationType) admissionregistrationv1.ValidatingWebhook {
		hook := c.webhook(name, path, admissionregistrationv1.Fail, caBundle)
		hook.NamespaceSelector = &metav1.LabelSelector{}
		hook.Rules = ownRules(resource, scope, operations)
		hook.MatchConditions = exempt.OwnConditions()
		return hook
	}
	return []admissionregistrationv1.ValidatingWebhook{
		own(names.WebhookPolicies, names.PathPolicy, "clusterregopolicies", admissionregistrationv1.ClusterScope,
			writes),
		own(names.WebhookTemplates, names.PathTemplate, "regotemplates", admissionregistrationv1.ClusterScope, writes),
		own(names.WebhookWaivers, names.PathWaiver, "waivers", admissionregistrationv1.NamespacedScope, writes),
		own(names.WebhookClusterWaivers, names.PathWaiver, "clusterwaivers", admissionregistrationv1.ClusterScope,
			writes),
		own(names.WebhookStrategies, names.PathStrategy, "remediationstrategies", admissionregistrationv1.ClusterScope,
			writes),
		own(names.WebhookOverrides, names.PathOverride, "policyoverrides", admissionregistrationv1.ClusterScope,
			writes),
		// A plan is made by the manager, or by a restore: evenkeel-records sees to it.
		c.records(own(names.WebhookRecords, names.PathRecords, "remediations", admissionregistrationv1.ClusterScope,
			writes[1:])),
		c.breakers(own(names.WebhookBreakers, names.PathRecords, "remediationbreakers",
			admissionregistrationv1.ClusterScope, writes)),
		c.deletions(own(names.WebhookDeletions, names.PathDeletion, "clusterregopolicies",
			admissionregistrationv1.ClusterScope,
			[]admissionregistrationv1.OperationType{admissionregistrationv1.Delete})),
	}
}

// MutatingWebhooks returns the entries that fill in who makes a request, one for
// each stamp, with every default written out. They concern Evenkeel's own kinds
// and nothing else, and fail closed: what nobody answers for isn't written.
func (c *Generator) MutatingWebhooks(caBundle []byte) []admissionregistrationv1.MutatingWebhook {
	var hooks []admissionregistrationv1.MutatingWebhook
	for _, s := range stamp.All() {
		// Another webhook may change what this one has seen: it looks again.
		again := admissionregistrationv1.IfNeededReinvocationPolicy
		hook := c.webhook(s.Webhook, names.PathStamp, admissionregistrationv1.Fail, caBundle)
		mutating := admissionregistrationv1.MutatingWebhook{
			Name: hook.Name, ClientConfig: hook.ClientConfig, FailurePolicy: hook.FailurePolicy,
			MatchPolicy:       hook.MatchPolicy,
			NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: hook.ObjectSelector,
			SideEffects:    hook.SideEffects,
			TimeoutSeconds: hook.TimeoutSeconds, AdmissionReviewVersions: hook.AdmissionReviewVersions,
			ReinvocationPolicy: &again, Rules: ownRules(s.Resource, admissionregistrationv1.ClusterScope, s.Operations),
		}
		if s.Failure != "" {
			mutating.FailurePolicy = &s.Failure
		}
		mutating.MatchConditions = exempt.OwnConditions()
		if s.Condition != "" {
			mutating.MatchConditions = append(
				mutating.MatchConditions, admissionregistrationv1.MatchCondition{
					Name: "is-the-act", Expression: s.Condition})
		}
		hooks = append(hooks, mutating)
	}
	return hooks
}

func ownRules(resource string, scope admissionregistrationv1.ScopeType,
	operations []admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups:   []string{v1alpha1.GroupVersion.Group},
			APIVersions: []string{v1alpha1.GroupVersion.Version},
			Resources:   []string{resource},
			Scope:       &scope,
		},
	}}
}

func (c *Generator) webhook(name, path string, failure admissionregistrationv1.FailurePolicyType,
	caBundle []byte) admissionregistrationv1.ValidatingWebhook {
	equivalent, none := admissionregistrationv1.Equivalent, admissionregistrationv1.SideEffectClassNone
	timeout := int32(c.Timeout / time.Second)
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    name,
		ClientConfig:            c.Endpoint.clientConfig(path, caBundle),
		FailurePolicy:           &failure,
		MatchPolicy:             &equivalent,
		ObjectSelector:          &metav1.LabelSelector{},
		SideEffects:             &none,
		TimeoutSeconds:          &timeout,
		AdmissionReviewVersions: []string{"v1"},
	}
}

func (c *Generator) exemptSelector() *metav1.LabelSelector {
	if len(c.ExemptNamespaces) == 0 {
		return &metav1.LabelSelector{}
	}
	names := slices.Clone(c.ExemptNamespaces)
	slices.Sort(names)
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key:      "kubernetes.io/metadata.name",
		Operator: metav1.LabelSelectorOpNotIn,
		Values:   slices.Compact(names),
	}}}
}
