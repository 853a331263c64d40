package webhook

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// maxProblemLines bounds the message about a refused policy.
const maxProblemLines = 20

const endpointPolicy = "policy"

// PolicyHandler refuses policies that couldn't work, when they are written, so
// that whoever writes one learns at once what is wrong and where.
type PolicyHandler struct {
	Checker *PolicyChecker
	Metrics *Metrics
	Clock   clock.PassiveClock
	Log     logr.Logger
}

// ServeHTTP answers the AdmissionReview of a Policy.
func (h *PolicyHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := h.Clock.Now()
	review, err := readReview(w, r)
	if err != nil {
		serveBadReview(w, err)
		h.Metrics.answered(endpointPolicy, nil, decisionBad, h.Clock.Since(start))
		return
	}
	req := review.request(start)
	resp, decision := h.answer(req)
	h.Metrics.answered(endpointPolicy, req, decision, h.Clock.Since(start))
	if err := writeResponse(w, resp); err != nil {
		h.Log.Error(err, "The admission request of a policy stays unanswered", "policy", req.Name)
	}
}

func (h *PolicyHandler) answer(req *policy.Request) (response, string) {
	resp := response{UID: req.UID, Allowed: true}
	if req.Object == nil || req.SubResource != "" || keepsSpec(req) {
		return resp, decisionAllowed
	}
	var p v1alpha1.Policy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(req.Object, &p); err != nil {
		resp.Allowed = false
		resp.Status = refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprintf("Policy %s isn't of the form %s: %v", req.Name, v1alpha1.GroupVersion, err))
		return resp, decisionDenied
	}
	found := h.Checker.Check(&p)
	if len(found) == 0 {
		return resp, decisionAllowed
	}
	resp.Allowed = false
	resp.Status = invalidPolicy(&p, found)
	return resp, decisionDenied
}

// keepsSpec says that an update leaves the rule as it is: labels and finalizers
// can be changed even when the kinds that the rule names are gone.
func keepsSpec(r *policy.Request) bool {
	return r.Operation == policy.Update && r.OldObject != nil && reflect.DeepEqual(r.Object["spec"], r.OldObject["spec"])
}

func invalidPolicy(p *v1alpha1.Policy, found []problem) *metav1.Status {
	var b strings.Builder
	fmt.Fprintf(&b, "Policy %s can't be accepted; nothing was changed. %d %s:", p.Name, len(found), plural("problem", len(found)))
	for i, f := range found {
		if i == maxProblemLines {
			fmt.Fprintf(&b, "\nand %d more", len(found)-i)
			break
		}
		b.WriteString("\n- " + clip(oneLine(f.String()), maxLineBytes))
	}
	status := refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, b.String())
	status.Details = &metav1.StatusDetails{
		Group:  v1alpha1.GroupVersion.Group,
		Kind:   "Policy",
		Name:   p.Name,
		Causes: causes(found[:min(len(found), maxProblemLines)]),
	}
	return status
}
