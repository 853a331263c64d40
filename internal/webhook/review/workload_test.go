// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"errors"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

const replicaSetController = "system:serviceaccount:kube-system:replicaset-controller"

// fakeWorkloads holds one workload, or fails.
type fakeWorkloads struct {
	object tree
	// revision is the ControllerRevision of every name.
	revision tree
	err      error
}

func (f fakeWorkloads) Get(_ context.Context, owner match.Owner, _ string) (map[string]any, error) {
	if f.revision != nil && owner.Kind == "ControllerRevision" {
		return f.revision, nil
	}
	if f.object == nil || policy.Metadata(f.object)["name"] != owner.Name || f.object["kind"] != owner.Kind {
		return nil, f.err
	}
	return f.object, f.err
}

// workload is a Deployment's object as another kind, with a UID.
func workload(apiVersion, kind string, privileged ...bool) tree {
	o := webhooktest.Set(webhooktest.Deployment("web", privileged...), "uid-of-"+kind, "metadata", "uid")
	o["apiVersion"], o["kind"] = apiVersion, kind
	return o
}

// podOf is a Pod as the workload's controller makes it.
func podOf(owner tree) tree {
	template := owner["spec"].(tree)["template"].(tree)
	return tree{
		"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
		"metadata": tree{"name": "web-x7", "namespace": "shop", "labels": template["metadata"].(tree)["labels"],
			"ownerReferences": []any{tree{
				"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": "web",
				"uid": policy.Metadata(owner)["uid"], "controller": true,
			}}},
	}
}

func podReview(pod tree, user string) tree {
	return webhooktest.Review("CREATE", pod, nil, func(r tree) {
		r["kind"] = tree{"group": "", "version": "v1", "kind": "Pod"}
		r["resource"] = tree{"group": "", "version": "v1", "resource": "pods"}
		r["userInfo"] = tree{"username": user}
	})
}

