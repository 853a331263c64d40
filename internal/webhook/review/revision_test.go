// SPDX-License-Identifier: Apache-2.0

package review

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

const statefulSetController = "system:serviceaccount:kube-system:statefulset-controller"

// revisionOf keeps the template of a StatefulSet, as its controller stores it.
func revisionOf(owner tree, privileged bool) tree {
	template := workload("apps/v1", "StatefulSet", privileged)["spec"].(tree)["template"].(tree)
	template["$patch"] = "replace"
	return tree{
		"apiVersion": "apps/v1", "kind": "ControllerRevision", "data": tree{"spec": tree{"template": template}},
		"metadata": tree{"name": "web-5d8f", "namespace": "shop", "ownerReferences": []any{tree{
			"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": policy.Metadata(owner)["uid"],
			"controller": true,
		}}},
	}
}

func TestAPodPassesForWhatStandsInTheRevisionThatItIsMadeOf(t *testing.T) {
	fixed := workload("apps/v1", "StatefulSet", false)
	other := webhooktest.Set(workload("apps/v1", "StatefulSet", false), "uid-of-another", "metadata", "uid")
	cases := map[string]struct {
		reason    string
		workloads fakeWorkloads
		revision  string // the Pod's label
		pod       func(tree)
		user      string
		want      string // part of the refusal; empty when it passes
	}{
		"a Pod below the partition": {
			reason: "it ran before the policy came, and its workload is already fixed", revision: "web-5d8f",
			workloads: fakeWorkloads{object: fixed, revision: revisionOf(fixed, true)}},
		"a Pod without a revision": {
			workloads: fakeWorkloads{object: fixed, revision: revisionOf(fixed, true)},
			want:      `container "a" is privileged`},
		"the revision is gone": {
			revision: "web-5d8f", workloads: fakeWorkloads{object: fixed}, want: `container "a" is privileged`},
		"the revision is another StatefulSet's": {
			revision: "web-5d8f", workloads: fakeWorkloads{object: fixed, revision: revisionOf(other, true)},
			want: `container "a" is privileged`},
		"the revision doesn't hold it either": {
			revision: "web-5d8f", workloads: fakeWorkloads{object: fixed, revision: revisionOf(fixed, false)},
			want: `container "a" is privileged`},
		"a container that a webhook adds": {
			reason: "no template holds it", revision: "web-5d8f", pod: addPrivileged,
			workloads: fakeWorkloads{object: fixed, revision: revisionOf(fixed, true)},
			want:      `container "z" is privileged`},
		"a person with a label": {
			reason: "anybody can write one", revision: "web-5d8f", user: "mallory",
			workloads: fakeWorkloads{object: fixed, revision: revisionOf(fixed, true)}, want: "is privileged"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)
			h := newHandler(t, serving.Class(p), webhooktest.NewCatalog(t, p))
			h.Workloads, h.Namespaces = tc.workloads, labelledNamespaces{"kubernetes.io/metadata.name": "shop"}
			pod := podOf(workload("apps/v1", "StatefulSet", true))
			policy.Metadata(pod)["labels"] = tree{"app": "web"}
			if tc.revision != "" {
				policy.Metadata(pod)["labels"].(tree)["controller-revision-hash"] = tc.revision
			}
			if tc.pod != nil {
				tc.pod(pod)
			}
			if tc.user == "" {
				tc.user = statefulSetController
			}
			got := webhooktest.Ask(t, h, podReview(pod, tc.user))
			switch {
			case tc.want == "" && (!got.Allowed || len(got.Warnings) > 0):
				t.Errorf("%s: want it to pass without a word, got %+v", tc.reason, got)
			case tc.want != "" && (got.Allowed || !strings.Contains(got.Status.Message, tc.want)):
				t.Errorf("%s: want a refusal with %q, got %+v", tc.reason, tc.want, got)
			}
		})
	}
}
