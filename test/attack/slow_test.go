// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// slowRego takes as long as the object says, and nothing for one that says nothing.
const slowRego = `package fixture.slow

import rego.v1

deny contains "never" if {
	some a in numbers.range(1, to_number(input.object.data.cost))
	some b in numbers.range(1, 1000)
	a + b == -1
}
`

// asUser creates a ConfigMap as a dry run, in a user's name, and says how long that took.
func asUser(ctx context.Context, user, namespace, data string) (time.Duration, error) {
	config := suite.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	config.WarningHandler = rest.NoWarnings{}
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return 0, err
	}
	body := fmt.Sprintf(
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"dry","namespace":%q,"labels":{"fixture":"target"}},"data":%s}`, namespace, data)
	began := time.Now()
	err = api.RESTClient().Post().AbsPath("/api/v1/namespaces/"+namespace+"/configmaps").Timeout(
		time.Minute).MaxRetries(0).
		Param("dryRun", metav1.DryRunAll).SetHeader("Content-Type", runtime.ContentTypeJSON).Body([]byte(body)).Do(
		ctx).Error()
	return time.Since(began), err
}

var _ = Describe("A flood of what is slow to judge", func() {
	It("delays another user by less than one such object takes alone, and every request of theirs "+
		"is judged", Serial, func(ctx context.Context) {
		attempt("sixteen dry runs at a time of a large object that four policies are slow to judge, by one user")
		const slowPolicies, together, asks = 4, 16, 40
		slow, other := suite.Namespace(ctx, "slow"), suite.Namespace(ctx, "beside-slow")
		var names []string
		for i := range slowPolicies {
			name := fmt.Sprintf("%s-%d", slow, i)
			names = append(names, name)
			p := fixture.Policy(name, slow, slowRego, fixture.Unselected, fixture.Enforced(v1alpha1.AdmissionDeny),
				fixture.OnFailure(v1alpha1.FailurePolicyIgnore))
			suite.CreatePolicy(ctx, p)
		}
		suite.CreatePolicy(ctx, failingOpen(other, fixture.DenyState("bad"), fixture.Kinds("", "ConfigMap")))
		awaitRefusal(ctx, fixture.ConfigMap(other, "before"), ContainSubstring("refused by policy "+other))
		for _, name := range names {
			Eventually(ctx, func() bool {
				return meta.IsStatusConditionTrue(suite.Policy(ctx, name).Status.Conditions, v1alpha1.ConditionReady)
			}).Should(BeTrue(), name)
		}
		large := fmt.Sprintf(`{"cost":"20000","text":%q}`, strings.Repeat("x", 300<<10))
		alone, _ := asUser(ctx, "mallory", slow, large)

		flood, stop := context.WithCancel(ctx)
		defer stop()
		var going sync.WaitGroup
		var sent atomic.Int64
		for range together {
			going.Go(func() {
				for flood.Err() == nil {
					sent.Add(1)
					_, _ = asUser(flood, "mallory", slow, large)
				}
			})
		}
		Eventually(ctx, sent.Load).Should(BeNumerically(">=", 2*together), "the flood goes on")
		var took []time.Duration
		for range asks {
			d, err := asUser(ctx, "alice", other, `{"state":"bad"}`)
			Expect(err).To(MatchError(ContainSubstring("refused by policy "+other)),
				"a request of somebody else isn't judged")
			took = append(took, d)
		}
		stop()
		going.Wait()
		slices.Sort(took)
		median := took[len(took)/2]
		AddReportEntry("delay",
			fmt.Sprintf("a slow object alone %s; another user's request beside the flood: median %s, longest %s", alone,
				median, took[len(took)-1]))
		Expect(median).To(BeNumerically("<", alone))
	})
})
