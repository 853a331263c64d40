package webhook

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/intake"
)

const endpointRecords = "records"

// RecordsHandler keeps to the manager what is the manager's: plans, their slices,
// and what both and breakers say of themselves. The API server doesn't ask about the
// manager's own requests.
type RecordsHandler struct {
	// Reviews reads them, within its bounds.
	Reviews *intake.Reader
	Metrics *Metrics
	Clock   clock.PassiveClock
	Log     logr.Logger
}

// ServeHTTP answers the AdmissionReview of somebody else's write.
func (h *RecordsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := ownKind{reviews: h.Reviews, endpoint: endpointRecords, answer: h.answer, metrics: h.Metrics, clock: h.Clock, log: h.Log}
	own.serve(w, r)
}

func (h *RecordsHandler) answer(_ context.Context, req *policy.Request) (response, string) {
	resp := response{UID: req.UID, Allowed: true}
	why := notTheirs(req)
	if why == "" {
		return resp, decisionAllowed
	}
	resp.Allowed = false
	resp.Status = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf("%s %s: %s; nothing was changed", req.Kind.Kind, req.Name, why))
	h.Log.Info("somebody tried to write what is the manager's", "kind", req.Kind.Kind, "name", req.Name, "user", req.UserInfo.Username, "operation", req.Operation)
	return resp, decisionDenied
}

// notTheirs says why somebody who isn't the manager may not make a request; empty
// when they may.
func notTheirs(r *policy.Request) string {
	switch {
	case r.SubResource == "status":
		if !reflect.DeepEqual(r.Object["status"], r.OldObject["status"]) {
			return "its status is written by the manager alone"
		}
	case r.Operation == policy.Delete:
		return keepsState(r)
	case r.Resource == "remediations", r.Resource == "remediationslices":
		return notTheirPlan(r)
	}
	return ""
}

// sayable are the fields of a plan's spec by which people speak to its rollout.
func sayable() []string { return []string{"paused", "abort", "undo", "undoneBy", "retries"} }

func notTheirPlan(r *policy.Request) string {
	if r.Operation == policy.Create {
		return "plans are made by the manager alone"
	}
	before, after := asObject(r.OldObject["spec"]), asObject(r.Object["spec"])
	if r.Resource == "remediations" {
		before, after = without(before, sayable()), without(after, sayable())
	}
	if !reflect.DeepEqual(before, after) {
		return "a plan is written by the manager alone; people may set " + strings.Join(slices.DeleteFunc(sayable(), func(f string) bool { return f == "undoneBy" }), ", ") + " of a Remediation"
	}
	if key, changed := ownMarks(r); changed {
		return fmt.Sprintf("metadata holds %s, which is written by the manager alone", key)
	}
	if s, found := stampOf(r.Resource); found && len(s.patch(r)) > 0 {
		return fmt.Sprintf("%s doesn't hold who makes this request. The MutatingWebhookConfiguration %s fills it in: try again in a moment", strings.Join(s.field, "."), ConfigurationName)
	}
	return ""
}

// ownMarks finds a label or an annotation of Evenkeel's own that a request changes.
func ownMarks(r *policy.Request) (string, bool) {
	for _, field := range []string{"labels", "annotations"} {
		before, after := asObject(metadataOf(r.OldObject)[field]), asObject(metadataOf(r.Object)[field])
		for _, key := range []string{v1alpha1.LabelPolicy, v1alpha1.LabelRemediation, v1alpha1.AnnotationSeal} {
			if !reflect.DeepEqual(before[key], after[key]) {
				return key, true
			}
		}
	}
	return "", false
}

// keepsState says why a breaker may not be deleted: it would come back closed.
func keepsState(r *policy.Request) string {
	spec, status := asObject(r.OldObject["spec"]), asObject(r.OldObject["status"])
	state, _ := status["state"].(string)
	switch {
	case r.Resource != "circuitbreakers":
	case spec["forced"] != nil:
		return "a person holds it open, and deleting it would close it: close it first (evenkeel breaker close)"
	case status["demoted"] != nil:
		return "its policy is demoted, and deleting it would end that with no reason given: reset it (evenkeel breaker reset --reason)"
	case state != "" && state != string(v1alpha1.BreakerClosed):
		return fmt.Sprintf("it is %s, and deleting it would close it with no reason given: reset it (evenkeel breaker reset --reason)", state)
	}
	return ""
}

func asObject(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func without(object map[string]any, fields []string) map[string]any {
	rest := maps.Clone(object)
	for _, field := range fields {
		delete(rest, field)
	}
	return rest
}
