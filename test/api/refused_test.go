// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/schema"
	"evenkeel.dev/evenkeel/test/fixture"
)

// refusalOf is what the API server's own schema checks, CEL included, report of an object; empty if it is valid.
// test/integration/schema_test.go creates one object of each kind on a real API server.
func refusalOf(t *testing.T, kind string, object client.Object) string {
	t.Helper()
	object.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := (&schema.Checker{}).Check(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	if len(wrong) == 0 {
		return ""
	}
	return wrong.ToAggregate().Error()
}

func TestTheSchemaRefusesPolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ClusterRegoPolicy)
		want   string
	}{
		"without a title": {func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Title = "" }, "spec.title"},
		"that refuses, without an owner": {func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Owner, p.Spec.Admission.Action = "", "Deny"
		}, "owner is required"},
		"that fixes, without an owner": {func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Owner, p.Spec.Remediation.Mode = "", "DryRun"
		}, "owner is required"},
		"of unknown severity": {func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Severity = "Fatal" }, "spec.severity"},
		"whose runbook is no link": {func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.RunbookURL = "ask Bob"
		}, "spec.runbookURL"},
		"without Rego": {func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Rego.Main = "" }, "spec.rego.main"},
		"with a library named like the main module": {func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Libraries = []v1alpha1.RegoLibrary{{Name: p.Spec.Rego.File, Source: "package a"}}
		}, "a library bears the file name of rego.main"},
		"with two libraries of one name": {func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Libraries = []v1alpha1.RegoLibrary{
				{Name: "a.rego", Source: "package a"}, {Name: "a.rego", Source: "package b"}}
		}, "Duplicate value"},
		"with more Rego than can be kept": {func(p *v1alpha1.ClusterRegoPolicy) {
			for _, name := range []string{"a", "b"} {
				p.Spec.Rego.Libraries = append(
					p.Spec.Rego.Libraries, v1alpha1.RegoLibrary{Name: name, Source: strings.Repeat("#", 131072)})
			}
		}, "192 Ki characters in all"},
		"that matches no kind": {func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.Kinds = nil
		}, "spec.match.kinds"},
		"that matches every group":    {fixture.Kinds("*", "ConfigMap"), "name the groups"},
		"that matches every kind":     {fixture.Kinds("", "*"), "name the kinds"},
		"of unknown enforcement":      {fixture.Enforced("Block"), "spec.admission.action"},
		"of unknown remediation mode": {fixture.Remediated("Sometimes"), "spec.remediation.mode"},
		"with a setting of a strategy": {func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Remediation.RemovedSoak = "1m" },
			"soak is gone from policies: set soak in the steps of the RemediationStrategy that strategyRef names"},
		"whose name is too long for those built from it": {func(p *v1alpha1.ClusterRegoPolicy) {
			p.Name = strings.Repeat("n", 53)
		}, "at most 52 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			got := refusalOf(t, "ClusterRegoPolicy", fixture.Policy("schema", "nowhere", fixture.FixState, tc.change))
			if !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if got := refusalOf(t, "ClusterRegoPolicy", fixture.Policy("schema", "nowhere", fixture.FixState)); got != "" {
		t.Errorf("a good policy: %s", got)
	}
}

func TestAPolicyNeedsNoAPIGroups(t *testing.T) {
	p := fixture.Policy("core", "shop", "package a")
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{{Kinds: []string{"Pod"}}}
	if got := refusalOf(t, "ClusterRegoPolicy", p); got != "" {
		t.Error(got)
	}
	p.Spec.Match.Kinds[0].Kinds = nil
	if got := refusalOf(t, "ClusterRegoPolicy", p); !strings.Contains(got, "spec.match.kinds[0].kinds") {
		t.Errorf("got %q", got)
	}
}

// TestTheSchemaRefusesWaiversOfResources: if match.resources were dropped, the waiver would cover every kind.
func TestTheSchemaRefusesWaiversOfResources(t *testing.T) {
	for _, kind := range []string{"Waiver", "ClusterWaiver"} {
		for field, want := range map[string]string{"kinds": "", "resources": "spec.match.resources: Invalid value"} {
			waiver := map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": kind,
				"metadata": map[string]any{"name": "old", "namespace": "shop"},
				"spec": map[string]any{"policies": []any{"a"}, "reason": "INC-42",
					"expirationTime": "2027-01-07T08:00:00Z", "match": map[string]any{field: []any{
						map[string]any{"apiGroups": []any{"apps"}, "kinds": []any{"Deployment"}}}}}}
			wrong, err := (&schema.Checker{}).Check(t.Context(), waiver)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(wrong) > 0 {
				got = wrong.ToAggregate().Error()
			}
			if (got == "") != (want == "") || !strings.Contains(got, want) ||
				want != "" && !strings.Contains(got, "resources is now kinds") {
				t.Errorf("%s with match.%s: got %q, want %q", kind, field, got, want)
			}
		}
	}
}

