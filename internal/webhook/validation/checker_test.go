// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/webhook/discovery"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

func newChecker(kinds *discovery.Kinds) *PolicyChecker {
	return &PolicyChecker{Kinds: kinds, Compile: func(p *v1alpha1.ClusterRegoPolicy) error {
		_, err := rego.Compile(p)
		return err
	}}
}

// old gives a policy a setting that it had once.
func old(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Remediation.RemovedSoak = "5m" }

func TestPolicyCheck(t *testing.T) {
	cases := map[string]struct {
		rego   string
		change []func(*v1alpha1.ClusterRegoPolicy)
		want   []string // each problem contains, in order
	}{
		"a good policy has no problem": {},
		"a module that doesn't parse is told by file and row": {
			rego: "package a\n\ndeny contains \"x\" if {",
			want: []string{"p.rego:3:"},
		},
		"a forbidden built-in is told by file and row": {
			rego: "package a\n\ndeny contains \"x\" if {\n\thttp.send({\"method\": \"get\", \"url\": " +
				"\"https://example.com\"})\n}",
			want: []string{"p.rego:4:"},
		},
		"a module without a rule of the contract": {
			rego: "package a\n\nother := 1",
			want: []string{"deny"},
		},
		"a match condition that doesn't compile is told by field, row and column": {
			change: []func(*v1alpha1.ClusterRegoPolicy){webhooktest.WithConditions(`true`, `request.user == "ann"`)},
			want:   []string{"spec.admission.matchConditions[1].expression:1:8: undefined field 'user'"},
		},
		"a misspelt kind is told by field, with the right one": {
			change: []func(*v1alpha1.ClusterRegoPolicy){webhooktest.WithResources("apps", "Deployment", "deployment")},
			want: []string{
				`spec.match.kinds[1].kinds[1]: the API server serves no kind "deployment" in group "apps": did you mean "Deployment" of group "apps"?`},
		},
		"a kind in the wrong group is told with the right group": {
			change: []func(*v1alpha1.ClusterRegoPolicy){webhooktest.WithResources("", "Deployment")},
			want: []string{
				`spec.match.kinds[1].kinds[0]: the API server serves no kind "Deployment" in group "": set apiGroups to "apps", which serves it`},
		},
		"a kind that nobody serves": {
			change: []func(*v1alpha1.ClusterRegoPolicy){webhooktest.WithResources("example.com", "Widget")},
			want: []string{
				`spec.match.kinds[1].kinds[0]: the API server serves no kind "Widget" in group "example.com": check the spelling, or install its CustomResourceDefinition first`},
		},
		"a group that has none of the kinds": {
			change: []func(*v1alpha1.ClusterRegoPolicy){func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Match.Kinds[0].APIGroups = []string{"", "apps"}
			}},
			want: []string{`spec.match.kinds[0].apiGroups[1]: group "apps" serves none of the kinds`},
		},
		"leases and Evenkeel's own kinds can't be matched": {
			change: []func(*v1alpha1.ClusterRegoPolicy){webhooktest.WithResources("coordination.k8s.io", "Lease"),
				webhooktest.WithResources("evenkeel.dev", "ClusterRegoPolicy")},
			want: []string{"spec.match.kinds[1].kinds[0]: Lease can't be matched: leases keep",
				"spec.match.kinds[2].kinds[0]: ClusterRegoPolicy can't be matched: Evenkeel's own"},
		},
		"a bad selector is told by its field": {
			change: []func(*v1alpha1.ClusterRegoPolicy){func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Match.ObjectSelector = &v1alpha1.LabelSelector{
					MatchExpressions: []v1alpha1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
			}},
			want: []string{"objectSelector"},
		},
		"a name too long for what is named after it": {
			change: []func(*v1alpha1.ClusterRegoPolicy){func(p *v1alpha1.ClusterRegoPolicy) {
				p.Name = strings.Repeat("a", 53)
			}},
			want: []string{"metadata.name: 53 characters long: use at most 52"},
		},
		"settings of a strategy": {change: []func(*v1alpha1.ClusterRegoPolicy){old},
			want: []string{"spec.remediation.soak: it is gone: set soak in the steps of the RemediationStrategy"}},
		"words that aren't known": {change: []func(*v1alpha1.ClusterRegoPolicy){func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Remediation.Mode, p.Spec.Remediation.AllowedActions = "Auto", []v1alpha1.ActionType{"Reboot"}
		}}, want: []string{"spec.remediation.mode: ", "spec.remediation.allowedActions[0]: "}},
		"all problems are told at once": {
			rego: "package a\n\ndeny contains \"x\" if {",
			change: []func(*v1alpha1.ClusterRegoPolicy){webhooktest.WithResources("example.com", "Widget"),
				old},
			want: []string{"p.rego:3:", "spec.match.kinds[1].kinds[0]", "spec.remediation.soak"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.rego == "" {
				tc.rego = webhooktest.PrivilegedRego
			}
			got := newChecker(webhooktest.Kinds()).Check(webhooktest.NewPolicy("p", tc.rego, tc.change...), nil)
			ok := len(got) == len(tc.want)
			for i := 0; ok && i < len(got); i++ {
				ok = strings.Contains(got[i].String(), tc.want[i])
			}
			if !ok {
				t.Errorf("got\n%v\nwant problems with\n%s", got, strings.Join(tc.want, "\n"))
			}
		})
	}
}

