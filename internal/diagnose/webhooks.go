// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/webhook/configuration"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

const madeByLeader = "the leader makes it within seconds: see the checks manager and leader"

// entry is one webhook of either configuration.
type entry struct {
	name    string
	client  admissionregistrationv1.WebhookClientConfig
	failure admissionregistrationv1.FailurePolicyType
}

// entries reads both webhook configurations, and what others have narrowed in them.
func (in *Installation) entries(ctx context.Context) (have []entry, narrowed []string, err error) {
	var out []entry
	add := func(name string, c admissionregistrationv1.WebhookClientConfig,
		f *admissionregistrationv1.FailurePolicyType) {
		e := entry{name: name, client: c, failure: admissionregistrationv1.Fail}
		if f != nil {
			e.failure = *f
		}
		out = append(out, e)
	}
	key := client.ObjectKey{Name: names.Configuration}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := in.Client.Get(ctx, key, validating); client.IgnoreNotFound(err) != nil {
		return nil, nil, err
	}
	for _, w := range validating.Webhooks {
		add(w.Name, w.ClientConfig, w.FailurePolicy)
	}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := in.Client.Get(ctx, key, mutating); client.IgnoreNotFound(err) != nil {
		return nil, nil, err
	}
	for _, w := range mutating.Webhooks {
		add(w.Name, w.ClientConfig, w.FailurePolicy)
	}
	return out, configuration.Narrowings(validating, mutating), nil
}

// expected are the entries that an installation with such policies has, with
// their failure policies.
func expected(list []v1alpha1.ClusterRegoPolicy) map[string]admissionregistrationv1.FailurePolicyType {
	want := map[string]admissionregistrationv1.FailurePolicyType{}
	for _, name := range []string{names.WebhookPolicies, names.WebhookTemplates, names.WebhookStrategies,
		names.WebhookStrategyAuthor, names.WebhookWaivers,
		names.WebhookAuthor, names.WebhookTemplateAuthor, names.WebhookBreakerRequests,
		names.WebhookPlanRequests} {
		want[name] = admissionregistrationv1.Fail
	}
	want[names.WebhookForceOpen] = admissionregistrationv1.Ignore
	for i := range list {
		if list[i].Status.Revision == "" {
			continue
		}
		if serving.Class(&list[i]) == v1alpha1.FailurePolicyFail {
			want[names.WebhookFail] = admissionregistrationv1.Fail
		} else {
			want[names.WebhookIgnore] = admissionregistrationv1.Ignore
		}
	}
	return want
}

// webhooks looks whether the API server asks the manager what it should.
func webhooks(ctx context.Context, in *Installation) []Finding {
	have, narrowed, err := in.entries(ctx)
	if err != nil {
		return []Finding{unread("the webhook configurations "+names.Configuration, err)}
	}
	if len(have) == 0 {
		return []Finding{
			failed(madeByLeader, "the webhook configurations %q aren't there: nothing is judged at admission",
				names.Configuration)}
	}
	list, found := in.policyList(ctx)
	if len(found) > 0 {
		return found
	}
	want := expected(list)
	for _, name := range sorted(want) {
		i := slices.IndexFunc(have, func(e entry) bool { return e.name == name })
		switch {
		case i < 0:
			found = append(found, failed(madeByLeader, "the webhook configuration %q lacks the entry %s",
				names.Configuration, name))
		case have[i].failure != want[name]:
			found = append(found, failed("somebody has changed it; "+madeByLeader,
				"the entry %s has failurePolicy %s, not %s", name, have[i].failure, want[name]))
		}
	}
	for _, text := range narrowed {
		found = append(found, warned("see docs/runbooks/webhook-narrowed.md; it is kept as it is",
			"somebody has narrowed an entry, so some requests aren't judged: %s", text))
	}
	return append(orFine(found, "%s there, with %s", prose.Are(len(have), "entry"),
		prose.Verb(len(have), "its failure policy", "their failure policies")),
		in.endpoints(ctx, have)...)
}

func (in *Installation) endpoints(ctx context.Context, have []entry) []Finding {
	service := have[0].client.Service
	if service == nil {
		return nil
	}
	name := service.Namespace + "/" + service.Name
	if err := in.Client.Get(ctx, client.ObjectKey{Namespace: service.Namespace, Name: service.Name},
		&corev1.Service{}); apierrors.IsNotFound(err) {
		return []Finding{failed("kubectl apply --server-side -k config/webhook",
			"the Service %s, which the webhooks lead to, isn't there", name)}
	} else if err != nil {
		return []Finding{unread("Service "+name, err)}
	}
	list := &discoveryv1.EndpointSliceList{}
	if err := in.Client.List(ctx, list, client.InNamespace(service.Namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: service.Name}); err != nil {
		return []Finding{skipped("the endpoints of Service "+name, err, "the check admission asks what is behind it")}
	}
	ready := 0
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				ready++
			}
		}
	}
	if ready == 0 {
		return []Finding{
			failed("see the check manager",
				"no ready endpoint is behind the Service %s: what fails closed is refused now", name)}
	}
	return []Finding{fine("%s behind the Service %s; %s", prose.Count(ready, "ready endpoint"), name,
		in.demanded(ctx))}
}

const (
	// expiresSoon is when somebody should know that a certificate isn't renewed: the
	// manager and cert-manager renew theirs long before.
	expiresSoon = 24 * time.Hour
)

func certificate(ctx context.Context, in *Installation) []Finding {
	have, _, err := in.entries(ctx)
	if err != nil {
		return []Finding{unread("the webhook configurations "+names.Configuration, err)}
	}
	if len(have) == 0 {
		return []Finding{
			{Status: Unknown, Message: "there is no webhook configuration, and so no certificate to check",
				Do: madeByLeader}}
	}
	var found []Finding
	for _, e := range have {
		if f := in.bundle(e); f.Status != OK {
			found = append(found, f)
		}
	}
	if len(found) > 0 {
		return found
	}
	if have[0].client.URL != nil {
		return []Finding{in.bundle(have[0]), in.served(ctx, have[0])}
	}
	return []Finding{in.bundle(have[0])}
}

// bundle looks at one entry's authorities: one that is good now is enough.
func (in *Installation) bundle(e entry) Finding {
	authorities, err := cert.ParseCertsPEM(e.client.CABundle)
	const do = "the leader writes it again; with cert-manager, see its CA injector"
	if err != nil {
		return failed(do,
			"the entry %s has a caBundle that holds no certificate: the API server can't trust the webhook", e.name)
	}
	var until time.Time
	for _, a := range authorities {
		if a.NotAfter.After(until) && !in.Clock.Now().Before(a.NotBefore) {
			until = a.NotAfter
		}
	}
	left := until.Sub(in.Clock.Now())
	text := until.UTC().Format(time.RFC3339)
	switch {
	case left <= 0:
		return failed(do, "the authority in the caBundle of %s has expired (%s)", e.name, text)
	case left < expiresSoon:
		return warned(do, "the authority in the caBundle of %s expires at %s", e.name, text)
	default:
		return fine("the webhooks' authority is good until %s", text)
	}
}
