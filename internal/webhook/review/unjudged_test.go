// SPDX-License-Identifier: Apache-2.0

package review

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// A rollout's own writes are judged too: what it is refused since a replica doesn't know yet what rules look up must
// not count as a denial of its fix, by kube.DeniedByAdmission.
func TestWhatCantBeJudgedForNowIsNoDenial(t *testing.T) {
	unknown := failure{policy: "hosts",
		err: &policy.UnknownReferenceError{Kind: "Ingress", Err: errors.New("not listed")}}
	broken := failure{policy: "labels", err: errors.New("eval_conflict_error")}
	namespace := failure{err: &unreadNamespaceError{errors.New("reading namespace shop: the server is down")}}
	softened := broken
	softened.overridden = true
	for name, tc := range map[string]struct {
		failed []failure
		code   int32
		denied bool
	}{
		"what rules look up isn't known":    {[]failure{unknown}, http.StatusServiceUnavailable, false},
		"the namespace can't be read":       {[]failure{namespace}, http.StatusServiceUnavailable, false},
		"a rule is broken":                  {[]failure{broken}, http.StatusInternalServerError, true},
		"both":                              {[]failure{unknown, broken}, http.StatusInternalServerError, true},
		"both, but the rule is overridden":  {[]failure{unknown, softened}, http.StatusServiceUnavailable, false},
		"two that look up what isn't known": {[]failure{unknown, unknown}, http.StatusServiceUnavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := &verdict{class: v1alpha1.FailurePolicyFail, failed: tc.failed}
			got, decision := answer(&policy.Request{}, v)
			if got.Allowed || decision != serving.DecisionErrored || got.Status.Code != tc.code {
				t.Errorf("want a refusal with code %d, got %t, %s, %+v", tc.code, got.Allowed, decision, got.Status)
			}
			status := got.Status
			status.Message = `admission webhook "fail.evenkeel.dev" denied the request: ` + status.Message
			if err := apierrors.FromObject(status); kube.DeniedByAdmission(err) != tc.denied {
				t.Errorf("taken for a denial: %t, want %t: %v", !tc.denied, tc.denied, err)
			}
		})
	}
}
