// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/template"
	"evenkeel.dev/evenkeel/internal/webhook/exempt"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/recorded"
)

// A warning has so many bytes, and names may have as many: what happens and what to do stand all the same, and names of
// usual length stand whole.
func TestNoWarningIsCutBeforeItsRemedy(t *testing.T) {
	for name, tc := range map[string]struct {
		of func(t *testing.T, name string) []string
		// says are the words that must stand, in this order.
		says []string
	}{
		"a kind that no fix writes": {func(_ *testing.T, name string) []string {
			return outOfReach(matching(name, "CostlyAndVeryLongNamedTenantRoleBinding"),
				&limits.Reach{})
		}, []string{"no fix writes a CostlyAndVeryLongNamedTenantRoleBinding (by its name it grants permissions)",
			"unless the manager runs with --remediation-allow-kinds=CostlyAndVeryLongNamedTenantRoleBinding."}},
		"a namespace that no fix writes in": {func(_ *testing.T, name string) []string {
			p := matching("apps", "Deployment")
			p.Spec.Match.Namespaces = []string{name}
			return outOfReach(p, &limits.Reach{Exempt: []string{name}})
		}, []string{"nothing is written in namespace ",
			"unless the manager's flag --remediation-allow-namespaces names it"}},
		"a strategy that isn't there": {func(_ *testing.T, name string) []string {
			return strategyWarned(name, nil)
		}, []string{"RemediationStrategy ", "create it, or name another"}},
		"a strategy that is being deleted": {func(_ *testing.T, name string) []string {
			s := &v1alpha1.RemediationStrategy{}
			s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			return strategyWarned(name, s)
		}, []string{"RemediationStrategy ", "being deleted", "recreate it once it is gone, or name another"}},
		"a strategy that can't be followed": {func(_ *testing.T, name string) []string {
			s := &v1alpha1.RemediationStrategy{}
			s.Spec.ProgressDeadline = metav1.Duration{Duration: -time.Hour}
			return strategyWarned(name, s)
		}, []string{"RemediationStrategy ", "can't be followed", ": correct it"}},
		"a template that isn't there": {func(_ *testing.T, name string) []string {
			p := matching("apps", "Deployment")
			p.Spec.TemplateRef = &v1alpha1.TemplateReference{Name: name}
			missing := &PolicyChecker{Compile: func(*v1alpha1.ClusterRegoPolicy) error { return template.ErrNotFound }}
			return (&PolicyHandler{Checker: missing}).withoutTemplate(p)
		}, []string{"there is no RegoTemplate ", "the policy comes into force as written once there is"}},
		"a policy that a waiver names": {func(_ *testing.T, name string) []string {
			h := &WaiverHandler{Known: func(string) bool { return false }}
			return h.warnings(&v1alpha1.WaiverTerms{Policies: []string{name}}, time.Now())
		}, []string{"there is no policy ", "nothing is waived until there is"}},
		"a policy that an override names": {func(_ *testing.T, name string) []string {
			h := &OverrideHandler{Policy: func(string) *v1alpha1.ClusterRegoPolicy { return nil }}
			return []string{h.ineffective(overriding(name, "u"), time.Now())}
		}, []string{"there is no policy ", "nothing is overridden"}},
		"another policy of an override's name": {func(_ *testing.T, name string) []string {
			return []string{overrideHandler(name).ineffective(overriding(name, "other"), time.Now())}
		}, []string{"spec.policyUID isn't that of policy ", "nothing is overridden"}},
		"an override that softens nothing": {func(_ *testing.T, name string) []string {
			return []string{overrideHandler(name).ineffective(overriding(name, "u"), time.Now())}
		}, []string{"doesn't soften: admission goes on as before, and no new write of its plans begins"}},
		"plans that keep their windows": {func(_ *testing.T, name string) []string {
			return keptBy([]v1alpha1.Remediation{madeWith(name, "0 1 * * *"), madeWith(name, "0 1 * * *"),
				madeWith(name, "0 1 * * *")}, nil, func(*v1alpha1.RemediationPlan) bool { return true })
		}, []string{"3 plans in progress keep the windows", "only later plans have the new ones",
			"to stop one: evenkeel rollout pause|abort NAME"}},
		"a change that a source restores": {func(_ *testing.T, name string) []string {
			return restoredBySource(sourced(policy.Update, name), "self")
		}, []string{"this change won't last: PolicySource ", " keeps policy ", "restores it within seconds unless",
			"in an emergency: evenkeel policy override ", " --enforcement Warn --for 2h --reason REASON",
			"to last: change it in Git, or by spec.overrides of PolicySource "}},
		"a deletion that a source undoes": {func(t *testing.T, name string) []string {
			return deletionWarned(t, name, false)
		}, []string{"this deletion won't last: PolicySource ", " keeps policy ", "makes it again within seconds",
			"in an emergency: ", "--reason REASON", "to last: "}},
		"a deletion that a suspended source undoes": {func(t *testing.T, name string) []string {
			return deletionWarned(t, name, true)
		}, []string{"this deletion won't last: PolicySource ", "makes it again once it is no more suspended",
			"to last: "}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, length := range []int{1, 63, 253} {
				object := strings.Repeat("n", length)
				got := tc.of(t, object)
				text := strings.Join(got, "\n")
				for _, warning := range got {
					if len(warning) > serving.MaxWarningBytes {
						t.Errorf("a name of %d: %d bytes: %s", length, len(warning), warning)
					}
				}
				if length < 253 && strings.Contains(text, "…") {
					t.Errorf("a name of %d is cut:\n%s", length, text)
				}
				rest := text
				for _, want := range tc.says {
					_, after, found := strings.Cut(rest, want)
					if !found {
						t.Errorf("a name of %d: no %q, in its order, in\n%s", length, want, text)
						break
					}
					rest = after
				}
			}
		})
	}
}

