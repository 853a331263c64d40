// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// retryInterval is how long Start waits for a key that it couldn't read or make.
const retryInterval = 10 * time.Second

var _ manager.LeaderElectionRunnable = (*Keeper)(nil)

// NeedLeaderElection is true: of several managers one makes the key.
func (*Keeper) NeedLeaderElection() bool { return true }

// Start makes the key when there is none, and ends. The first plan may come much later, and
// what somebody else made until then would be taken for an earlier version's. Until the key is
// there it tries again; the manager doesn't end for it, as all that needs the key says so itself.
func (k *Keeper) Start(ctx context.Context) error {
	_ = wait.PollUntilContextCancel(ctx, retryInterval, true, func(ctx context.Context) (bool, error) {
		_, err := k.Key(ctx)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "The key of the records isn't there: nothing is planned or written")
		}
		return err == nil, nil
	})
	return nil
}
