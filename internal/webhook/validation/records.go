// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/requests"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
)

const endpointRecords = "records"

// RecordsHandler keeps to the manager what is the manager's: plans, their slices,
// and what both and breakers say of themselves. The API server doesn't ask about the
// manager's own requests.
type RecordsHandler struct {
	serving.Base
}

// ServeHTTP answers the AdmissionReview of somebody else's write.
func (h *RecordsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Serve(w, r, endpointRecords, h.answer)
}

func (h *RecordsHandler) answer(_ context.Context, req *policy.Request) (serving.Response, string) {
	resp := serving.Response{UID: req.UID, Allowed: true}
	why := notTheirs(req)
	if why == "" {
		return resp, serving.DecisionAllowed
	}
	resp.Allowed = false
	resp.Status = serving.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden,
		fmt.Sprintf("%s %s: %s; nothing was changed", req.Kind.Kind, req.Name, why))
	h.Log.Info("somebody tried to write what is the manager's", "kind", req.Kind.Kind, "name", req.Name, "user",
		req.UserInfo.Username, "operation", req.Operation)
	return resp, serving.DecisionDenied
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
	case r.Resource == "remediationbreakers":
		return notTheirRequest(r)
	case r.Resource == "remediations":
		return notTheirPlan(r)
	case r.Resource == "remediationslices":
		return notTheirSlice(r)
	}
	return ""
}

// sayable are the fields of a plan's spec by which people speak to its rollout.
func sayable() []string {
	return []string{"desiredState", "pausedUntil", "retryToken", "windowOverride", "reason", "requests"}
}

func notTheirPlan(r *policy.Request) string {
	if r.Operation == policy.Create {
		return "plans are made by the manager alone"
	}
	before, after := without(asObject(r.OldObject["spec"]), sayable()), without(asObject(r.Object["spec"]), sayable())
	if !reflect.DeepEqual(before, after) {
		return "a plan is written by the manager alone; people may set " +
			strings.Join(slices.DeleteFunc(sayable(), func(f string) bool {
				return f == "requests"
			}), ", ") + " of a Remediation"
	}
	if key, changed := ownMarks(r); changed {
		return fmt.Sprintf("metadata holds %s, which is written by the manager alone", key)
	}
	return notTheirRequest(r)
}

// notTheirSlice lets others change nothing of a slice but metadata that isn't ours: its
// targets and records stand beside it.
func notTheirSlice(r *policy.Request) string {
	if r.Operation == policy.Create {
		return "plans are made by the manager alone"
	}
	if !reflect.DeepEqual(without(r.OldObject, []string{"metadata"}), without(r.Object, []string{"metadata"})) {
		return "the targets and records of a plan are written by the manager alone"
	}
	if key, changed := ownMarks(r); changed {
		return fmt.Sprintf("metadata holds %s, which is written by the manager alone", key)
	}
	return ""
}

// ownMarks finds a label or an annotation of Evenkeel's own that a request changes.
func ownMarks(r *policy.Request) (string, bool) {
	for _, field := range []string{"labels", "annotations"} {
		before, after := asObject(policy.Metadata(r.OldObject)[field]), asObject(policy.Metadata(r.Object)[field])
		for _, key := range []string{v1alpha1.LabelPolicy, v1alpha1.LabelRemediation, v1alpha1.AnnotationSeal} {
			if !reflect.DeepEqual(before[key], after[key]) {
				return key, true
			}
		}
	}
	return "", false
}

// notTheirRequest says why what somebody asks of a breaker can't be taken.
func notTheirRequest(r *policy.Request) string {
	if field, yes := stamp.Missing(r); yes {
		return fmt.Sprintf("%s doesn't hold who makes this request. The MutatingWebhookConfiguration %s fills it in: "+
			"try again in a moment", field, names.Configuration)
	}
	if end, passed := requests.Passed(r); passed {
		return fmt.Sprintf("the end that it names, %s, has passed, so that nothing would be held: set a time to come, "+
			"or none, to hold it until a person lets it go on", end.UTC().Format(time.RFC3339))
	}
	if reason, asks := requests.Asks(r, v1alpha1.ActionReset); asks && reason == "" {
		return "a reset needs a reason: set spec.reason in the same request, or use evenkeel breaker reset --reason"
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
