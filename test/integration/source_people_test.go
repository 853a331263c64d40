// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/gitserver"
	"evenkeel.dev/evenkeel/test/rig"
)

// tenant is a further namespace whose sources the manager accepts.
const tenant = "policies-of-a-team"

var _ = Describe("A policy source", func() {
	It("changes policies by its overrides, and refuses one that names nobody", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srcover")
		first, second := ns+"-a", ns+"-b"
		source := suite.NewSource(ctx, ns,
			rig.Files(rig.PolicyFiles(first, ns, "bad"), rig.PolicyFiles(second, ns, "worse")),
			func(src *v1alpha1.PolicySource) {
				src.Spec.Overrides = []v1alpha1.SourceOverride{
					{AdmissionAction: v1alpha1.AdmissionWarn},
					{Policies: []string{"*-b"}, AdmissionAction: v1alpha1.AdmissionAudit,
						RemediationMode: v1alpha1.RemediationDryRun},
				}
			})
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		Expect(suite.Policy(ctx, first).Spec.Admission.Action).To(Equal(v1alpha1.AdmissionWarn))
		Expect(suite.Policy(ctx, second).Spec.Admission.Action).To(Equal(v1alpha1.AdmissionAudit))
		Expect(suite.Policy(ctx, second).Spec.Remediation.Mode).To(Equal(v1alpha1.RemediationDryRun))

		source.Change(ctx, func(src *v1alpha1.PolicySource) { src.Spec.Overrides[1].Policies = []string{"nobody"} })
		Expect(source.AwaitReason(ctx, v1alpha1.ReasonNotCompiling).Message).To(
			ContainSubstring(`spec.overrides[1].policies[0]: the repository has no policy "nobody"`))
		Expect(suite.Policy(ctx, second).Spec.Admission.Action).To(Equal(v1alpha1.AdmissionAudit))
		source.Change(ctx, func(src *v1alpha1.PolicySource) { src.Spec.Overrides = nil })
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		Expect(suite.Policy(ctx, first).Spec.Admission.Action).To(Equal(v1alpha1.AdmissionDeny))
	})

	It("isn't told as ready once its manager is stopped", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srcstopped")
		source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns+"-a", ns, "bad"))
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		named := []string{source.Name, "-n", source.Namespace}
		out, errs, code := evenkeel(ctx, append([]string{"source", "get"}, named...)...)
		Expect(code).To(Equal(0), errs)
		Expect(out).To(ContainSubstring("Ready       True (" + v1alpha1.ReasonApplied + ")"))

		Expect(manager.Kill()).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(manager.Start(ctx)).To(Succeed())
			suite.AwaitAdmission(ctx)
		})
		By("three hours having passed since it was to ask the repository again")
		src := source.PolicySource.DeepCopy()
		rig.UpdateStatus(ctx, suite.API, src, func() {
			src.Status.NextAttemptTime = &metav1.Time{Time: time.Now().Add(-3 * time.Hour)}
		})
		const why = "the manager was to ask the repository again 3h ago, and hasn't: is it running?"
		out, errs, code = evenkeel(ctx, append([]string{"source", "get"}, named...)...)
		Expect(code).To(Equal(1), errs)
		Expect(out).To(And(ContainSubstring("Ready       Unknown: "+why), Not(ContainSubstring("Ready       True"))))
		out, errs, code = evenkeel(ctx, append([]string{"source", "get", "-o", "json"}, named...)...)
		Expect(code).To(Equal(1), errs)
		Expect(errs).To(ContainSubstring("are out of date: " + why))
		Expect(out).To(ContainSubstring(`"status": "True"`), "it is printed as it is stored")
		out, _, code = evenkeel(ctx, "source", "list", "-n", source.Namespace)
		Expect(code).To(Equal(1))
		Expect(out).To(MatchRegexp(`(?m)^` + source.Name + ` +Unknown .*is it running`))
	})

	It("writes over nobody's policy, and takes it over when its owner says so", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srcother")
		mine, theirs := ns+"-a", ns+"-b"
		suite.CreatePolicy(ctx, fixture.Policy(theirs, ns, fixture.DenyState("ugly")))
		uid := suite.Policy(ctx, theirs).UID
		source := suite.NewSource(ctx, ns,
			rig.Files(rig.PolicyFiles(mine, ns, "bad"), rig.PolicyFiles(theirs, ns, "worse")))
		why := source.AwaitReason(ctx, v1alpha1.ReasonPolicyConflict)
		Expect(why.Message).To(ContainSubstring("policy %s exists and comes from no source", theirs))
		Expect(sourced(ctx, ns)).To(BeEmpty())
		Expect(suite.Policy(ctx, theirs).Spec.Rego.Main).To(ContainSubstring("ugly"))

		_, command, found := strings.Cut(source.Status.Problems[0].Message, "kubectl ")
		Expect(found).To(BeTrue())
		_, _, err := suite.Kubectl(ctx, "", strings.Fields(command)...)
		Expect(err).NotTo(HaveOccurred())
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		Expect(sourced(ctx, ns)).To(ConsistOf(mine, theirs))
		Expect(suite.Policy(ctx, theirs).UID).To(Equal(uid))
		Expect(suite.Policy(ctx, theirs).Spec.Rego.Main).To(ContainSubstring("worse"))
	})

	It("lets no policy through of a revision of which admission refuses one", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srcrefused")
		files := rig.PolicyFiles(ns+"-b", ns, "bad")
		for name, text := range files {
			files[name] = strings.ReplaceAll(text, "kinds: [ConfigMap]", "kinds: [Confusion]")
		}
		source := suite.NewSource(ctx, ns, rig.Files(rig.PolicyFiles(ns+"-a", ns, "bad"), files))
		why := source.AwaitReason(ctx, v1alpha1.ReasonRefused)
		Expect(why.Message).To(
			SatisfyAll(HavePrefix("policies/%[1]s/%[1]s.rego: ", ns+"-b"),
				ContainSubstring(`serves no kind "Confusion"`)))
		Expect(sourced(ctx, ns)).To(BeEmpty())
	})

	It("is accepted in the namespaces that the manager is told of only, and reads the Secrets only that it may",
		func(ctx context.Context) {
			ns := suite.Namespace(ctx, "srctenant")
			elsewhere := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "bad"), func(src *v1alpha1.PolicySource) {
				src.Namespace = ns
			})
			Expect(elsewhere.AwaitReason(ctx, v1alpha1.ReasonNamespaceNotAllowed).Message).To(
				ContainSubstring("--source-namespaces"))
			Expect(elsewhere.Finalizers).To(BeEmpty())

			suite.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}})
			DeferCleanup(func(ctx context.Context) {
				Expect(suite.API.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}})).To(
					Succeed())
			})
			source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "bad"), func(src *v1alpha1.PolicySource) {
				src.Namespace, src.Spec.Interval.Duration = tenant, shortest
			})
			why := source.AwaitReason(ctx, v1alpha1.ReasonSecretUnavailable)
			_, commands, found := strings.Cut(why.Message, "Let it: ")
			Expect(found).To(BeTrue())
			for command := range strings.SplitSeq(strings.TrimSuffix(commands, "."), " && ") {
				_, _, err := suite.Kubectl(ctx, "", strings.Fields(command)[1:]...)
				Expect(err).NotTo(HaveOccurred())
			}
			source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		})

	It("reads no repository of the manager's own machine, unless the manager is told to", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srcfile")
		source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "bad"), func(src *v1alpha1.PolicySource) {
			src.Spec.URL, src.Spec.SecretRef = "file:///etc", nil
		})
		Expect(source.AwaitReason(ctx, v1alpha1.ReasonInvalid).Message).To(
			ContainSubstring("file:// isn't read: use https:// or ssh://"))
	})

	It("waits for a repository that doesn't answer, or asks for another password", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srcdown")
		source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "bad"), func(src *v1alpha1.PolicySource) {
			src.Spec.Interval.Duration, src.Spec.Timeout.Duration = shortest, 2*time.Second
		})
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		source.Server.Set(gitserver.Settings{Hang: true})
		source.Ask(ctx)
		Expect(source.AwaitReason(ctx, v1alpha1.ReasonFetchFailed).Message).To(ContainSubstring("stays in force"))
		Expect(source.Status.Failures).To(BeNumerically(">=", 1))
		awaitRefusal(ctx, fixture.ConfigMap(ns, "one"), ContainSubstring("state must not be bad"))
		source.Server.Set(gitserver.Settings{})
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		Expect(source.Status.Failures).To(BeZero())

		source.Server.Set(gitserver.Settings{Username: "git", Password: "open sesame"})
		source.Ask(ctx)
		source.AwaitReason(ctx, v1alpha1.ReasonAuthenticationFailed)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rig.SystemNamespace, Name: ns}}
		Expect(suite.Get(ctx, secret)).To(Succeed())
		before := secret.DeepCopy()
		secret.Data["username"], secret.Data["password"] = []byte("git"), []byte("open barley")
		Expect(suite.API.Patch(ctx, secret, client.MergeFrom(before))).To(Succeed())
		source.Ask(ctx)
		why := source.AwaitReason(ctx, v1alpha1.ReasonAuthenticationFailed)
		Expect(why.Message).NotTo(ContainSubstring("barley"))
		before = secret.DeepCopy()
		secret.Data["password"] = []byte("open sesame")
		Expect(suite.API.Patch(ctx, secret, client.MergeFrom(before))).To(Succeed())
		source.Ask(ctx)
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
	})

	It("is shown and looked at by the command, whose code says whether all is well", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srccli")
		source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "bad"))
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		evenkeel := func(words ...string) (string, int) {
			cmd := exec.CommandContext(ctx, suite.Binary(),
				append(append([]string{"source"}, words...), "--kubeconfig", suite.Kubeconfig)...)
			out, _ := cmd.CombinedOutput()
			return string(out), cmd.ProcessState.ExitCode()
		}
		out, code := evenkeel("get", ns)
		Expect(code).To(BeZero(), out)
		Expect(out).To(SatisfyAll(ContainSubstring("True (Applied)"), ContainSubstring(source.Status.Revision)))
		source.Replace(rig.PolicyFiles(ns, ns, "bad", "colour: red"))
		out, code = evenkeel("reconcile", ns, "--wait")
		Expect(code).To(Equal(1), out)
		Expect(out).To(MatchRegexp(`policies/%[1]s/%[1]s\.rego:\d+: .*colour`, ns))
		out, code = evenkeel("list", "-o", "name")
		Expect(code).To(Equal(1), out)
		Expect(out).To(ContainSubstring("policysource.evenkeel.dev/" + ns))
		_, code = evenkeel("suspend", ns)
		Expect(code).To(BeZero())
		out, code = evenkeel("reconcile", ns)
		Expect(code).To(Equal(1), out)
		Expect(out).To(ContainSubstring("evenkeel source resume " + ns))
		commit := source.Replace(rig.PolicyFiles(ns, ns, "worse"))
		_, code = evenkeel("resume", ns)
		Expect(code).To(BeZero())
		source.AwaitCommit(ctx, commit)
		_, code = evenkeel("get", ns, "-o", "xml")
		Expect(code).To(Equal(2))
		_, code = evenkeel("get", "nobody")
		Expect(code).To(Equal(3))
	})
})