func TestPolicyCheckWhenTheAPICannotBeAsked(t *testing.T) {
	kinds := discovery.NewKinds(func() (meta.RESTMapper, error) { return nil, errors.New("connection refused") })
	got := newChecker(kinds).Check(webhooktest.NewPolicy("p", webhooktest.PrivilegedRego), nil)
	if len(got) != 1 || !strings.Contains(
		got[0].String(), "could not be checked: discovering the API: connection refused; try again") {
		t.Errorf("got %v", got)
	}
}

func policyTree(t *testing.T, p *v1alpha1.ClusterRegoPolicy) tree {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestPolicyHandler(t *testing.T) {
	bad := webhooktest.NewPolicy("p", "package a\n\ndeny contains \"x\" if {", old)
	asPolicy := webhooktest.OfKind("ClusterRegoPolicy", "clusterregopolicies")
	relabelled := bad.DeepCopy()
	relabelled.Labels = map[string]string{"a": "b"}
	cases := map[string]struct {
		reason string
		review tree
		want   bool
	}{
		"a good policy is accepted": {
			review: webhooktest.Review("CREATE", policyTree(t, webhooktest.NewPolicy("p", webhooktest.PrivilegedRego)),
				nil, asPolicy), want: true},
		"a bad one is refused": {review: webhooktest.Review("CREATE", policyTree(t, bad), nil, asPolicy)},
		"a bad change is refused": {
			review: webhooktest.Review("UPDATE", policyTree(t, bad),
				policyTree(t, webhooktest.NewPolicy("p", webhooktest.PrivilegedRego)), asPolicy)},
		"a label of a bad policy can be changed": {
			reason: "a policy whose kind is gone must still be deletable and labelled",
			review: webhooktest.Review("UPDATE", policyTree(t, relabelled), policyTree(t, bad), asPolicy),
			want:   true,
		},
		"a policy of another form is refused": {
			review: webhooktest.Review("CREATE", tree{"metadata": tree{"name": "p"}, "spec": "x"}, nil, asPolicy)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := &PolicyHandler{Base: webhooktest.Base(t, time.Unix(0, 0)), Checker: newChecker(webhooktest.Kinds())}
			tc.review["request"].(tree)["object"] = withWho(t, tc.review)
			if got := webhooktest.Ask(t, h, tc.review); got.Allowed != tc.want {
				t.Errorf("%s: allowed is %t: %v", tc.reason, got.Allowed, got.Status)
			}
		})
	}
}

func TestAPolicyThatActsWithoutARunbookIsAcceptedWithAWarning(t *testing.T) {
	for action, want := range map[v1alpha1.AdmissionAction]bool{"Deny": true, "Warn": false} {
		p := webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, webhooktest.WithAction(action))
		p.Spec.RunbookURL = ""
		review := webhooktest.Review("CREATE", policyTree(t, p), nil,
			webhooktest.OfKind("ClusterRegoPolicy", "clusterregopolicies"))
		h := &PolicyHandler{Base: webhooktest.Base(t, time.Unix(0, 0)), Checker: newChecker(webhooktest.Kinds())}
		review["request"].(tree)["object"] = withWho(t, review)
		got := webhooktest.Ask(t, h, review)
		if warned := strings.Contains(strings.Join(got.Warnings, "\n"), "spec.runbookURL is missing"); !got.Allowed ||
			warned != want {
			t.Errorf("%s: allowed %t, warnings %q", action, got.Allowed, got.Warnings)
		}
	}
}

