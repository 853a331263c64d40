// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Update changes an object as a user, again if somebody else wrote it meanwhile: a
// controller writes the status of what is there, and that conflicts with an update.
func Update(ctx context.Context, as client.Client, o client.Object, change func()) {
	GinkgoHelper()
	update(ctx, as, o, change, as.Update)
}

// UpdateStatus changes an object's status, as Update does.
func UpdateStatus(ctx context.Context, as client.Client, o client.Object, change func()) {
	GinkgoHelper()
	update(ctx, as, o, change, func(ctx context.Context, o client.Object, _ ...client.UpdateOption) error {
		return as.Status().Update(ctx, o)
	})
}

func update(ctx context.Context, as client.Client, o client.Object, change func(),
	write func(context.Context, client.Object, ...client.UpdateOption) error) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(as.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		change()
		g.Expect(write(ctx, o)).To(Succeed())
	}).Should(Succeed())
}
