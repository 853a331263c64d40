// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("The install self-signed", Ordered, func() {
	var (
		base   = overlay{base: "self-signed"}
		server *manager
	)

	BeforeAll(func(ctx context.Context) {
		DeferCleanup(func(ctx context.Context) { base.uninstall(ctx) })
		DeferCleanup(letGo)
		_, warned := base.apply(ctx)
		Expect(warned).To(BeEmpty(), "the API server warns")
		kubectl(ctx, "create", "namespace", "walk")
		DeferCleanup(func(ctx context.Context) { kubectl(ctx, "delete", "namespace", "walk", "--wait=false") })
		server = startManager(ctx)
	})

	It("is accepted strictly, and its pods are admitted under Pod Security restricted", func(ctx context.Context) {
		// The fake nodes run any image: what is proved here is that the pods are let
		// in (Pod Security, priority, quota) and fit the nodes.
		kubectl(ctx, "rollout", "status", "deployment/evenkeel", "--namespace="+systemNamespace, "--timeout=60s")
		var ns corev1.Namespace
		Expect(api.Get(ctx, client.ObjectKey{Name: systemNamespace}, &ns)).To(Succeed())
		Expect(ns.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
	})

	It("changes nothing when it is applied once more", func(ctx context.Context) {
		Expect(kubectl(ctx, "diff", "--server-side", "-k", base.folder())).To(BeEmpty())
	})

	It("may read what policies match, write its own kinds, and change nothing else", func(ctx context.Context) {
		Eventually(ctx, func() bool {
			return may(ctx, "list", "deployments.apps", "--all-namespaces")
		}).Should(BeTrue())
		expectPermissions(ctx, map[string]bool{
			"watch pods --all-namespaces":                                                  true,
			"list certificates.cert-manager.io --all-namespaces":                           false,
			"create remediations.evenkeel.dev":                                             true,
			"record remediationslices.evenkeel.dev":                                        true,
			"restore remediationslices.evenkeel.dev":                                       false,
			"patch remediationbreakers.evenkeel.dev --subresource=status":                  true,
			"update clusterregopolicies.evenkeel.dev --subresource=status":                 true,
			"patch clusterregopolicies.evenkeel.dev":                                       true,
			"patch regotemplates.evenkeel.dev":                                             true,
			"create regotemplates.evenkeel.dev":                                            false,
			"delete regotemplates.evenkeel.dev":                                            false,
			"update regotemplates.evenkeel.dev --subresource=status":                       true,
			"create policysources.evenkeel.dev":                                            false,
			"update policysources.evenkeel.dev --subresource=status":                       true,
			"patch deployments.apps --namespace=default":                                   false,
			"patch services --namespace=default":                                           false,
			"delete pods --namespace=default":                                              false,
			"get secrets --namespace=default":                                              false,
			"list secrets --all-namespaces":                                                false,
			"update secrets --namespace=evenkeel-system":                                   true,
			"update leases.coordination.k8s.io --namespace=kube-system":                    false,
			"create events.events.k8s.io --namespace=default":                              true,
			"list events.events.k8s.io --all-namespaces":                                   true,
			"watch events.events.k8s.io --all-namespaces":                                  false,
			"update validatingwebhookconfigurations.admissionregistration.k8s.io/evenkeel": true,
			"update validatingwebhookconfigurations.admissionregistration.k8s.io/other":    false,
			"delete validatingwebhookconfigurations.admissionregistration.k8s.io/other":    false,
			"update mutatingwebhookconfigurations.admissionregistration.k8s.io/evenkeel":   true,
			"update mutatingwebhookconfigurations.admissionregistration.k8s.io/other":      false,
			"get clusterroles.rbac.authorization.k8s.io/evenkeel-manager":                  true,
			"get clusterroles.rbac.authorization.k8s.io/cluster-admin":                     false,
			"update clusterroles.rbac.authorization.k8s.io/evenkeel-manager":               false,
			"approve clusterregopolicies.evenkeel.dev":                                     false,
		})
	})

	It("is enough for a manager that has its token and no other permission: a policy comes into force, and the scan "+
		"is complete", func(ctx context.Context) {
		Expect(api.Create(ctx, fixture.Deployment("walk", "old"))).To(Succeed())
		policy := labelPolicy(v1alpha1.RemediationAutomatic)
		createPolicy(ctx, policy)

		Eventually(ctx, func() error {
			return api.Create(ctx, fixture.Deployment("walk", "new"), client.DryRunAll)
		}).Should(MatchError(ContainSubstring("label team is missing")))
		Eventually(ctx, func(g Gomega) {
			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(policy), policy)).To(Succeed())
			g.Expect(policy.Status.Scan).NotTo(BeNil())
			g.Expect(policy.Status.Scan.State).To(Equal(v1alpha1.ScanComplete))
			g.Expect(policy.Status.Scan.Violating).To(BeNumerically(">=", 1))
		}).Should(Succeed())
	})

	It("serves metrics to whom the role allows, with a certificate that can be checked", func(ctx context.Context) {
		kubectl(ctx, "create", "serviceaccount", "scraper", "--namespace=walk")
		token := strings.TrimSpace(kubectl(ctx, "create", "token", "scraper", "--namespace=walk"))
		Expect(server.scrape(ctx, token)).To(HavePrefix("403"))
		kubectl(ctx, "create", "clusterrolebinding", "test-scraper", "--clusterrole=evenkeel-metrics-reader",
			"--serviceaccount=walk:scraper")
		DeferCleanup(func(ctx context.Context) { kubectl(ctx, "delete", "clusterrolebinding", "test-scraper") })
		// answers are cached by token
		token = strings.TrimSpace(kubectl(ctx, "create", "token", "scraper", "--namespace=walk"))
		Eventually(ctx, func() string {
			return server.scrape(ctx, token)
		}).Should(And(HavePrefix("200"), ContainSubstring("evenkeel_policy_info{")))
	})

	It("may change nothing: the plan is held, and names the rule that is missing", func(ctx context.Context) {
		Eventually(ctx, planOf).Should(
			And(HavePrefix("Held"),
				ContainSubstring(`{apiGroups: ["apps"], resources: ["deployments"], verbs: ["patch"]}`)))
	})

	It("may change workloads with the component write-workloads, and fixes what is wrong", func(ctx context.Context) {
		base.components = []string{"write-workloads"}
		base.apply(ctx)
		Eventually(ctx, planOf).Should(HavePrefix("Succeeded"))
		fixed := fixture.Deployment("walk", "old")
		Expect(api.Get(ctx, client.ObjectKeyFromObject(fixed), fixed)).To(Succeed())
		Expect(fixed.Spec.Template.Labels).To(HaveKeyWithValue("team", "core"))
		expectPermissions(ctx, map[string]bool{
			"create deployments.apps --namespace=walk": false, "update deployments.apps --namespace=walk": false,
			"delete deployments.apps --namespace=walk": false,
		})
	})

	It("takes every component, metrics and network policies at once, and grants what they say",
		func(ctx context.Context) {
			base.components, base.resources = components(), []string{"prometheus", "networkpolicy", "samples"}
			base.apply(ctx)
			Eventually(ctx, func() (string, error) { // what is applied has its status written, and roles are aggregated
				out, _, err := plane.Kubectl(ctx, "", "diff", "--server-side", "-k", base.folder())
				return out, err
			}).Should(BeEmpty())
			Eventually(ctx, func() bool {
				return may(ctx, "patch", "services", "--namespace=walk") &&
					may(ctx, "create", "pods", "--subresource=eviction", "--namespace=walk") &&
					may(ctx, "list", "certificates.cert-manager.io", "--all-namespaces")
			}).Should(BeTrue())
			expectPermissions(ctx, map[string]bool{
				"patch ingresses.networking.k8s.io --namespace=walk":                       true,
				"create networkpolicies.networking.k8s.io --namespace=walk":                false,
				"patch certificates.cert-manager.io --namespace=walk":                      true,
				"patch certificates.cert-manager.io --subresource=status --namespace=walk": true,
				"delete certificates.cert-manager.io --namespace=walk":                     false,
				"get secrets --namespace=walk":                                             false,
				"patch pods --namespace=walk":                                              false,
				"delete pods --namespace=walk":                                             false,
			})
		})

	It("leaves no trace when it is removed in the order of the documentation", func(ctx context.Context) {
		kubectl(ctx, "delete",
			"policysources,clusterregopolicies,regotemplates,remediationstrategies,waivers,clusterwaivers", "--all",
			"--all-namespaces", "--timeout=60s")
		kubectl(ctx, "delete", "remediations", "--all", "--timeout=60s")
		base.uninstall(ctx)
		expectNothingLeft(ctx)
		Expect(api.Create(ctx, fixture.Deployment("walk", "after"))).To(Succeed())
	})
})

