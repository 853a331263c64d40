package webhook

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/internal/webhook/webhooktest"
)

const noShells = `package evenkeel.test.shells

deny contains {"msg": sprintf("%s runs %s", [input.request.userInfo.username, input.object.command[0]]), "path": "/command"} if {
	input.request.operation == "CONNECT"
	input.request.subResource == "exec"
	input.request.resource == {"group": "", "version": "v1", "resource": "pods"}
	input.review.namespaceObject.metadata.name == "shop"
}
`

// ofParts makes a policy concern subresources instead of Pods.
func ofParts(operation v1alpha1.Operation, group, kind string, names ...v1alpha1.Subresource) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Admission.Operations = []v1alpha1.Operation{operation}
		p.Spec.Match.Resources = []v1alpha1.ResourceMatch{{APIGroups: []string{group}, Kinds: []string{kind}, Subresources: names}}
	}
}

// execReview is what the API server asks before it opens a shell.
func execReview() tree {
	options := tree{"apiVersion": "v1", "kind": "PodExecOptions", "stdin": true, "container": "web", "command": []any{"sh"}, "metadata": tree{}}
	return webhooktest.Review("CONNECT", options, nil, func(r tree) {
		delete(options, "metadata")
		r["kind"] = tree{"group": "", "version": "v1", "kind": "PodExecOptions"}
		r["resource"] = tree{"group": "", "version": "v1", "resource": "pods"}
		r["subResource"], r["name"] = "exec", "web-0"
	})
}

func TestAShellIsRefusedWithItsOptionsAsInput(t *testing.T) {
	h := newHandler(t, v1alpha1.FailurePolicyFail, webhooktest.NewCatalog(t, webhooktest.NewPolicy("no-shells", noShells, ofParts("CONNECT", "", "Pod", "exec"))))
	want := serving.Response{
		Status: forbidden(`exec of Pod shop/web-0 is refused by policy no-shells (High): No privileged containers
- /command: ann runs sh
  Runbook: https://runbooks.example.com/no-shells`),
		AuditAnnotations: map[string]string{"no-shells": "Deny: 1, first at /command"},
	}
	got := webhooktest.Ask(t, h, execReview())
	got.UID = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := webhooktest.Counted(t, h.Metrics, "evenkeel_admission_requests_total", serving.DecisionDenied, "fail", "CONNECT"); got != 1 {
		t.Errorf("denied shells counted: %v", got)
	}
}

func TestShellsThatNoPolicyNamesPass(t *testing.T) {
	h := newHandler(t, v1alpha1.FailurePolicyFail, webhooktest.NewCatalog(t, webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)))
	if got := webhooktest.Ask(t, h, execReview()); !got.Allowed {
		t.Errorf("refused: %+v", got.Status)
	}
}

func TestRulesNameSubresources(t *testing.T) {
	cases := map[string]struct {
		policies []*v1alpha1.ClusterRegoPolicy
		want     string
	}{
		"CONNECT of each that is named, and nothing of the Pod itself": {
			policies: []*v1alpha1.ClusterRegoPolicy{webhooktest.NewPolicy("a", noShells, ofParts("CONNECT", "", "Pod", "exec", "attach"))},
			want: `fail.evenkeel.dev Fail https://localhost:9443/validate/fail
  "" [v1] [pods/attach pods/exec] [CONNECT] Namespaced
` + policiesHook,
		},
		"each by its own operation": {
			policies: []*v1alpha1.ClusterRegoPolicy{
				webhooktest.NewPolicy("a", noShells, ofParts("CREATE", "", "Pod", "eviction")),
				webhooktest.NewPolicy("b", noShells, ofParts("UPDATE", "apps", "Deployment", "scale")),
				webhooktest.NewPolicy("c", noShells, func(p *v1alpha1.ClusterRegoPolicy) { off := false; p.Spec.Match.PodTemplates = &off }, webhooktest.WithResources("", "Pod"),
					func(p *v1alpha1.ClusterRegoPolicy) {
						p.Spec.Match.Resources[1].Subresources = []v1alpha1.Subresource{"exec"}
						p.Spec.Admission.Operations = []v1alpha1.Operation{"DELETE", "CONNECT"}
					}),
			},
			want: `fail.evenkeel.dev Fail https://localhost:9443/validate/fail
  "" [v1] [pods/exec] [CONNECT] Namespaced
  "" [v1] [pods/eviction] [CREATE] Namespaced
  "" [v1] [pods] [DELETE] Namespaced
  "apps" [v1] [deployments/scale] [UPDATE] Namespaced
` + policiesHook,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hooks, _, err := testConfiguration(webhooktest.Kinds()).Webhooks(tc.policies, []byte("bundle"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, golden(hooks)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
