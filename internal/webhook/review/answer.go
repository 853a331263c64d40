// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

func answer(r *policy.Request, v *verdict) (serving.Response, string) {
	resp, decision := answerByPolicies(r, v)
	if resp.Allowed {
		resp.Warnings = append(resp.Warnings, endedOptOut(r)...)
	}
	return resp, decision
}

// endedOptOut warns whoever writes an opt-out whose end has passed, once. Whatever else is wrong with one, the API
// server warns of by itself, whether a policy matches or not (config/rbac/keys_policy.yaml); it can't tell the time.
func endedOptOut(r *policy.Request) []string {
	if r.Object == nil || r.SubResource != "" {
		return nil
	}
	until := endOf(r.Object)
	if until == "" || r.OldObject != nil && endOf(r.OldObject) == until {
		return nil
	}
	end, err := v1alpha1.OptOutEnd(&unstructured.Unstructured{Object: r.Object})
	if err != nil || end.IsZero() || r.Now.Before(end) {
		return nil
	}
	return []string{prose.Shorten(v1alpha1.EndedOptOut(end), serving.MaxWarningBytes)}
}

// endOf is the end of an object's opt-out as it is written. Nearly none has one, and this is asked in each review: it
// copies nothing.
func endOf(object map[string]any) string {
	annotations, _ := policy.Metadata(object)["annotations"].(map[string]any)
	until, _ := annotations[v1alpha1.AnnotationPausedUntil].(string)
	return until
}

func answerByPolicies(r *policy.Request, v *verdict) (serving.Response, string) {
	resp := serving.Response{UID: r.UID, Allowed: true, Warnings: warnings(v), AuditAnnotations: auditAnnotations(v)}
	blocking := v.blocking()
	switch {
	case len(blocking) > 0:
		resp.Allowed = false
		resp.Status = serving.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, denial(r, v, blocking))
		return resp, serving.DecisionDenied
	case v.failsClosed():
		resp.Allowed = false
		resp.Status = unjudgedStatus(r, v)
		return resp, serving.DecisionErrored
	case len(v.failed) > 0:
		return resp, serving.DecisionErrored
	case len(resp.Warnings) > 0:
		return resp, serving.DecisionWarned
	default:
		return resp, serving.DecisionAllowed
	}
}

// unjudgedStatus refuses what couldn't be judged: for now (503) while the namespace or what rules look up isn't known,
// which no client, a rollout among them, may take for a denial of the object, and else as an error of the server.
func unjudgedStatus(r *policy.Request, v *verdict) *metav1.Status {
	message := unjudged(r, v)
	for _, f := range v.refusing() {
		if !f.passes() {
			return serving.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, message)
		}
	}
	return serving.Refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, message)
}

// auditAnnotations record which policies were violated or couldn't be evaluated.
// They go to the audit log, so they hold no value out of the object: counts and
// paths only. The API server prefixes each key with the webhook's name.
func auditAnnotations(v *verdict) map[string]string {
	if len(v.findings)+len(v.failed) == 0 {
		return nil
	}
	notes := map[string]string{}
	note := func(key, text string) {
		if key == "" {
			key = "evenkeel"
		}
		if before := notes[key]; before != "" {
			text = before + "; " + text
		}
		notes[key] = text
	}
	for _, f := range v.findings {
		text := fmt.Sprintf("%s: %d", f.action, len(f.violations))
		switch {
		case f.waived != nil:
			text = fmt.Sprintf("not blocked, waived by %s/%s: %d", f.waived.Namespace, f.waived.Name, len(f.violations))
		case f.atWorkload:
			text = fmt.Sprintf("not blocked, judged at its workload: %d", len(f.violations))
		case f.old:
			text = fmt.Sprintf("not blocked, already violated: %d", len(f.violations))
		}
		if f.overridden != nil {
			text += fmt.Sprintf(", overridden from %s until %s", f.overridden.Declared, f.overridden.UntilText())
		}
		if path := f.violations[0].Path; path != "" {
			text += ", first at " + prose.Shorten(path, serving.MaxWarningBytes)
		}
		note(f.policy, text)
	}
	for _, f := range v.failed {
		note(f.policy, "evaluation failed")
	}
	return notes
}