// What administrators' flags change has no names of people's choice: it is never cut, whatever is asked for.
func TestNoWarningOfAFlagIsCut(t *testing.T) {
	for _, limit := range []v1alpha1.AppliedLimit{
		{Field: "approval.requireDistinctApprover", Asked: "false", Allowed: "true", Flag: limits.FlagDistinctApprover},
		{Field: "soak", Asked: (time.Duration(1<<63 - 1)).String(), Allowed: "2562047h47m16.854775806s",
			Flag: limits.FlagMinSoak},
		{Field: "maxInFlight", Asked: "2147483647", Allowed: "2147483646", Flag: limits.FlagMaxInFlight},
	} {
		if got := limited("spec.remediation.", []v1alpha1.AppliedLimit{limit}); len(got) != 1 ||
			got[0] != "spec.remediation."+limit.String() {
			t.Errorf("warned %q, want the whole of %s", got, limit)
		}
	}
}

// Kinds that admission never judges have warnings of fixed texts.
func TestNoWarningOfAKindThatIsNeverJudgedIsCut(t *testing.T) {
	for _, kind := range [][2]string{{"", "Node"}, {"authentication.k8s.io", "TokenReview"}, {"", "Event"},
		{"storage.k8s.io", "VolumeAttachment"}, {"certificates.k8s.io", "CertificateSigningRequest"}} {
		p := matching(kind[0], kind[1])
		p.Spec.Admission.Action = v1alpha1.AdmissionDeny
		got := strings.Join(notAtAdmission(p), "\n")
		if why := exempt.NeverAsked(kind[0], kind[1]); !strings.HasSuffix(got, why+" (docs/exemptions.md)") {
			t.Errorf("of %v warned %q, want why", kind, got)
		}
	}
}

func matching(group, kind string) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{}
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{group}, Kinds: []string{kind}}}
	p.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
	return p
}

func strategyWarned(name string, s *v1alpha1.RemediationStrategy) []string {
	if s != nil {
		s.Name = name
	}
	p := matching("apps", "Deployment")
	p.Spec.Remediation.StrategyRef = &v1alpha1.StrategyReference{Name: name}
	h := &PolicyHandler{Strategy: func(string) *v1alpha1.RemediationStrategy { return s }}
	return h.strategyWarnings(p)
}

func overriding(name, uid string) *v1alpha1.PolicyOverride {
	o := &v1alpha1.PolicyOverride{}
	o.Name, o.Spec.PolicyUID = name, uid
	o.Spec.AdmissionAction = v1alpha1.AdmissionWarn
	recorded.Requests(o, []v1alpha1.RequestRecord{{Action: v1alpha1.ActionOverride, User: "ann", Reason: "harm",
		RequestTime: metav1.NewTime(time.Now())}}...)
	o.Spec.ExpirationTime = metav1.NewTime(time.Now().Add(time.Hour))
	return o
}

func overrideHandler(name string) *OverrideHandler {
	p := &v1alpha1.ClusterRegoPolicy{}
	p.Name, p.UID = name, "u"
	p.Spec.Admission.Action = v1alpha1.AdmissionAudit
	return &OverrideHandler{Policy: func(string) *v1alpha1.ClusterRegoPolicy { return p }}
}

func sourced(operation policy.Operation, name string) *policy.Request {
	req := &policy.Request{Operation: operation, Name: name[:min(len(name), maxPolicyName)]}
	req.OldObject = map[string]any{"metadata": map[string]any{"labels": map[string]any{
		v1alpha1.LabelSourceNamespace: strings.Repeat("s", min(len(name), 63)), v1alpha1.LabelSourceName: name}}}
	return req
}

func deletionWarned(t *testing.T, name string, suspended bool) []string {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	req := sourced(policy.Delete, name)
	src := &v1alpha1.PolicySource{}
	src.Namespace, src.Name = strings.Repeat("s", min(len(name), 63)), name
	src.Spec.Suspend = suspended
	h := &DeletionHandler{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(src).Build(), Self: "self"}
	resp := h.answer(t.Context(), req)
	return resp.Warnings
}
