// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"cmp"
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// fleet is the objects of one experiment.
type fleet interface {
	// resource is what the API calls them.
	resource() string
	// policy fixes them, or does harm.
	policy(namespace string) *v1alpha1.ClusterRegoPolicy
	// create makes them.
	create(ctx context.Context, namespace string)
	// unexplained says what of an object isn't as its record says; wrong counts
	// fields that a rollback left otherwise than they were.
	unexplained(ctx context.Context, namespace, name string, rec v1alpha1.TargetRecord) (problem string, wrong int)
}

// fixable are ConfigMaps that count how often they were fixed.
type fixable struct{ n int }

func (fixable) resource() string { return "configmaps" }

func (fixable) policy(namespace string) *v1alpha1.ClusterRegoPolicy {
	return fixture.Policy(namespace, namespace, fixture.FixState,
		fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Concurrent(2)))
}

func (m fixable) create(ctx context.Context, namespace string) {
	GinkgoHelper()
	suite.Create(ctx, fixture.ConfigMaps(namespace, m.n)...)
}

func (fixable) unexplained(ctx context.Context, namespace, name string, rec v1alpha1.TargetRecord) (string, int) {
	GinkgoHelper()
	object := fixture.ConfigMap(namespace, name)
	Expect(suite.Get(ctx, object)).To(Succeed())
	want := map[string]string{"state": "bad", "patched": "0"}
	if rec.State == v1alpha1.TargetDone {
		want = map[string]string{"state": "good", "patched": "1"}
	}
	if equality.Semantic.DeepEqual(object.Data, want) {
		return "", 0
	}
	return fmt.Sprintf("%s is %s and holds %v", name, rec.State, object.Data), 0
}

// harmed are Deployments that a fix makes unready: all but the last can take it.
// The last is of the tier that a rollout leaves for the end, and so is never the
// canary: the whole wave must be set back because of it.
type harmed struct {
	n int
	// deadline is how long a target may take to be well. Zero means harmDeadline.
	deadline time.Duration
	before   map[string]appsv1.DeploymentSpec
}

// patient is a harmed fleet whose wave after the canary comes, however busy the machine is.
func patient(n int) *harmed { return &harmed{n: n, deadline: patientDeadline} }

// readyLabel tells the fake nodes whether a pod becomes ready.
const readyLabel = "kwok.evenkeel.dev/ready"

// giveReadyLabel gives each Deployment's pods the label that it names itself.
const giveReadyLabel = `package fixture.ready_label

import rego.v1

missing if not input.pod.metadata.labels["kwok.evenkeel.dev/ready"]

deny contains {"msg": "the label is missing", "path": "/metadata/labels"} if missing

remediation contains {"action": "patch", "ops": [
	{"op": "add", "path": "/metadata/labels/kwok.evenkeel.dev~1ready",
		"value": input.object.metadata.annotations.becomes},
]} if missing
`

func (*harmed) resource() string { return "deployments" }

func (h *harmed) policy(namespace string) *v1alpha1.ClusterRegoPolicy {
	return fixture.Policy(namespace, namespace, giveReadyLabel, fixture.Kinds("", "Pod"),
		fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Deadline(cmp.Or(h.deadline, harmDeadline))))
}

func (h *harmed) create(ctx context.Context, namespace string) {
	GinkgoHelper()
	h.before = map[string]appsv1.DeploymentSpec{}
	for i := range h.n {
		becomes := "soon"
		if i == h.n-1 {
			becomes = "never"
		}
		d := fixture.Deployment(namespace, fmt.Sprintf("target-%d", i), fixture.Annotated("becomes", becomes))
		if becomes == "never" {
			d.Labels[v1alpha1.LabelTier] = "critical"
		}
		suite.Create(ctx, d)
	}
	Eventually(ctx, func(g Gomega) {
		list := &appsv1.DeploymentList{}
		g.Expect(suite.API.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		g.Expect(list.Items).To(HaveLen(h.n))
		for _, d := range list.Items {
			g.Expect(d.Status.ObservedGeneration).To(Equal(d.Generation))
			g.Expect(d.Status.AvailableReplicas).To(BeEquivalentTo(1), d.Name)
			h.before[d.Name] = d.Spec
		}
	}).Should(Succeed())
}

func (h *harmed) unexplained(ctx context.Context, namespace, name string, rec v1alpha1.TargetRecord) (string, int) {
	GinkgoHelper()
	object := fixture.Deployment(namespace, name)
	Expect(suite.Get(ctx, object)).To(Succeed())
	want := h.before[name]
	want.Template = *want.Template.DeepCopy()
	if rec.State == v1alpha1.TargetDone {
		want.Template.Labels[readyLabel] = object.Annotations["becomes"]
	}
	if equality.Semantic.DeepEqual(object.Spec, want) {
		return "", 0
	}
	return fmt.Sprintf("%s is %s, and its spec is %+v", name, rec.State, object.Spec),
		differences(object.Spec.Template, want.Template)
}

// differences counts the declared parts of a pod template that differ.
func differences(a, b corev1.PodTemplateSpec) int {
	n := 0
	for _, same := range []bool{
		equality.Semantic.DeepEqual(a.Labels, b.Labels), equality.Semantic.DeepEqual(a.Annotations, b.Annotations),
		equality.Semantic.DeepEqual(a.Spec, b.Spec),
	} {
		if !same {
			n++
		}
	}
	return max(n, 1)
}
