// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client/reviews"
	"github.com/open-policy-agent/frameworks/constraint/pkg/types"
	mutationtypes "github.com/open-policy-agent/gatekeeper/v3/pkg/mutation/types"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/target"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/util"
	admissionv1 "k8s.io/api/admission/v1"
)

// verdict is what is said of one review, in the form of hack/bench/own.
type verdict struct {
	Allowed    bool     `json:"allowed"`
	Violations []string `json:"violations"`
}

// verdicts says what the webhook of a cluster with some objects answers each review.
func (g *engine) verdicts(ctx context.Context, file, known string) (all []verdict, err error) {
	objects, err := read(known)
	if err != nil {
		return nil, err
	}
	if err := g.know(ctx, objects); err != nil {
		return nil, err
	}
	bodies, err := lines(file)
	for _, body := range bodies {
		v, err := g.verdict(ctx, body)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, err
}

// verdict follows the webhook (pkg/webhook/policy.go: reviewRequest, createReviewForRequest, review and
// getValidationMessages): a Namespace lives in none, any other object in the Namespace that the cluster has, which
// the engine is given twice, and the request is refused if any result says deny. That the old object is judged on
// DELETE is the target's own doing (pkg/target/target.go, setObjectOnDelete). Left out are expansion, of which
// there are no templates here, and Gatekeeper's own kinds. A review that can't be judged is told, for the webhook
// answers it with an error.
func (g *engine) verdict(ctx context.Context, body []byte) (verdict, error) {
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, review); err != nil {
		return verdict{}, err
	}
	r := review.Request
	if r.Kind.Kind == "Namespace" && r.Kind.Group == "" {
		r.Namespace = ""
	}
	augmented := &target.AugmentedReview{AdmissionRequest: r, Source: mutationtypes.SourceTypeOriginal,
		IsAdmission: true}
	options := []reviews.ReviewOpt{reviews.EnforcementPoint(util.WebhookEnforcementPoint)}
	if r.Namespace != "" {
		if augmented.Namespace = g.namespaces[r.Namespace]; augmented.Namespace == nil {
			return verdict{}, fmt.Errorf("there is no namespace %s", r.Namespace)
		}
		options = append(options, util.NamespaceReviewOpt(augmented.Namespace, logr.Discard()))
	}
	responses, err := g.client.Review(ctx, augmented, options...)
	if err != nil {
		return verdict{Violations: []string{"error: " + err.Error()}}, nil
	}
	return verdictOf(responses.Results()), nil
}

func verdictOf(results []*types.Result) verdict {
	v := verdict{Allowed: true, Violations: []string{}}
	for _, r := range results {
		action := strictest(r)
		v.Violations = append(v.Violations, fmt.Sprintf("%s %s: %s", action, r.Constraint.GetName(), r.Msg))
		v.Allowed = v.Allowed && action != string(util.Deny)
	}
	slices.Sort(v.Violations)
	return v
}

// strictest is the enforcement action of a result. Of several at one enforcement point the webhook does all, and a
// policy has the strictest.
func strictest(r *types.Result) string {
	if r.EnforcementAction != string(util.Scoped) {
		return r.EnforcementAction
	}
	for _, action := range []util.EnforcementAction{util.Deny, util.Warn} {
		if slices.Contains(r.ScopedEnforcementActions, string(action)) {
			return string(action)
		}
	}
	return string(util.Dryrun)
}
