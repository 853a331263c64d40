// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

const endpointWaiver = "waiver"

// longWaiver is how far ahead an expiry may be without a warning.
const longWaiver = 366 * 24 * time.Hour

// WaiverHandler refuses waivers that couldn't work, when they are written,
// and warns of those that are likely a mistake. Who may write one is not its
// matter, but RBAC's.
type WaiverHandler struct {
	serving.Base
	// Known says that a policy of that name exists.
	Known func(policyName string) bool
}

func (h *WaiverHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Serve(w, r, endpointWaiver, h.answer)
}

func (h *WaiverHandler) answer(_ context.Context, req *policy.Request) serving.Response {
	changed, old := v1alpha1.NewWaiver(req.Namespace), v1alpha1.NewWaiver(req.Namespace)
	if resp, done := read(req, changed); done {
		return resp
	}
	if req.OldObject != nil && runtime.DefaultUnstructuredConverter.FromUnstructured(req.OldObject, old) != nil {
		old = v1alpha1.NewWaiver(req.Namespace) // then all of it counts as changed
	}
	if found := h.check(changed, old, req.Now); len(found) > 0 {
		return verdict(req.Kind.Kind, strings.TrimPrefix(req.Namespace+"/"+changed.GetName(), "/"), found)
	}
	return serving.Allow(h.warnings(changed.Terms(), req.Now)...)
}

// check finds what is wrong with a waiver beyond what its schema refuses; old
// is zero for a new one.
func (h *WaiverHandler) check(w, old v1alpha1.AnyWaiver, now time.Time) []problem {
	var out problems
	if _, err := match.NewWaiver(w); err != nil {
		out.addIf(err.Error(), "spec.match")
	}
	expiry := w.Terms().ExpirationTime
	if !now.Before(expiry.Time) && !expiry.Equal(&old.Terms().ExpirationTime) {
		out.addIf(expiry.UTC().Format(time.RFC3339)+
			": it has passed; set a time to come, or delete the waiver to end it", "spec.expirationTime")
	}
	return out
}

func (h *WaiverHandler) warnings(terms *v1alpha1.WaiverTerms, now time.Time) []string {
	var out []string
	if terms.ExpirationTime.Sub(now) > longWaiver {
		out = append(out, "spec.expirationTime is more than a year ahead: a waiver that nobody reviews again is a "+
			"change of the policy")
	}
	for i, name := range terms.Policies {
		if !h.Known(name) {
			out = append(out, fit(fmt.Sprintf("spec.policies[%d]: ", i)+
				"there is no policy %q: nothing is waived until there is", name))
		}
	}
	return serving.BoundedWarnings(out, "")
}
