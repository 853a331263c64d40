// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("What is known of one object", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "explain") })
	explained := func(ctx context.Context, object string) string {
		GinkgoHelper()
		out, _, code := evenkeel(ctx, "explain", object, "-n", namespace)
		Expect(code).To(Equal(0))
		return out
	}

	It("is its verdicts, its plans with before and after, and what happens next", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMap(namespace, "one"),
			fixture.ConfigMap(namespace, "out",
				fixture.Annotated(v1alpha1.AnnotationRemediation, v1alpha1.RemediationPaused)),
			fixture.ConfigMap(namespace, "argo",
				fixture.Annotated("argocd.argoproj.io/tracking-id", "shop:/ConfigMap:"+namespace+"/argo")))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Enforced(v1alpha1.AdmissionWarn), fixture.Remediated(v1alpha1.RemediationManual)))
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseAwaitingApproval)
		Expect(explained(ctx, "cm/one")).To(
			And(ContainSubstring("Violates  "+namespace), ContainSubstring("state must be good"),
				ContainSubstring("waits for approval of "+rem.Name)))
		Expect(explained(ctx, "configmap/out")).To(
			ContainSubstring("skipped: the object has the annotation evenkeel.dev/remediation: paused"))
		Expect(explained(ctx, "configmaps/argo")).To(
			And(ContainSubstring("managed by Argo CD"), ContainSubstring("change it at its source")))

		_, _, code := evenkeel(ctx, "rollout", "approve", rem.Name)
		Expect(code).To(Equal(0))
		suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
		Expect(explained(ctx, "cm/one")).To(
			And(ContainSubstring("Clean"), ContainSubstring(`/data/state: "bad" → "good"`),
				ContainSubstring("nothing: it violates no policy")))

		out, _, code := evenkeel(ctx, "explain", "ConfigMap", "one", "-n", namespace, "-o", "json")
		Expect(code).To(Equal(0))
		var told struct {
			Object v1alpha1.ObjectReference
			Plans  []struct{ Plan, State string }
		}
		Expect(json.Unmarshal([]byte(out), &told)).To(Succeed())
		Expect(told.Object.Name).To(Equal("one"))
		Expect(told.Plans).To(Equal([]struct{ Plan, State string }{{rem.Name, "Done"}}))
	})

	It("is its waiver with its end, and of a Pod the workload to look at", func(ctx context.Context) {
		suite.Create(ctx, fixture.Deployment(namespace, "web"), fixture.ConfigMap(namespace, "waived"))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationDisabled)))
		suite.CreatePolicy(ctx,
			fixture.Policy(namespace+"-pods", namespace, fixture.RequireTemplateLabel("team", "shop"),
				fixture.Unselected,
				fixture.Kinds("", "Pod"), fixture.Remediated(v1alpha1.RemediationManual)))
		until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		suite.Create(ctx, &v1alpha1.Waiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "legacy"},
			Spec: v1alpha1.WaiverSpec{
				WaiverTerms: v1alpha1.WaiverTerms{Policies: []string{namespace}, Reason: "until it is gone",
					ExpirationTime: metav1.NewTime(until)}}})
		Expect(explained(ctx, "cm/waived")).To(
			And(ContainSubstring("waived until "+until.Format(time.RFC3339)),
				ContainSubstring("legacy: until it is gone")))

		pods := &corev1.PodList{}
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.API.List(ctx, pods, client.InNamespace(namespace))).To(Succeed())
			g.Expect(pods.Items).NotTo(BeEmpty())
		}).Should(Succeed())
		Expect(explained(ctx, "po/"+pods.Items[0].Name)).To(
			And(MatchRegexp(`made by ReplicaSet \S+/web-`), ContainSubstring("made by Deployment "+namespace+"/web"),
				ContainSubstring("judged and fixed at its root: evenkeel explain Deployment/web")))
	})

	It("says what it can't find, and how it is called", func(ctx context.Context) {
		_, stderr, code := evenkeel(ctx, "explain", "gizmo/one", "-n", namespace)
		Expect(code).To(Equal(3))
		Expect(stderr).To(ContainSubstring(`the cluster serves no kind "gizmo"; see: kubectl api-resources`))
		_, stderr, code = evenkeel(ctx, "explain", "cm/none", "-n", namespace)
		Expect(code).To(Equal(3))
		Expect(stderr).To(ContainSubstring(`read ConfigMap ` + namespace + `/none`))
		_, stderr, code = evenkeel(ctx, "explain", "cm")
		Expect(code).To(Equal(2))
		Expect(stderr).To(ContainSubstring("name one object, as KIND/NAME or KIND NAME"))
	})

	It("is told in part to whoever may read a part, with the role that grants the rest", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMap(namespace, "one"))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationManual)))
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseAwaitingApproval)
		reader := "reader-of-" + namespace
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-" + reader}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
			{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"remediations"},
				Verbs: []string{"get", "list"}}}}
		bind(ctx, reader, role.Name)
		suite.Create(ctx, role)
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, role)).To(Succeed()) })
		suite.AwaitPermission(ctx, reader, role.Rules[1])
		const grants = "ask for that permission: ClusterRole evenkeel-viewer grants it"

		out, errs, code := evenkeel(ctx, "explain", "cm/one", "-n", namespace, "--as", reader)
		Expect(code).To(Equal(0), errs)
		for _, what := range []string{"list policies", "list templates", "list the strategies that policies share",
			"read what is waived", "read namespace " + namespace} {
			Expect(out).To(MatchRegexp(`(?m)`+what+`: .* cannot .*`+grants), what)
		}
		Expect(out).To(ContainSubstring("whether its namespace opts out isn't known"))

		out, errs, code = evenkeel(ctx, "rollout", "get", rem.Name, "--as", reader)
		Expect(code).To(Equal(0), errs)
		Expect(out).To(And(ContainSubstring("Policy    "+namespace), ContainSubstring("AwaitingApproval"),
			ContainSubstring("unavailable: you may not read circuit breakers"),
			ContainSubstring("unavailable: you may not read its targets"), ContainSubstring("Not read (2)"),
			ContainSubstring(grants)))
		_, errs, code = evenkeel(ctx, "rollout", "approve", rem.Name, "--as", reader, "--yes")
		Expect(code).To(Equal(3))
		Expect(errs).To(And(ContainSubstring("what it would change isn't known, and nothing was answered"),
			ContainSubstring(grants)))
	})

	It("is completed in the shell, with what each name is", func(ctx context.Context) {
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState))
		completed := func(words ...string) string {
			GinkgoHelper()
			command := exec.CommandContext(ctx, suite.Binary(), append([]string{"__complete"}, words...)...)
			command.Env = append(os.Environ(), "KUBECONFIG="+suite.Kubeconfig)
			out, err := command.Output()
			Expect(err).NotTo(HaveOccurred())
			return string(out)
		}
		awaitCompletion := func(part string, words ...string) { // it gives up where a busy cluster is slow to answer
			GinkgoHelper()
			Eventually(ctx, func() string { return completed(words...) }).Should(ContainSubstring(part))
		}
		awaitCompletion(namespace+"\tPolicy, ", "rollout", "history", "")
		awaitCompletion(namespace+"\tPolicy, ", "rollout", "undo", "")
		awaitCompletion("global\tRemediationBreaker, ", "breaker", "open", "")
		awaitCompletion(namespace+"\n", "explain", "-n", "")
		Expect(completed("rollout", "get", "-o", "")).To(HavePrefix("table\njson\nyaml\nname\n"))
		Expect(completed("rollout", "get", "one", "")).To(
			HavePrefix(":4\n"), "one name is enough, and no file is meant")
	})
})