func TestTheSchemaRefusesPolicySources(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.PolicySourceSpec)
		want   string // empty: the source is valid
	}{
		"ssh": {func(s *v1alpha1.PolicySourceSpec) { s.URL = "ssh://git@git.example.com:2222/policies.git" }, ""},
		"a directory in a directory": {func(s *v1alpha1.PolicySourceSpec) {
			s.Path = "clusters/prod.eu/policies"
		}, ""},
		"a commit": {func(s *v1alpha1.PolicySourceSpec) {
			s.Ref = &v1alpha1.SourceReference{Commit: strings.Repeat("0a", 20)}
		}, ""},
		"a protocol that proves nothing": {func(s *v1alpha1.PolicySourceSpec) {
			s.URL = "http://git.example.com/policies.git"
		}, "url must be https"},
		"a file of another host": {func(s *v1alpha1.PolicySourceSpec) {
			s.URL = "file://elsewhere/policies.git"
		}, "url must be https"},
		"the short form of ssh": {func(s *v1alpha1.PolicySourceSpec) {
			s.URL = "git@git.example.com:policies.git"
		}, "ssh://git@HOST/PATH"},
		"a password in the URL": {func(s *v1alpha1.PolicySourceSpec) {
			s.URL = "https://me:secret@git.example.com/policies.git"
		}, "must not hold a password"},
		"two things to follow": {func(s *v1alpha1.PolicySourceSpec) {
			s.Ref = &v1alpha1.SourceReference{Branch: "main", Tag: "v1"}
		}, "give one of branch, tag, semver and commit"},
		"a path that leaves the repository": {func(s *v1alpha1.PolicySourceSpec) {
			s.Path = "a/../../b"
		}, "path must lie within"},
		"a short interval": {func(s *v1alpha1.PolicySourceSpec) {
			s.Interval.Duration = time.Second
		}, "from 10s to 24h"},
		"a share of removals that isn't one": {func(s *v1alpha1.PolicySourceSpec) {
			s.MaxRemoved = ptr.To(intstr.FromString("101%"))
		}, "maxRemoved must be"},
		"a number of removals below none": {func(s *v1alpha1.PolicySourceSpec) {
			s.MaxRemoved = ptr.To(intstr.FromInt32(-1))
		}, "maxRemoved must be"},
		"a history that isn't known": {func(s *v1alpha1.PolicySourceSpec) { s.History = "Linear" }, "history"},
		"an override that changes nothing": {func(s *v1alpha1.PolicySourceSpec) {
			s.Overrides = []v1alpha1.SourceOverride{{Policies: []string{"a"}}}
		}, "changes nothing"},
		"an override of a mode that isn't known": {func(s *v1alpha1.PolicySourceSpec) {
			s.Overrides = []v1alpha1.SourceOverride{{RemediationMode: "Sometimes"}}
		}, "remediationMode"},
	} {
		t.Run(name, func(t *testing.T) {
			source := &v1alpha1.PolicySource{
				ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel-system", Name: "schema"},
				Spec:       v1alpha1.PolicySourceSpec{URL: "https://git.example.com/platform/policies.git"}}
			tc.change(&source.Spec)
			got := refusalOf(t, "PolicySource", source)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTheSchemaRefusesStrategies(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*fixture.Rollout)
		want   string
	}{
		"that can be followed":         {fixture.Waves("5%", "50%"), ""},
		"with a step that is no share": {fixture.Waves("5 percent"), "should match"},
		"with a step behind all":       {fixture.Waves("100%", "100%"), "no step may follow one of 100%"},
		"with a step that is approved": {func(s *fixture.Rollout) {
			s.Steps[0].Approval = v1alpha1.ApprovalRequired
		}, ""},
		"with an approval that nothing waits for": {func(s *fixture.Rollout) {
			fixture.Waves("100%")(s)
			s.Steps[len(s.Steps)-1].Approval = v1alpha1.ApprovalRequired
		}, "a step of 100% can't have approval"},
		"with another approval": {func(s *fixture.Rollout) {
			s.Steps[0].Approval = "Optional"
		}, "Unsupported value"},
		"with a selector behind the canary": {func(s *fixture.Rollout) {
			s.Steps[1].Selector = &v1alpha1.TargetSelector{}
		}, "only the first step"},
		"with a selector of the canary": {func(s *fixture.Rollout) {
			s.Steps[0].Selector = &v1alpha1.TargetSelector{}
		}, ""},
		"whose breaker could never open": {func(s *fixture.Rollout) {
			s.Breaker.Window.Duration = 1
		}, "spec.breaker.window"},
		"with too many writes at once": {fixture.Concurrent(101), "maxInFlight must be a count from 1 to 100"},
		"with a share of writes at once": {func(s *fixture.Rollout) {
			s.MaxInFlight = ptr.To(intstr.FromString("5%"))
		}, ""},
		"with an old name of a field": {func(s *fixture.Rollout) {
			s.RemovedSoak = "1m"
		}, "soak is gone: set soak in the steps"},
		"with waves, which they had once": {func(s *fixture.Rollout) {
			s.RemovedWaves = []intstr.IntOrString{intstr.FromInt32(1)}
		}, "waves is gone: set steps"},
	} {
		got := refusalOf(t, "RemediationStrategy", fixture.Strategy("schema", tc.change))
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