func TestAPodPassesForWhatStandsInItsWorkload(t *testing.T) {
	labelled := func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Match.ObjectSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "web"}}
	}
	selecting := func(key, value string) func(*v1alpha1.ClusterRegoPolicy) {
		return func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.NamespaceSelector = &v1alpha1.LabelSelector{
				MatchLabels: map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}}
		}
	}
	only := func(ops ...v1alpha1.Operation) func(*v1alpha1.ClusterRegoPolicy) {
		return webhooktest.WithOperations(ops...)
	}
	broken := errors.New("forbidden")
	violator := workload("apps/v1", "ReplicaSet", true)
	cases := map[string]struct {
		reason    string
		rego      string
		change    func(*v1alpha1.ClusterRegoPolicy)
		workloads fakeWorkloads
		pod       func(tree) // changes the Pod that the ReplicaSet makes
		user      string
		want      string // part of the refusal; empty when it passes
	}{
		"an old violator's Pod": {
			reason: "it can be scaled", workloads: fakeWorkloads{object: violator}},
		"an old violator's Pod, created is all": {
			reason: "its template is judged on updates too", change: only(v1alpha1.OperationCreate),
			workloads: fakeWorkloads{object: violator}},
		"the workload is clean": {
			reason:    "a template of before was judged no more",
			workloads: fakeWorkloads{object: workload("apps/v1", "ReplicaSet", false)},
			want:      `container "a" is privileged`},
		"the workload is gone": {want: `container "a" is privileged`},
		"the workload is another of its name": {
			workloads: fakeWorkloads{
				object: webhooktest.Set(workload("apps/v1", "ReplicaSet", true), "another", "metadata", "uid")},
			want: `container "a" is privileged`},
		"the workload can't be read": {
			reason: "what is known to violate counts", workloads: fakeWorkloads{err: broken},
			want: "judging the workload that makes the object: forbidden"},
		"a person with a reference": {
			reason: "anybody can write one", workloads: fakeWorkloads{object: violator}, user: "mallory",
			want: "is privileged"},
		"a container that a webhook adds": {
			reason: "the template doesn't hold it", workloads: fakeWorkloads{object: violator}, pod: addPrivileged,
			want: `container "z" is privileged`},
		"a container that a webhook adds, where the rule gives no path": {
			reason: "it may be the one", rego: withoutPath, workloads: fakeWorkloads{object: violator},
			pod: addPrivileged, want: "a container is privileged"},
		"an old violator's Pod, where the rule gives no path": {
			rego: withoutPath, workloads: fakeWorkloads{object: violator}},
		"a policy by labels which its workload bears": {
			reason: "no label is added unjudged", change: labelled,
			workloads: fakeWorkloads{
				object: webhooktest.Set(workload("apps/v1", "ReplicaSet", true), tree{"app": "web"}, "metadata",
					"labels")}},
		"a policy by labels which its workload lacks": {
			reason: "the workload was never judged", change: labelled, workloads: fakeWorkloads{object: violator},
			want: "is privileged"},
		"a policy by labels of namespaces": {
			reason: "the workload may be older than the label", change: selecting("env", "prod"),
			workloads: fakeWorkloads{object: violator}, want: "is privileged"},
		"a policy by names of namespaces": {
			reason: "that label never changes", change: selecting("kubernetes.io/metadata.name", "shop"),
			workloads: fakeWorkloads{object: violator}},
		"a policy on Pods alone": {
			reason: "no workload is judged", change: func(p *v1alpha1.ClusterRegoPolicy) {
				off := false
				p.Spec.Match.PodTemplates = &off
			}, workloads: fakeWorkloads{object: violator}, want: "is privileged"},
		"a policy that warns": {
			reason: "the workload's author was warned", change: webhooktest.WithAction(v1alpha1.AdmissionWarn),
			workloads: fakeWorkloads{object: workload("apps/v1", "ReplicaSet", false)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.rego == "" {
				tc.rego = webhooktest.PrivilegedRego
			}
			if tc.change == nil {
				tc.change = func(*v1alpha1.ClusterRegoPolicy) {}
			}
			if tc.user == "" {
				tc.user = replicaSetController
			}
			p := webhooktest.NewPolicy("no-privileged", tc.rego, tc.change)
			h := newHandler(t, serving.Class(p), webhooktest.NewCatalog(t, p))
			h.Workloads, h.Namespaces = tc.workloads,
				labelledNamespaces{"env": "prod", "kubernetes.io/metadata.name": "shop"}
			pod := podOf(workload("apps/v1", "ReplicaSet", true))
			if tc.pod != nil {
				tc.pod(pod)
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

// labelledNamespaces knows every namespace by the same labels.
type labelledNamespaces map[string]string

func (l labelledNamespaces) Get(_ context.Context, name string) (map[string]any, error) {
	labels := tree{}
	for key, value := range l {
		labels[key] = value
	}
	return tree{"apiVersion": "v1", "kind": "Namespace", "metadata": tree{"name": name, "labels": labels}}, nil
}

// addPrivileged injects a container into a Pod, as another webhook may.
func addPrivileged(pod tree) {
	spec := pod["spec"].(tree)
	spec["containers"] = append([]any{tree{"name": "z", "securityContext": tree{"privileged": true}}},
		spec["containers"].([]any)...)
}

func TestWhatAWorkloadMakesIsComparedWithItsTemplate(t *testing.T) {
	cron := workload("batch/v1", "CronJob", true)
	cron["spec"] = tree{"jobTemplate": tree{"spec": cron["spec"]}}
	for name, tc := range map[string]struct {
		owner tree
		kind  string
		pass  bool
	}{
		"the ReplicaSet of an old Deployment": {workload("apps/v1", "Deployment", true), "ReplicaSet", true},
		"the ReplicaSet of a clean one":       {workload("apps/v1", "Deployment", false), "ReplicaSet", false},
		"the Job of an old CronJob":           {cron, "Job", true},
	} {
		t.Run(name, func(t *testing.T) {
			group := strings.TrimSuffix(tc.owner["apiVersion"].(string), "/v1")
			made := webhooktest.Set(workload(group+"/v1", tc.kind, true), podOf(tree{
				"apiVersion": tc.owner["apiVersion"], "kind": tc.owner["kind"], "metadata": tc.owner["metadata"],
				"spec": webhooktest.Deployment("web")["spec"],
			})["metadata"].(tree)["ownerReferences"], "metadata", "ownerReferences")
			h := newHandler(t, v1alpha1.FailurePolicyFail,
				webhooktest.NewCatalog(t, webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)))
			h.Workloads = fakeWorkloads{object: tc.owner}
			got := webhooktest.Ask(t, h, webhooktest.Review("CREATE", made, nil, func(r tree) {
				r["kind"] = tree{"group": group, "version": "v1", "kind": tc.kind}
				r["userInfo"] = tree{"username": "system:kube-controller-manager"}
			}))
			if got.Allowed != tc.pass {
				t.Errorf("allowed = %t, want %t: %+v", got.Allowed, tc.pass, got.Status)
			}
		})
	}
}
