// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/override"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/requests"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
)

const endpointOverride = "override"

// clockSkew is how far the clock of whoever asks for an override may be ahead.
const clockSkew = time.Minute

// OverrideHandler refuses overrides without a name, a reason or a near end, and warns of
// those that change nothing. Who may write one is not its matter, but that of the verb
// override.
type OverrideHandler struct {
	serving.Base
	// Policy is the policy of a name; nil when there is none.
	Policy func(name string) *v1alpha1.ClusterRegoPolicy
}

func (h *OverrideHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Serve(w, r, endpointOverride, h.answer)
}

func (h *OverrideHandler) answer(_ context.Context, req *policy.Request) (serving.Response, string) {
	resp := serving.Response{UID: req.UID, Allowed: true}
	if req.Object == nil || req.SubResource != "" {
		return resp, serving.DecisionAllowed
	}
	refuse := func(status *metav1.Status) (serving.Response, string) {
		resp.Allowed, resp.Status = false, status
		return resp, serving.DecisionDenied
	}
	if field, yes := stamp.Missing(req); yes {
		return refuse(serving.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(
			"PolicyOverride %s: %s doesn't hold who makes this request, so nothing was changed. The "+
				"MutatingWebhookConfiguration %s fills it in: try again in a moment", req.Name, field,
			names.Configuration)))
	}
	var o v1alpha1.PolicyOverride
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(req.Object, &o); err != nil {
		return refuse(serving.Refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest,
			fmt.Sprintf("PolicyOverride %s isn't of the form %s: %v", req.Name, v1alpha1.GroupVersion, err)))
	}
	reason, asks := requests.Asks(req, v1alpha1.ActionOverride)
	if !asks {
		return resp, serving.DecisionAllowed
	}
	if found := wrongOverride(&o, reason, req.Now); len(found) > 0 {
		return refuse(invalid("PolicyOverride", o.Name, found))
	}
	if text := h.ineffective(&o, req.Now); text != "" {
		resp.Warnings = []string{text}
		return resp, serving.DecisionWarned
	}
	return resp, serving.DecisionAllowed
}

// wrongOverride finds what is wrong with an override that somebody asks for, beyond what
// its schema refuses.
func wrongOverride(o *v1alpha1.PolicyOverride, reason string, now time.Time) []problem {
	var out problems
	end := o.Spec.ExpirationTime
	switch {
	case !now.Before(end.Time):
		out.addIf(end.UTC().Format(time.RFC3339)+": it has passed; set a time to come, or spec.cleared: true to end "+
			"the override", "spec.expirationTime")
	case end.Sub(now) > v1alpha1.MaxOverride+clockSkew:
		out.addIf(fmt.Sprintf("%s: an override lasts 7 days at most, so until %s; change the policy itself for what "+
			"is to last", end.UTC().Format(time.RFC3339), now.Add(v1alpha1.MaxOverride).UTC().Format(time.RFC3339)),
			"spec.expirationTime")
	}
	if strings.TrimSpace(reason) == "" {
		out.addIf("say why the policy is overridden, or use evenkeel policy override --reason", "spec.reason")
	}
	return out
}

func (h *OverrideHandler) ineffective(o *v1alpha1.PolicyOverride, now time.Time) string {
	p := h.Policy(o.Name)
	if p == nil {
		return fit("there is no policy %q: nothing is overridden", o.Name)
	}
	in := override.InForce(o, override.Policy{UID: p.UID, Declared: p.Spec.Admission.Action}, now)
	switch {
	case in == nil:
		return fit("spec.policyUID isn't that of policy %s, which is %s: nothing is overridden", p.Name, string(p.UID))
	case !in.Softens():
		return fit("policy %s declares %s, which an override to %s doesn't soften: admission goes on as "+
			"before, and no new write of its plans begins", p.Name, string(in.Declared), string(o.Spec.AdmissionAction))
	}
	return ""
}