func TestAPolicyWarnsOfKindsThatOnlyTheScanJudges(t *testing.T) {
	events := webhooktest.WithResources("", "Event")
	cases := map[string]struct {
		policy *v1alpha1.ClusterRegoPolicy
		want   []string
	}{
		"it would refuse": {webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, events),
			[]string{"Event is judged by the scan only, never at admission: it says what happened, and changes " +
				"nothing (docs/exemptions.md)"}},
		"it only records": {
			webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, events,
				webhooktest.WithAction(v1alpha1.AdmissionAudit)), nil},
		"no such kind matched": {webhooktest.NewPolicy("p", webhooktest.PrivilegedRego), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, notAtAdmission(tc.policy)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestARefusedPolicyIsToldByFileAndField(t *testing.T) {
	bad := webhooktest.NewPolicy("p", "package a\n\ndeny contains \"x\" if {", old)
	status := invalid("ClusterRegoPolicy", bad.Name, newChecker(webhooktest.Kinds()).Check(bad, nil))
	if status.Code != http.StatusUnprocessableEntity || status.Reason != metav1.StatusReasonInvalid {
		t.Errorf("status %d %s", status.Code, status.Reason)
	}
	lines := strings.Split(status.Message, "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "- p.rego:3:") ||
		!strings.HasPrefix(lines[2], "- spec.remediation.soak: it is gone") {
		t.Errorf("message %q", status.Message)
	}
	var fields []string
	for _, c := range status.Details.Causes {
		fields = append(fields, c.Field)
	}
	if diff := cmp.Diff([]string{"spec.rego.main", "spec.remediation.soak"}, fields); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestPoliciesAreCompiledInTurns holds the one turn that there is, while a policy is
// written: it is refused, and whoever writes it is told to try again.
func TestPoliciesAreCompiledInTurns(t *testing.T) {
	turns := rego.NewLane(1)
	end, err := turns.Turn(t.Context(), "flood")
	if err != nil {
		t.Fatal(err)
	}
	h := &PolicyHandler{Turns: turns, Checker: newChecker(webhooktest.Kinds())}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := compileTurn(over, h.Turns, &policy.Request{UserInfo: policy.UserInfo{Username: "other"}}); err == nil {
		t.Fatal("a policy is compiled while another has the only turn")
	}
	end()
	again, err := compileTurn(t.Context(), h.Turns, &policy.Request{UserInfo: policy.UserInfo{Username: "other"}})
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestPoliciesAreRefusedUnstamped(t *testing.T) {
	p := webhooktest.NewPolicy("p", webhooktest.PrivilegedRego)
	p.Annotations = map[string]string{v1alpha1.AnnotationAuthor: "bob"}
	h := &PolicyHandler{Base: webhooktest.Base(t, time.Unix(0, 0)), Checker: newChecker(webhooktest.Kinds())}
	review := webhooktest.Review("CREATE", policyTree(t, p), nil,
		webhooktest.OfKind("ClusterRegoPolicy", "clusterregopolicies"))
	got := webhooktest.Ask(t, h, review)
	if got.Allowed || got.Status.Code != http.StatusForbidden ||
		!strings.Contains(got.Status.Message,
			"metadata.annotations.evenkeel.dev/author of ClusterRegoPolicy p doesn't hold") {
		t.Errorf("a forged author passes, or isn't named: %+v", got.Status)
	}
	review["request"].(tree)["object"] = withWho(t, review)
	if got := webhooktest.Ask(t, h, review); !got.Allowed {
		t.Errorf("a stamped policy is refused: %v", got.Status)
	}
}

// withWho is the object of a review once it holds who makes it.
func withWho(t *testing.T, review tree) tree {
	t.Helper()
	return webhooktest.Patched(t, &stamp.Handler{Base: webhooktest.Base(t, time.Unix(0, 0))}, review)
}
