// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// RemoveBreaker deletes a breaker whatever its state. One that isn't closed can't be
// deleted: it is let go of, and closed, first.
func (r *Rig) RemoveBreaker(ctx context.Context, name string) {
	GinkgoHelper()
	manager := r.AsManager()
	Eventually(ctx, func() error {
		cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := r.Get(ctx, cb); err != nil {
			return client.IgnoreNotFound(err)
		}
		if cb.Spec.AsksOpen() {
			if err := r.API.Patch(ctx, cb,
				client.RawPatch(types.MergePatchType, []byte(`{"spec":{"mode":"Automatic","forcedOpenUntilTime":null}}`))); err != nil {
				return client.IgnoreNotFound(err)
			}
		}
		if !circuit.AtRest(cb, time.Now()) {
			cb.Status = v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerClosed}
			if err := manager.Status().Update(ctx, cb); err != nil {
				return client.IgnoreNotFound(err)
			}
		}
		return client.IgnoreNotFound(manager.Delete(ctx, cb))
	}).Should(Succeed())
}
