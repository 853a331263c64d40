// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper/live"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// estate is what of both lives in a cluster.
type estate struct {
	objects   dynamic.Interface
	discovery discovery.DiscoveryInterface
	client    client.Client

	source    *live.Source
	templates []v1alpha1.RegoTemplate
	policies  map[string][]*v1alpha1.ClusterRegoPolicy // by what they say that they were migrated from
	stderr    io.Writer                                // is told how far a comparison has come; nil for nobody
}

// readEstate reads what of both lives in the cluster that the flags name.
func readEstate(ctx context.Context, flags *connect.Flags) (*estate, error) {
	e := &estate{policies: map[string][]*v1alpha1.ClusterRegoPolicy{}}
	var err error
	if e.objects, e.discovery, err = flags.Untyped(); err != nil {
		return nil, err
	}
	if e.client, err = flags.Client(); err != nil {
		return nil, err
	}
	if e.source, err = live.Read(ctx, e.objects, e.discovery); err != nil {
		return nil, connect.Failure("read what Gatekeeper enforces", err)
	}
	templates, policies := &v1alpha1.RegoTemplateList{}, &v1alpha1.ClusterRegoPolicyList{}
	if err := e.client.List(ctx, templates); err != nil {
		return nil, connect.Failure("list templates", err)
	}
	if err := e.client.List(ctx, policies); err != nil {
		return nil, connect.Failure("list policies", err)
	}
	e.templates = templates.Items
	for i := range policies.Items {
		p := &policies.Items[i]
		if from := p.Annotations[v1alpha1.AnnotationMigratedFrom]; from != "" {
			p.SetDefaults()
			e.policies[from] = append(e.policies[from], p)
		}
	}
	return e, nil
}

// pair is a constraint with the policy that was made of it.
type pair struct {
	constraint *live.Constraint
	policy     *v1alpha1.ClusterRegoPolicy
}

// policyOf is the policy of a constraint; nil where there is none, and an error where more than one says that it stands
// for it, as a copy does.
func (e *estate) policyOf(c *live.Constraint) (*v1alpha1.ClusterRegoPolicy, error) {
	switch claims := e.policies[c.ID()]; len(claims) {
	case 0:
		return nil, nil
	case 1:
		return claims[0], nil
	default:
		names := make([]string, 0, len(claims))
		for _, p := range claims {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("policies %s all have the annotation %s: %s, and none is taken: take it off those that "+
			"are copies", strings.Join(names, ", "), v1alpha1.AnnotationMigratedFrom, c.ID())
	}
}

// pairs are that of a constraint, or of all where it is empty; those without one policy are left out where all are
// asked for.
func (e *estate) pairs(name string) ([]pair, error) {
	if name == "" {
		var all []pair
		for _, c := range e.source.Constraints {
			if p, err := e.policyOf(c); err == nil && p != nil {
				all = append(all, pair{c, p})
			}
		}
		if len(e.source.Constraints) == 0 {
			return nil, command.Exit(command.ExitFailure, errors.New("there are no constraints in the cluster"))
		}
		return all, nil
	}
	c, err := e.source.Constraint(name)
	if err != nil {
		return nil, command.Exit(command.ExitUsage, err)
	}
	p, err := e.policyOf(c)
	if err != nil {
		return nil, command.Exit(command.ExitFailed, err)
	}
	if p == nil {
		return nil, command.Exit(command.ExitFailure, fmt.Errorf("constraint %s has no policy that was made of it: "+
			"evenkeel migrate gatekeeper apply writes it, or says why it can't", c.ID()))
	}
	return []pair{{c, p}}, nil
}

func unpaired(c *live.Constraint, why string) row {
	return row{Constraint: c.ID(), Comparison: live.Comparison{Verdict: live.Different, Notes: []string{why}}}
}

// unpaired are the constraints that have no policy, or more than one, as rows of a comparison.
func (e *estate) unpaired() []row {
	var out []row
	for _, c := range e.source.Constraints {
		p, err := e.policyOf(c)
		switch {
		case err != nil:
			out = append(out, unpaired(c, err.Error()))
		case p == nil:
			out = append(out, unpaired(c, "not migrated: run evenkeel migrate gatekeeper apply, which writes its "+
				"policy or says why it can't"))
		}
	}
	return out
}

// knowsWebhook errs where policies enforce that are made by what Gatekeeper's webhook is asked about, and that isn't
// known.
func (e *estate) knowsWebhook() error {
	if !e.source.Unasked {
		return nil
	}
	for _, policies := range e.policies {
		for _, p := range policies {
			if p.Spec.Admission.Action != v1alpha1.AdmissionAudit {
				return fmt.Errorf("nothing is written: no ValidatingWebhookConfiguration has the webhook "+
					"%s, so that what it is asked about isn't known, and policy %s, which enforces, might do so less: "+
					"restore it, or delete the constraints of policies that stay", gatekeeper.WebhookPoint, p.Name)
			}
		}
	}
	return nil
}

// tellExemptions says what of Gatekeeper's exemptions no policy has, and what couldn't be learned.
func (e *estate) tellExemptions(out io.Writer) {
	for _, exemption := range e.source.Exemptions {
		fmt.Fprintln(out, "warning:", exemption)
	}
	if len(e.source.Unsaid) > 0 {
		fmt.Fprintf(out, "warning: the API groups %s don't say just now which kinds they serve: constraints that "+
			"leave kinds open are taken without theirs, but for those that their policies enforce; "+
			"run this command again once they do\n",
			strings.Join(e.source.Unsaid, ", "))
	}
}

func (e *estate) names() map[string]string {
	out := map[string]string{}
	for _, c := range e.source.Constraints {
		if p, err := e.policyOf(c); err == nil && p != nil {
			out[c.ID()] = p.Name
		}
	}
	return out
}

// enforced are the kinds that policies which enforce concern, by the constraints that they stand for.
func (e *estate) enforced() map[string][]gatekeeper.Kind {
	out := map[string][]gatekeeper.Kind{}
	for _, c := range e.source.Constraints {
		p, err := e.policyOf(c)
		if err != nil || p == nil || p.Spec.Admission.Action == v1alpha1.AdmissionAudit {
			continue
		}
		for _, gk := range match.Kinds(p) {
			out[c.ID()] = append(out[c.ID()], gatekeeper.Kind{Group: gk.Group, Kind: gk.Kind})
		}
	}
	return out
}

// migratedConstraints are the constraints that have a policy, for the shell to complete.
func migratedConstraints(ctx context.Context, c client.Reader) ([]string, error) {
	list := &v1alpha1.ClusterRegoPolicyList{}
	if err := c.List(ctx, list); err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		from := list.Items[i].Annotations[v1alpha1.AnnotationMigratedFrom]
		if from != "" {
			names = append(names, from+"\tpolicy "+list.Items[i].Name)
		}
	}
	return names, nil
}
