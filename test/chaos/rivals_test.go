// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("Others act in the middle of a wave", Ordered, func() {
	var manager *rig.Manager
	BeforeAll(func(ctx context.Context) { manager = suite.StartManager(ctx) })
	AfterEach(func() {
		manager.ReportFailure()
		manager.Proxy.Reset()
	})

	It("permissions are revoked: the rollout is held, and goes on when they are back", SpecTimeout(10*time.Minute),
		func(ctx context.Context) {
			e := begin("permissions to write revoked mid-wave, granted again later", manager)
			r := e.roll(ctx, fixable{6})
			role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-write-targets"}}
			Expect(suite.Get(ctx, role)).To(Succeed())
			again := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role.Name, Labels: role.Labels},
				Rules: role.Rules}
			revoked := manager.Proxy.Nth(
				2, r.target, faultproxy.Fault{After: func(faultproxy.Request, faultproxy.Answer) {
					defer GinkgoRecover()
					Expect(suite.API.Delete(ctx, role)).To(Succeed())
					forbidden(ctx, r.namespace)
				}})
			r.start(ctx)
			held := suite.AwaitPhase(ctx, r.policyOf.Name, v1alpha1.PhaseHeld)
			Expect(revoked.Hits()).To(Equal(1))
			Expect(held.Status.Reason).To(Equal(v1alpha1.ReasonMissingPermissions))
			Expect(suite.API.Create(ctx, again)).To(Succeed())
			r.await(ctx, v1alpha1.PhaseSucceeded)
			e.end()
		})

	It("a controller reverts one target at once: that one is left alone, the others are fixed",
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
			e := begin("competing controller that reverts one target", manager)
			r := e.roll(ctx, fixable{6})
			var victim atomic.Value
			manager.Proxy.Nth(2, r.target, faultproxy.Fault{After: func(q faultproxy.Request, _ faultproxy.Answer) {
				defer GinkgoRecover()
				victim.Store(q.Name)
				Expect(suite.API.Patch(ctx, fixture.ConfigMap(r.namespace, q.Name),
					client.RawPatch(types.MergePatchType, []byte(`{"data":{"state":"bad","patched":"0"}}`)),
					client.FieldOwner("rival"))).To(Succeed())
			}})
			r.start(ctx)
			rem := r.await(ctx, v1alpha1.PhaseSucceeded)
			rec := suite.RecordOf(ctx, rem, victim.Load().(string))
			Expect(rec.State).To(Equal(v1alpha1.TargetFailed))
			Expect(rec.Reason).To(Or(Equal(v1alpha1.ReasonFighting), Equal(v1alpha1.ReasonConflict)))
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 5, Failed: 1}))
			e.end()
		})

	It("objects are deleted and created again: the new ones are another plan's matter", SpecTimeout(10*time.Minute),
		func(ctx context.Context) {
			e := begin("two targets deleted and created again mid-wave", manager)
			r := e.roll(ctx, fixable{6})
			manager.Proxy.Nth(1, r.target, faultproxy.Fault{After: func(q faultproxy.Request, _ faultproxy.Answer) {
				defer GinkgoRecover()
				replaced := 0
				for _, o := range fixture.ConfigMaps(r.namespace, 6) {
					if o.GetName() == q.Name || replaced == 2 {
						continue
					}
					replaced++
					Expect(suite.API.Delete(ctx, o)).To(Succeed())
					Expect(suite.API.Create(ctx, fixture.ConfigMap(r.namespace, o.GetName()))).To(Succeed())
				}
			}})
			r.start(ctx)
			Eventually(ctx, func() int { return len(suite.Plans(ctx, r.policyOf.Name)) }).Should(Equal(2))
			r.await(ctx, v1alpha1.PhaseSucceeded)
			first := suite.Plans(ctx, r.policyOf.Name)[0]
			Expect(first.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 4, Skipped: 2}))
			r.count(ctx, &first)
			e.end()
		})

	It("the webhook of another party denies the write that its dry run allowed: the target fails, nothing of ours is "+
		"left on it", SpecTimeout(10*time.Minute), func(ctx context.Context) {
		e := begin("another party's webhook denies one real write", manager)
		r := e.roll(ctx, fixable{6})
		var victim atomic.Value
		denyOnce(ctx, r.namespace, &victim)
		r.start(ctx)
		rem := r.await(ctx, v1alpha1.PhaseSucceeded)
		rec := suite.RecordOf(ctx, rem, victim.Load().(string))
		Expect(rec.State).To(Equal(v1alpha1.TargetFailed))
		Expect(rec.Reason).To(Equal(v1alpha1.ReasonAdmissionDenied))
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 5, Failed: 1}))
		denied := fixture.ConfigMap(r.namespace, victim.Load().(string))
		Expect(suite.Get(ctx, denied)).To(Succeed())
		Expect(denied.Data).To(Equal(map[string]string{"state": "bad", "patched": "0"}))
		e.end()
	})
})

// denyOnce runs a webhook that denies the third update of a ConfigMap that isn't
// a dry run, and keeps denying that object.
func denyOnce(ctx context.Context, namespace string, victim *atomic.Value) {
	GinkgoHelper()
	var updates atomic.Int32
	var asked atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		defer GinkgoRecover()
		asked.Store(true)
		var review admissionv1.AdmissionReview
		Expect(json.NewDecoder(q.Body).Decode(&review)).To(Succeed())
		written := review.Request.DryRun == nil || !*review.Request.DryRun
		if written && strings.HasSuffix(review.Request.UserInfo.Username, ":evenkeel") && updates.Add(1) == 3 {
			victim.Store(review.Request.Name)
		}
		name, chosen := victim.Load().(string)
		allowed := !written || !chosen || name != review.Request.Name
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: allowed,
			Result: &metav1.Status{Message: "not on a Friday", Code: http.StatusForbidden}}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		Expect(json.NewEncoder(w).Encode(review)).To(Succeed())
	}))
	DeferCleanup(server.Close)
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "another-party"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "deny.another-party.example", AdmissionReviewVersions: []string{"v1"},
			SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: ptr.To(server.URL), CABundle: rig.PEM(server.Certificate())},
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{
				{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
						Resources: []string{"configmaps"}}}},
		}}}
	suite.Create(ctx, config)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, config)).To(Succeed()) })
	Eventually(ctx, func(g Gomega) { // the API server takes a moment to learn of it
		list := &corev1.ConfigMapList{}
		g.Expect(suite.API.List(ctx, list, client.InNamespace(namespace),
			client.MatchingLabels(fixture.TargetLabels()))).To(Succeed())
		g.Expect(list.Items).NotTo(BeEmpty())
		g.Expect(suite.API.Update(ctx, &list.Items[0], client.DryRunAll)).To(Succeed())
		g.Expect(asked.Load()).To(BeTrue())
	}).Should(Succeed())
}

// forbidden waits until the API server has heard that the manager may not write ConfigMaps any more.
func forbidden(ctx context.Context, namespace string) {
	GinkgoHelper()
	manager, none := suite.AsManager(), fixture.ConfigMap(namespace, "none")
	Eventually(ctx, func() bool {
		return apierrors.IsForbidden(manager.Patch(ctx, none.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(`{}`)), client.DryRunAll))
	}).Should(BeTrue())
}
