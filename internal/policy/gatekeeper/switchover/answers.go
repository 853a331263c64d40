// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

const (
	// policyWebhook is Evenkeel's webhook that checks policies.
	policyWebhook = "clusterregopolicies.evenkeel.dev"
	// theirWebhook is Gatekeeper's webhook that enforces constraints.
	theirWebhook = gatekeeper.WebhookPoint
)

// Answers errs where Evenkeel's webhook doesn't answer just now: it is asked, as a dry run, for a policy that no
// manager lets through.
func Answers(ctx context.Context, c client.Client) error {
	const name = "evenkeel-switch-probe"
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec = v1alpha1.RegoPolicySpec{Title: "Probe", Description: "Asks whether admission answers; never stored.",
		Owner: "migrate", Severity: v1alpha1.SeverityLow, RunbookURL: "https://evenkeel.dev/docs/troubleshoot",
		Rego:      v1alpha1.RegoSource{File: "probe.rego", Main: "package evenkeel.probe\n\nthis isn't Rego\n"},
		Admission: v1alpha1.Admission{Action: v1alpha1.AdmissionAudit}}
	p.Spec.Match.Resources = []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
	p.Spec.Match.Namespaces = []string{name}
	p.SetDefaults()
	switch err := c.Create(ctx, p, client.DryRunAll); {
	case err == nil:
		return errors.New("a policy that doesn't compile is let through: the API server doesn't ask Evenkeel's " +
			"webhook, or no manager is running: evenkeel doctor tells why")
	case strings.Contains(err.Error(), fmt.Sprintf("admission webhook %q denied", policyWebhook)):
		return nil
	default:
		return fmt.Errorf("whether a manager is running isn't known, since Evenkeel's webhook hasn't answered "+
			"(evenkeel doctor tells why): %w", err)
	}
}

// AskedOfGatekeeper errs where the API server doesn't ask Gatekeeper's webhook of each kind that a policy concerns and
// the cluster serves: Gatekeeper wouldn't enforce the constraint there, whatever its status says.
func AskedOfGatekeeper(ctx context.Context, objects dynamic.Interface, kinds discovery.DiscoveryInterface,
	p *v1alpha1.ClusterRegoPolicy) error {
	list, err := objects.Resource(webhookConfigurations()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list ValidatingWebhookConfigurations: %w", err)
	}
	theirs := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	for i := range list.Items {
		theirs.Webhooks = append(theirs.Webhooks, gatekeeper.Webhooks(list.Items[i].Object)...)
	}
	if len(theirs.Webhooks) == 0 {
		return fmt.Errorf("no ValidatingWebhookConfiguration has the webhook %s, so that Gatekeeper refuses nothing: "+
			"restore it, as by installing Gatekeeper again", theirWebhook)
	}
	resources, err := served(kinds)
	if err != nil {
		return err
	}
	if missing := unasked(p, theirs, resources); len(missing) > 0 {
		return fmt.Errorf("the API server doesn't ask Gatekeeper's webhook %s of %s: restore the rules for them in "+
			"its ValidatingWebhookConfiguration", theirWebhook, strings.Join(missing, ", "))
	}
	return nil
}

// TakenOver errs where the API server asks Gatekeeper's webhook about an operation on a kind of a policy that the
// policy isn't asked about: nobody would enforce the constraint there.
func (s *Source) TakenOver(kinds discovery.DiscoveryInterface, p *v1alpha1.ClusterRegoPolicy) error {
	theirs := &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: s.webhooks}
	resources, err := served(kinds)
	if err != nil {
		return err
	}
	var lost []string
	concerned(p, resources, func(kind schema.GroupKind, resource, scope string) {
		for _, op := range []v1alpha1.Operation{v1alpha1.OperationCreate, v1alpha1.OperationUpdate,
			v1alpha1.OperationDelete} {
			if asks(theirs, kind.Group, resource, scope, op) && !slices.Contains(match.WrittenOperations(p), op) {
				lost = append(lost, fmt.Sprintf("%s of %s", op, kind))
			}
		}
	})
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("the API server asks Gatekeeper's webhook about %s, and policy %s isn't asked about it: divide "+
		"the constraint by kinds, run evenkeel migrate gatekeeper apply again, and look at its notes",
		strings.Join(lost, ", "), p.Name)
}