// labelPolicy asks Pods of the namespace walk for a label, and can add it.
func labelPolicy(mode v1alpha1.RemediationMode) *v1alpha1.ClusterRegoPolicy {
	return fixture.Policy("team-label", "walk", fixture.RequireTemplateLabel("team", "core"),
		fixture.Kinds("", "Pod"), fixture.Unselected, fixture.Enforced(v1alpha1.AdmissionDeny),
		fixture.OnFailure(v1alpha1.FailurePolicyFail),
		fixture.Remediated(mode))
}

// createPolicy creates a policy with the strategy that it follows.
func createPolicy(ctx context.Context, p *v1alpha1.ClusterRegoPolicy) {
	GinkgoHelper()
	if s := fixture.StrategyOf(p); s != nil {
		Expect(client.IgnoreAlreadyExists(api.Create(ctx, s))).To(Succeed())
	}
	Expect(api.Create(ctx, p)).To(Succeed())
}

// planOf is the phase of the policy's only plan, with what it says.
func planOf(ctx context.Context) (string, error) {
	var plans v1alpha1.RemediationList
	if err := api.List(ctx, &plans); err != nil || len(plans.Items) == 0 {
		return "no plan", err
	}
	status := plans.Items[0].Status
	return string(status.Phase) + ": " + status.Message, nil
}

