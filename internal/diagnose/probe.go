// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/webhook/names"
)

// probeName is the name of what is sent as a dry run only: no policy has it.
const probeName = "evenkeel-doctor-probe"

// probe is two writes that are only tried, to see what admission makes of them.
type probe struct {
	// sound must pass, and then hold who made it. unsound must be refused.
	sound, unsound client.Object
	// signed says whether sound holds who made it.
	signed func() bool
	// signer is the webhook that fills that in, judge the one that refuses.
	signer, judge string
	// unsigned and passed say what is so where they don't; judges is what admission judged, if not a policy.
	unsigned, passed, judges string
}

// probes are what can be tried, the most telling first: a policy needs the permission to write policies, an override
// of one only what people on call may ask for.
func probes(now time.Time) []probe {
	policy, softened := policyProbe("package evenkeel.doctor\n\nimport rego.v1\n\n"+
		"deny contains {\"msg\": \"never\"} if false\n"), overrideProbe(now.Add(time.Hour))
	return []probe{
		{sound: policy, unsound: policyProbe("package evenkeel.doctor\n\nthis isn't Rego\n"),
			signed: func() bool { return policy.Annotations[v1alpha1.AnnotationAuthor] != "" },
			signer: names.WebhookAuthor, judge: names.WebhookPolicies,
			unsigned: "a new policy doesn't get its author", passed: "a policy that doesn't compile is let through"},
		{sound: softened, unsound: overrideProbe(now.Add(-time.Hour)),
			signed: func() bool { return softened.Asked() != nil },
			signer: names.WebhookOverrideRequests, judge: names.WebhookOverrides,
			unsigned: "an override doesn't get the name of the user who asks for it",
			passed:   "an override that has ended before it begins is let through",
			judges:   " an override of a policy"},
	}
}

func policyProbe(rego string) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: probeName}}
	p.Spec = v1alpha1.RegoPolicySpec{Title: "Probe", Description: "Asks whether admission answers; never stored.",
		Owner: "doctor", Severity: v1alpha1.SeverityLow,
		RunbookURL: "https://evenkeel.dev/docs/troubleshoot", Rego: v1alpha1.RegoSource{File: "probe.rego", Main: rego},
		Admission: v1alpha1.Admission{Action: v1alpha1.AdmissionAudit}}
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
	p.Spec.Match.Namespaces = []string{probeName}
	p.SetDefaults()
	return p
}

func overrideProbe(until time.Time) *v1alpha1.PolicyOverride {
	return &v1alpha1.PolicyOverride{ObjectMeta: metav1.ObjectMeta{Name: probeName},
		Spec: v1alpha1.PolicyOverrideSpec{PolicyUID: probeName, AdmissionAction: v1alpha1.AdmissionWarn,
			ExpirationTime: metav1.NewTime(until), Reason: "Asks whether admission answers; never stored."}}
}

// send tries what must pass, and gives what was tried, and how long it took. What the person may not ask for is left
// for the next probe; the error is that of the last.
func (in *Installation) send(ctx context.Context) (p probe, took time.Duration, err error) {
	for _, p = range probes(in.Clock.Now()) {
		asked := in.Clock.Now()
		err = in.Client.Create(ctx, p.sound, client.DryRunAll)
		took = in.Clock.Since(asked)
		if _, refused := permissions.RefusedBy(err); !refused {
			break
		}
	}
	return p, took, err
}

// unasked says that the API server doesn't ask a webhook, and what comes of that.
func unasked(what, webhook string) Finding {
	return failed(madeByLeader, "%s: the API server doesn't ask %s", what, webhook)
}
