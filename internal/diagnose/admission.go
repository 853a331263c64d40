// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/names"
)

// slowAdmission is how long a request through the webhook may take until somebody
// should know.
const slowAdmission = time.Second

// probe is a policy that matches nothing. It is sent as a dry run only.
func probe(rego string) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-doctor-probe"}}
	p.Spec = v1alpha1.RegoPolicySpec{Title: "Probe", Description: "Asks whether admission answers; never stored.",
		Owner: "doctor", Severity: v1alpha1.SeverityLow,
		RunbookURL: "https://evenkeel.dev/docs/troubleshoot", Rego: v1alpha1.RegoSource{File: "probe.rego", Main: rego},
		Admission: v1alpha1.Admission{Action: v1alpha1.AdmissionAudit}}
	p.Spec.Match.Resources = []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
	p.Spec.Match.Namespaces = []string{"evenkeel-doctor-probe"}
	p.SetDefaults()
	return p
}

// soundProbe is one that admission must let pass.
func soundProbe() *v1alpha1.ClusterRegoPolicy {
	return probe("package evenkeel.doctor\n\nimport rego.v1\n\ndeny contains {\"msg\": \"never\"} if false\n")
}

// admission sends two dry runs through the webhook: a policy that is sound must
// pass, with its author filled in, and one that doesn't compile must be refused.
func admission(ctx context.Context, in *Installation) []Finding {
	asked := in.Clock.Now()
	sound := soundProbe()
	err := in.Client.Create(ctx, sound, client.DryRunAll)
	took := in.Clock.Since(asked).Round(time.Millisecond)
	if f, bad := refusal(err); bad {
		return []Finding{f}
	}
	if sound.Annotations[v1alpha1.AnnotationAuthor] == "" {
		return []Finding{failed(madeByLeader, "a new policy doesn't get its author: the API server doesn't ask %s",
			names.WebhookAuthor)}
	}
	switch err := in.Client.Create(ctx, probe("package evenkeel.doctor\n\nthis isn't Rego\n"), client.DryRunAll); {
	case err == nil:
		return []Finding{
			failed(madeByLeader, "a policy that doesn't compile is let through: the API server doesn't ask %s",
				names.WebhookPolicies)}
	case !strings.Contains(err.Error(), names.WebhookPolicies):
		return []Finding{unread("whether the webhook judges", err)}
	}
	if took > slowAdmission {
		return []Finding{warned("see the manager's CPU, and the metric evenkeel_admission_duration_seconds",
			"the webhook answers and judges, but took %s", took)}
	}
	return []Finding{fine("the webhook answers and judges; a request through it took %s", took)}
}

// refusal says what an error of a request that should pass means.
func refusal(err error) (Finding, bool) {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return Finding{}, false
	case errors.As(err, &status) && strings.Contains(err.Error(), "failed calling webhook"):
		return failed("see the checks manager, webhooks and certificate; to unblock the cluster meanwhile, see "+
			"docs/troubleshoot.md",
			"the API server can't reach the webhook: %v", err), true
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "admission webhook"):
		return failed("see the manager's log", "admission refuses a sound policy: %v", err), true
	default:
		return unread("whether admission answers", err), true
	}
}
