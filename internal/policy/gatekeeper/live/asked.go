// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// webhookName is the name of Evenkeel's ValidatingWebhookConfiguration.
const webhookName = "evenkeel"

// Webhook is Evenkeel's, as the API server asks it in a cluster.
type Webhook struct {
	// config is nil where there is none.
	config *admissionregistrationv1.ValidatingWebhookConfiguration
	served []*metav1.APIResourceList
}

// NewWebhook is that of a configuration, nil for none, in a cluster that serves some resources.
func NewWebhook(config *admissionregistrationv1.ValidatingWebhookConfiguration,
	served []*metav1.APIResourceList) *Webhook {
	return &Webhook{config: config, served: served}
}

// ReadWebhook finds out. It needs get on the configuration.
func ReadWebhook(ctx context.Context, objects dynamic.Interface, kinds discovery.DiscoveryInterface) (*Webhook, error) {
	served, err := served(kinds)
	if err != nil {
		return nil, err
	}
	read, err := objects.Resource(webhookConfigurations()).Get(ctx, webhookName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return NewWebhook(nil, served), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ValidatingWebhookConfiguration %s: %w", webhookName, err)
	}
	config, err := configuration(read)
	return NewWebhook(config, served), err
}

// Exempt are the namespaces of which the API server never asks it, sorted.
func (w *Webhook) Exempt() []string { return exemptBy(w.config) }

// Asked errs where the API server doesn't ask it of each kind that a policy concerns and the cluster serves: nobody
// would enforce the policy there, whatever its status says.
func (w *Webhook) Asked(p *v1alpha1.ClusterRegoPolicy) error {
	if w.config == nil {
		return fmt.Errorf("there is no ValidatingWebhookConfiguration %s, so that Evenkeel refuses nothing: evenkeel "+
			"doctor tells why", webhookName)
	}
	if missing := unasked(p, w.config, w.served); len(missing) > 0 {
		return fmt.Errorf("the API server doesn't ask Evenkeel's webhook of %s, which policy %s concerns: some kinds "+
			"are never refused (docs/exemptions.md), and of others evenkeel doctor tells "+
			"why", strings.Join(missing, ", "),
			p.Name)
	}
	return nil
}

// TakenOver errs where the API server asks Gatekeeper's webhook about an operation on a kind of a policy that the
// policy isn't asked about: once the constraint only records, nobody would enforce it there.
func (s *Source) TakenOver(w *Webhook, p *v1alpha1.ClusterRegoPolicy) error {
	theirs := &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: s.webhooks}
	var lost []string
	concerned(p, w.served, func(kind schema.GroupKind, resource, scope string) {
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

func configuration(read *unstructured.Unstructured) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(read.Object, config); err != nil {
		return nil, fmt.Errorf("read the ValidatingWebhookConfiguration %s: %w", read.GetName(), err)
	}
	return config, nil
}

func served(kinds discovery.DiscoveryInterface) ([]*metav1.APIResourceList, error) {
	served, err := kinds.ServerPreferredResources()
	if err != nil && len(served) == 0 {
		return nil, fmt.Errorf("ask the cluster which kinds it serves: %w", err)
	}
	return served, nil
}

// unasked are the kinds and subresources of a policy that are served and of which some operation of the policy's is in
// no rule of the webhooks, as "Node" or "Deployment.apps" where it is all of them, and "Pod (DELETE)" else.
func unasked(p *v1alpha1.ClusterRegoPolicy, config *admissionregistrationv1.ValidatingWebhookConfiguration,
	served []*metav1.APIResourceList) []string {
	var out []string
	all := slices.DeleteFunc(slices.Clone(match.WrittenOperations(p)), func(op v1alpha1.Operation) bool {
		return op == v1alpha1.OperationConnect // which concerns subresources alone
	})
	concerned(p, served, func(kind schema.GroupKind, resource, scope string) {
		var missing []string
		for _, op := range all {
			if !asks(config, kind.Group, resource, scope, op) {
				missing = append(missing, string(op))
			}
		}
		switch what := kind.String(); {
		case len(missing) == 0:
		case len(missing) < len(all):
			out = append(out, what+" ("+strings.Join(missing, ", ")+")")
		default:
			out = append(out, what)
		}
	})
	for _, s := range match.Subresources(p) {
		_, parent := find(s.Parent, served, "list")
		if !asks(config, s.Parent.Group, s.String(), scopeOf(parent), v1alpha1.Operation(s.Operation)) {
			out = append(out, s.String())
		}
	}
	return out
}

// asks says whether the webhooks are asked about an operation on a resource, as "pods" or "pods/exec".
func asks(config *admissionregistrationv1.ValidatingWebhookConfiguration, group, resource, scope string,
	op v1alpha1.Operation) bool {
	return slices.ContainsFunc(config.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool {
		return gatekeeper.Asks(w.Rules, op, group, resource, scope)
	})
}

// concerned calls with each kind of a policy of which objects can be created, its resource and its scope as rules name
// it.
func concerned(p *v1alpha1.ClusterRegoPolicy, served []*metav1.APIResourceList,
	each func(kind schema.GroupKind, resource, scope string)) {
	for _, gk := range match.Kinds(p) {
		if _, r := find(gk, served, "create"); r != nil {
			each(schema.GroupKind{Group: gk.Group, Kind: gk.Kind}, r.Name, scopeOf(r))
		}
	}
}

// scopeOf is that of a resource, as rules name it; empty for none.
func scopeOf(r *metav1.APIResource) string {
	switch {
	case r == nil:
		return ""
	case r.Namespaced:
		return string(admissionregistrationv1.NamespacedScope)
	}
	return string(admissionregistrationv1.ClusterScope)
}

// resourceOf is the resource of a kind, if the cluster serves one that may be asked for a verb; empty for any.
func resourceOf(gk match.GroupKind, served []*metav1.APIResourceList, verb string) (schema.GroupVersionResource, bool) {
	version, r := find(gk, served, verb)
	if r == nil {
		return schema.GroupVersionResource{}, false
	}
	return version.WithResource(r.Name), true
}

// find finds it with its version; nil for none.
func find(gk match.GroupKind, served []*metav1.APIResourceList, verb string) (schema.GroupVersion,
	*metav1.APIResource) {
	for _, list := range served {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || version.Group != gk.Group {
			continue
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if r.Kind == gk.Kind && !strings.Contains(r.Name, "/") && (verb == "" || slices.Contains(r.Verbs, verb)) {
				return version, r
			}
		}
	}
	return schema.GroupVersion{}, nil
}