// may asks whether the manager's service account has a permission.
func may(ctx context.Context, right ...string) bool {
	GinkgoHelper()
	out, _, err := plane.Kubectl(
		ctx, "", append([]string{"auth", "can-i", "--as=system:serviceaccount:evenkeel-system:evenkeel"}, right...)...)
	switch strings.TrimSpace(out) {
	case "yes":
		return true
	case "no":
		return false
	}
	Fail("can-i " + strings.Join(right, " ") + ": answer " + out + ", " + err.Error())
	return false
}

func expectPermissions(ctx context.Context, permissions map[string]bool) {
	GinkgoHelper()
	for right, want := range permissions {
		Expect(may(ctx, strings.Fields(right)...)).To(Equal(want), "may %s", right)
	}
}

// scrape asks for the metrics as Prometheus would by the ServiceMonitor, and
// returns the status and the text.
func (m *manager) scrape(ctx context.Context, token string) string {
	GinkgoHelper()
	authority, err := os.ReadFile(m.authority)
	Expect(err).NotTo(HaveOccurred())
	pool := x509.NewCertPool()
	Expect(pool.AppendCertsFromPEM(authority)).To(BeTrue())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost"},
		DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+m.metrics+"/metrics", nil)
	Expect(err).NotTo(HaveOccurred())
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	Expect(err).NotTo(HaveOccurred())
	return resp.Status + "\n" + string(body)
}

// expectNothingLeft waits until nothing of an install is left in the cluster.
func expectNothingLeft(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(gone(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}})).To(BeTrue())
		left := kubectl(ctx, "get",
			"validatingwebhookconfigurations,mutatingwebhookconfigurations,clusterroles,clusterrolebindings,"+
				"customresourcedefinitions,validatingadmissionpolicies,validatingadmissionpolicybindings", "-o", "name")
		g.Expect(left).NotTo(ContainSubstring("evenkeel"))
	}).Should(Succeed())
}
