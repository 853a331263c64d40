// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("A rollout that races with others", Ordered, func() {
	var (
		manager   *rig.Manager
		namespace string
		policy    *v1alpha1.ClusterRegoPolicy
	)
	BeforeAll(func(ctx context.Context) { manager = suite.StartManager(ctx) })
	BeforeEach(func(ctx context.Context) {
		manager.BeginSpec()
		namespace = suite.Namespace(ctx, "race")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 4)...)
		policy = fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic))
	})
	AfterEach(func() {
		manager.ReportFailure()
		manager.Proxy.Reset()
	})

	named := func(name string) *corev1.ConfigMap { return fixture.ConfigMap(namespace, name) }
	read := func(ctx context.Context, name string) *corev1.ConfigMap {
		GinkgoHelper()
		object := named(name)
		Expect(suite.Get(ctx, object)).To(Succeed())
		return object
	}
	merge := func(ctx context.Context, name, patch string) {
		defer GinkgoRecover() // it runs within the proxy, too
		Expect(suite.API.Patch(ctx, named(name), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
	}

	It("a competing writer between read and write keeps its value, and the fix is computed anew from it",
		func(ctx context.Context) {
			var victim atomic.Value
			manager.Proxy.Nth(2, target(namespace), faultproxy.Fault{Before: func(r faultproxy.Request) {
				victim.Store(r.Name)
				merge(ctx, r.Name, `{"data":{"patched":"41","note":"theirs"}}`)
			}})
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			name := victim.Load().(string)
			Expect(read(ctx, name).Data).To(
				Equal(map[string]string{"state": "good", "patched": "42", "note": "theirs"}))
			Expect(suite.RecordOf(ctx, rem, name).State).To(Equal(v1alpha1.TargetDone))
			Expect(rem.Status.Counts.Done).To(BeEquivalentTo(4))
			Expect(patched(namespace, manager.Proxy.Writes())).To(HaveLen(4))
			Expect(patched(namespace, manager.Proxy.Writes())).To(HaveEach(1))
		})

	It("a competing writer after a write whose answer is lost keeps its value, and the target fails as a conflict",
		func(ctx context.Context) {
			var victim atomic.Value
			manager.Proxy.Nth(2, target(namespace),
				faultproxy.Fault{LoseAnswer: true, After: func(r faultproxy.Request, _ faultproxy.Answer) {
					victim.Store(r.Name)
					merge(ctx, r.Name, `{"data":{"state":"worse"}}`)
				}})
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			name := victim.Load().(string)
			record := suite.RecordOf(ctx, rem, name)
			Expect(record.State).To(Equal(v1alpha1.TargetFailed))
			Expect(record.Reason).To(Equal(v1alpha1.ReasonConflict))
			Expect(read(ctx, name).Data).To(Equal(map[string]string{"state": "worse", "patched": "1"}))
			Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonSomeTargetsFailed))
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 3, Failed: 1}))
			suite.AwaitEvent(ctx, "RemediationFailed", name, HavePrefix(v1alpha1.ReasonConflict))
		})

	It("a stale read is refused by the guards of the write, which is then computed anew", func(ctx context.Context) {
		var refused sync.Map
		for _, target := range []string{"target-0", "target-1", "target-2", "target-3"} {
			stale := &unstructured.Unstructured{}
			stale.SetAPIVersion("v1")
			stale.SetKind("ConfigMap")
			Expect(suite.API.Get(ctx, client.ObjectKeyFromObject(named(target)), stale)).To(Succeed())
			body, err := json.Marshal(stale)
			Expect(err).NotTo(HaveOccurred())
			merge(ctx, target, `{"data":{"patched":"7"}}`)
			reads := func(r faultproxy.Request) bool {
				return r.Method == http.MethodGet && r.Namespace == namespace && r.Resource == "configmaps" &&
					r.Name == target
			}
			// A candidate for the canary is read once more than the others.
			for n := range 2 {
				manager.Proxy.Nth(n+1, reads,
					faultproxy.Fault{Answer: &faultproxy.Answer{Status: http.StatusOK, Body: body}})
			}
		}
		tried := func(r faultproxy.Request) bool { return r.IsDryRun() && r.Namespace == namespace }
		manager.Proxy.Every(tried, faultproxy.Fault{After: func(r faultproxy.Request, a faultproxy.Answer) {
			if a.Status == http.StatusConflict || a.Status == http.StatusUnprocessableEntity {
				refused.Store(r.Name, true)
			}
		}})
		suite.CreatePolicy(ctx, policy)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 4}))
		for _, target := range []string{"target-0", "target-1", "target-2", "target-3"} {
			_, wasRefused := refused.Load(target)
			Expect(wasRefused).To(BeTrue(), "%s was read stale, and nothing refused it", target)
			Expect(read(ctx, target).Data).To(Equal(map[string]string{"state": "good", "patched": "8"}))
		}
		Expect(patched(namespace, manager.Proxy.Writes())).To(HaveEach(1))
	})

	It("an object deleted, or deleted and created again under its name, between plan and write is skipped as gone",
		func(ctx context.Context) {
			planMade := func(r faultproxy.Request) bool {
				return r.Method == http.MethodPost && r.Resource == "remediations"
			}
			var replaced atomic.Value
			manager.Proxy.Nth(1, planMade, faultproxy.Fault{Before: func(faultproxy.Request) {
				defer GinkgoRecover()
				Expect(suite.API.Delete(ctx, named("target-1"))).To(Succeed())
				Expect(suite.API.Delete(ctx, named("target-2"))).To(Succeed())
				again := named("target-2")
				Expect(suite.API.Create(ctx, again)).To(Succeed())
				replaced.Store(string(again.UID))
			}})
			suite.CreatePolicy(ctx, policy)
			suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
				g.Expect(s.Scanned).To(BeEquivalentTo(3))
				g.Expect(s.Violating).To(BeZero(), "the new object is fixed in the end, by a plan of its own")
			})
			first := suite.Plans(ctx, policy.Name)[0]
			Expect(first.Status.Phase).To(Equal(v1alpha1.PhaseSucceeded))
			Expect(first.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 2, Skipped: 2}))
			for _, name := range []string{"target-1", "target-2"} {
				record := suite.RecordOf(ctx, &first, name)
				Expect(record.State).To(Equal(v1alpha1.TargetSkipped), name)
				Expect(record.Reason).To(Equal(v1alpha1.ReasonGone), name)
			}
			ended, touched := -1, -1
			for i, w := range manager.Proxy.Writes() {
				if w.Name == first.Name && w.Subresource == "status" &&
					strings.Contains(string(w.Body), `"phase":"Succeeded"`) && ended < 0 {
					ended = i
				}
				if w.UID == replaced.Load() && w.Succeeded() && touched < 0 {
					touched = i
				}
			}
			Expect(ended).To(BeNumerically(">=", 0))
			Expect(touched).To(BeNumerically(">", ended), "the first plan never touched the new object")
		})

	It("an API server that is busy, fails or loses writes is tried again, and no breaker counts it",
		func(ctx context.Context) {
			busy := func(status int, reason string) faultproxy.Fault {
				body := fmt.Sprintf(
					`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"on purpose","code":%d}`, reason, status)
				return faultproxy.Fault{Answer: &faultproxy.Answer{Status: status, Body: []byte(body)}}
			}
			for n, fault := range []faultproxy.Fault{
				busy(http.StatusTooManyRequests, "TooManyRequests"),
				busy(http.StatusInternalServerError, "InternalError"),
				{LoseRequest: true}, {LoseAnswer: true},
			} {
				manager.Proxy.Nth(2*n+1, target(namespace), fault)
			}
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 4}))
			counts := patched(namespace, manager.Proxy.Writes())
			Expect(counts).To(HaveLen(4))
			Expect(counts).To(HaveEach(1), "successful patches by UID")
			breaker := &v1alpha1.RemediationBreaker{
				ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyBreakerPrefix + policy.Name}}
			Expect(suite.Get(ctx, breaker)).To(Succeed())
			Expect(breaker.Status.State).To(Equal(v1alpha1.BreakerClosed))
			Expect(breaker.Status.Failures).To(BeZero())
		})
})
