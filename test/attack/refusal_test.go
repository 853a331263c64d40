// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// awaitRefusal waits until creating the object is refused for that reason: a
// policy that has just been written is in force a moment later.
func awaitRefusal(ctx context.Context, object client.Object, why any) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		return suite.API.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	}).Should(MatchError(why))
}
