// SPDX-License-Identifier: Apache-2.0

package review

import (
	"net/http"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// managed is a Deployment with an entry for each of some field managers.
func managed(managers ...any) tree {
	entries := []any{}
	for _, m := range managers {
		entries = append(entries, tree{"manager": m, "fieldsType": "FieldsV1",
			"fieldsV1": tree{"f:spec": tree{`k:{"name":"a"}`: tree{}}}})
	}
	return webhooktest.Set(webhooktest.Deployment("web", false), entries, "metadata", "managedFields")
}

// TestPoliciesSeeManagedFields holds that a rule which may read managed fields has them, by whatever way it reaches them,
// though reviews are decoded without.
func TestPoliciesSeeManagedFields(t *testing.T) {
	const header = "package evenkeel.test.managed\n\n"
	for name, rule := range map[string]string{
		"by its name":         `deny contains "found" if input.object.metadata.managedFields[_].manager == "mallory"`,
		"of the request":      `deny contains "found" if input.request.object.metadata.managedFields[0].manager == "mallory"`,
		"of the review":       `deny contains "found" if input.review.object.metadata.managedFields[0].manager == "mallory"`,
		"by a name made up":   `deny contains "found" if input.object[concat("", ["meta", "data"])][sprintf("%sFields", ["managed"])][0].manager == "mallory"`,
		"by any name":         `deny contains "found" if input.object[_][_][_].manager == "mallory"`,
		"by walking":          `deny contains "found" if { walk(input, [path, "mallory"]); path[count(path) - 1] == "manager" }`,
		"as text":             `deny contains "found" if contains(json.marshal(input.object.metadata), "mallory")`,
		"by object.get":       `deny contains "found" if object.get(input, ["object", "metadata", "managedFields", 0, "manager"], "") == "mallory"`,
		"by its being there":  `deny contains "found" if input.object.metadata.managedFields`,
		"by what it lacks":    `deny contains "found" if { some f in input.object.metadata.managedFields; not f.operation }`,
		"by its keys":         `deny contains "found" if "managedFields" in object.keys(input.object.metadata)`,
		"by how many":         `deny contains "found" if count(input.object.metadata) == 3`,
		"only in the message": `deny contains sprintf("found %v", [input.object.metadata.managedFields[0].manager]) if input.pod`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t, v1alpha1.FailurePolicyFail,
				webhooktest.NewCatalog(t, webhooktest.NewPolicy("p", header+rule)))
			if got := webhooktest.Ask(t, h, webhooktest.Review("CREATE", managed("mallory"), nil)); got.Allowed ||
				!strings.Contains(got.Status.Message, "- found") {
				t.Errorf("it isn't refused: %+v", got)
			}
			if got := webhooktest.Ask(t, h,
				webhooktest.Review("CREATE", webhooktest.Deployment("web", false), nil)); !got.Allowed {
				t.Errorf("an object without them is refused: %+v", got.Status)
			}
		})
	}
}

// TestAnUpdateIsComparedWithItsManagedFields holds that a violation in an entry is old where it was there before, and
// that the one of another entry is new.
func TestAnUpdateIsComparedWithItsManagedFields(t *testing.T) {
	h := newHandler(t, v1alpha1.FailurePolicyFail, webhooktest.NewCatalog(t,
		webhooktest.NewPolicy("p", `package evenkeel.test.managed

deny contains {"msg": "found", "path": sprintf("/metadata/managedFields/%d", [i])} if {
	some i, f in input.object.metadata.managedFields
	startswith(f.manager, "mallory")
}
`, func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.Kinds = []v1alpha1.KindMatch{
				{APIGroups: []string{"apps"}, Kinds: []string{"Deployment"}}}
		})))
	for name, tc := range map[string]struct {
		is, was tree
		allowed bool
	}{
		"the same entry":               {managed("mallory"), managed("mallory"), true},
		"the same one, at another end": {managed("ann", "mallory"), managed("mallory"), true},
		"another one":                  {managed("mallory-2"), managed("mallory"), false},
		"one more":                     {managed("mallory", "mallory-2"), managed("mallory"), false},
		"the first one":                {managed("mallory"), webhooktest.Deployment("web", false), false},
	} {
		got := webhooktest.Ask(t, h, webhooktest.Review("UPDATE", tc.is, tc.was))
		if got.Allowed != tc.allowed {
			t.Errorf("%s: allowed is %t: %+v", name, got.Allowed, got)
		}
	}
}

func TestADeletionIsJudgedByItsManagedFields(t *testing.T) {
	h := newHandler(t, v1alpha1.FailurePolicyFail, webhooktest.NewCatalog(t,
		webhooktest.NewPolicy("p", "package evenkeel.test.managed\n\n"+
			`deny contains "found" if input.object.metadata.managedFields[_].manager == "mallory"`,
			webhooktest.WithOperations(v1alpha1.OperationDelete))))
	if got := webhooktest.Ask(t, h, webhooktest.Review("DELETE", nil, managed("mallory"))); got.Allowed {
		t.Error("it isn't refused")
	}
}

func TestConditionsSeeManagedFields(t *testing.T) {
	for expression, allowed := range map[string]bool{
		`object.metadata.managedFields[0].manager == "mallory"`:          false,
		`object.metadata.managedFields[0].manager != "mallory"`:          true,
		`!has(object.metadata.managedFields)`:                            true,
		`oldObject == null && object.metadata.exists(k, k.size() == 13)`: false,
	} {
		h := newHandler(t, v1alpha1.FailurePolicyFail, webhooktest.NewCatalog(t,
			webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, webhooktest.WithConditions(expression))))
		object := webhooktest.Set(webhooktest.Deployment("web", true),
			managed("mallory")["metadata"].(tree)["managedFields"], "metadata", "managedFields")
		got := webhooktest.Ask(t, h, webhooktest.Review("CREATE", object, nil))
		if got.Allowed != allowed || !allowed && got.Status.Code != http.StatusForbidden {
			t.Errorf("%s: %+v", expression, got)
		}
	}
}

// TestAPodIsComparedWithItsTemplateWithItsManagedFields holds that what a policy has against a workload's template
// stands there, where the policy looks at the Pod's managed fields as well.
func TestAPodIsComparedWithItsTemplateWithItsManagedFields(t *testing.T) {
	owner := workload("apps/v1", "ReplicaSet", true)
	h := newHandler(t, v1alpha1.FailurePolicyFail, webhooktest.NewCatalog(t,
		webhooktest.NewPolicy("p", `package evenkeel.test.managed

deny contains {"msg": "found", "path": "/spec/containers/0/securityContext/privileged"} if {
	input.pod.spec.containers[0].securityContext.privileged
	input.object.metadata.managedFields[0].manager == "kube-controller-manager"
}
`)))
	h.Workloads = fakeWorkloads{object: owner}
	pod := webhooktest.Set(podOf(owner), []any{tree{"manager": "kube-controller-manager"}}, "metadata", "managedFields")
	if got := webhooktest.Ask(t, h, podReview(pod, "mallory")); got.Allowed {
		t.Error("somebody else's Pod isn't refused")
	}
	if got := webhooktest.Ask(t, h, podReview(pod, replicaSetController)); !got.Allowed {
		t.Errorf("it is refused: %+v", got.Status)
	}
}
