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

// answer turns a verdict into the response, and says which decision it is.
func answer(r *policy.Request, v *verdict) (serving.Response, string) {
	resp, decision := answerByPolicies(r, v)
	if resp.Allowed {
		resp.Warnings = append(resp.Warnings, doubtfulOptOut(r)...)
	}
	return resp, decision
}

// doubtfulOptOut warns whoever writes an opt-out that has no effect, or an end that can't be read, once: what was
// there before was warned of then.
func doubtfulOptOut(r *policy.Request) []string {
	if r.Object == nil || r.SubResource != "" || !mentionsOptOut(r.Object) {
		return nil
	}
	why := v1alpha1.DoubtfulOptOut(&unstructured.Unstructured{Object: r.Object}, r.Now)
	if why == "" || r.OldObject != nil &&
		v1alpha1.DoubtfulOptOut(&unstructured.Unstructured{Object: r.OldObject}, r.Now) == why {
		return nil
	}
	return []string{prose.Shorten(why, serving.MaxWarningBytes)}
}

// mentionsOptOut says whether an object has one of the annotations, or a label of such a name. Nearly none
// has, and this is asked in each review: it copies nothing.
func mentionsOptOut(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	for _, part := range []string{"annotations", "labels"} {
		values, _ := metadata[part].(map[string]any)
		for _, key := range []string{v1alpha1.AnnotationRemediation, v1alpha1.AnnotationPausedUntil} {
			if _, there := values[key]; there {
				return true
			}
		}
	}
	return false
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
		resp.Status = serving.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, unjudged(r, v))
		return resp, serving.DecisionErrored
	case len(v.failed) > 0:
		return resp, serving.DecisionErrored
	case len(resp.Warnings) > 0:
		return resp, serving.DecisionWarned
	default:
		return resp, serving.DecisionAllowed
	}
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
