// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/process"
	"evenkeel.dev/evenkeel/test/rig"
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "The manager against a real API server")
}

// long marks specs that take about a minute: they begin first, so that none runs alone at the
// end, when the other processes have nothing left to do.
const long = SpecPriority(1)

// The specs of a process share one control plane and one manager, and run one after another.
// The test runner has several processes take them in turn.
var (
	suite   *rig.Rig
	manager *rig.Manager
	// prometheus scrapes exporter, and is what the manager asks.
	prometheus *rig.Prometheus
	exporter   *rig.Exporter
	// receiver is where the manager takes messages of a push.
	receiver string
)

var _ = BeforeSuite(func(ctx context.Context) {
	var err error
	suite, err = rig.Start(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(suite.Stop)
	// No spec waits for a rollout that only waits for its next look.
	suite.Flags = []string{"--rollout-poll-interval=200ms", "--plan-interval=2s", "--storm-interval=1s"}
	prometheus, exporter = suite.StartScraping(ctx)
	ports, err := process.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	receiver = fmt.Sprintf("127.0.0.1:%d", ports[0])
	manager = suite.StartManager(ctx, "--prometheus-url="+prometheus.URL, "--receiver-bind-address="+receiver,
		"--source-namespaces="+tenant, "--slo-interval=1s",
		// A fix that has its objects collected sets an owner, and one writes a LimitRange.
		"--remediation-allow-fields=ownership", "--remediation-allow-kinds=LimitRange")
})

var _ = BeforeEach(func() { manager.BeginSpec() })

var _ = JustAfterEach(func() { manager.ReportFailure() })

// patchedObjects are the UIDs of the ConfigMaps of a namespace that the manager
// has changed.
func patchedObjects(namespace string) []string {
	var uids []string
	for _, w := range manager.Proxy.Writes() {
		if w.Resource == "configmaps" && w.Namespace == namespace && w.Succeeded() {
			uids = append(uids, w.UID)
		}
	}
	return uids
}

// versions are the resource versions of the ConfigMaps of tests in a namespace, by name.
func versions(ctx context.Context, namespace string) map[string]string {
	GinkgoHelper()
	list := &corev1.ConfigMapList{}
	Expect(suite.API.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(fixture.TargetLabels()))).To(
		Succeed())
	out := map[string]string{}
	for _, c := range list.Items {
		out[c.Name] = c.ResourceVersion
	}
	return out
}

// grant gives the manager a permission for the rest of the spec.
func grant(ctx context.Context, to, name string, rule rbacv1.PolicyRule) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"rbac.evenkeel.dev/aggregate-to-" + to: "true"}},
		Rules: []rbacv1.PolicyRule{rule},
	}
	suite.Create(ctx, role)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, role)).To(Succeed()) })
}

// awaitRefusal waits until creating the object is refused, and returns why.
func awaitRefusal(ctx context.Context, object client.Object, why any) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		return suite.API.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	}).Should(MatchError(why))
}
