// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"net/http"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/override"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
)

const endpointOverride = "override"

// OverrideHandler refuses overrides without a name, a reason or an end to come, and warns of
// those that change nothing. Who may write one, and until when, is for the API server's
// ValidatingAdmissionPolicy evenkeel-overrides.
type OverrideHandler struct {
	serving.Base
	// Policy is the policy of a name; nil when there is none.
	Policy func(name string) *v1alpha1.ClusterRegoPolicy
}

func (h *OverrideHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Serve(w, r, endpointOverride, h.answer)
}

func (h *OverrideHandler) answer(_ context.Context, req *policy.Request) serving.Response {
	var o v1alpha1.PolicyOverride
	if resp, done := read(req, &o); done {
		return resp
	}
	reason, asks := stamp.Asks(req, v1alpha1.ActionOverride)
	if !asks {
		return serving.Allow()
	}
	if found := wrongOverride(&o, reason, req.Now); len(found) > 0 {
		return verdict("PolicyOverride", o.Name, found)
	}
	if text := h.ineffective(&o, req.Now); text != "" {
		return serving.Allow(text)
	}
	return serving.Allow()
}

// wrongOverride finds what is wrong with an override that somebody asks for, beyond what
// its schema refuses.
func wrongOverride(o *v1alpha1.PolicyOverride, reason string, now time.Time) []problem {
	var out problems
	end := o.Spec.ExpirationTime
	if !now.Before(end.Time) {
		out.addIf(end.UTC().Format(time.RFC3339)+": it has passed; set a time to come, or delete the PolicyOverride "+
			"to end it", "spec.expirationTime")
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
