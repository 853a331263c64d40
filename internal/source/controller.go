// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/source/access"
)

// soon is the least wait, and when to look again after somebody else has written.
const soon = time.Second

// recorder records an event; events.EventRecorder of client-go is one.
type recorder interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any)
}

// Controller brings the policies of each PolicySource into force. It runs on the
// leader only.
type Controller struct {
	options Options
	client  client.Client
	// reader reads past the cache.
	reader   client.Reader
	secrets  access.Secrets
	fetcher  Fetcher
	contents *contentCache
	allowed  access.Namespaces
	events   recorder
	metrics  *metrics
	clock    clock.PassiveClock
}

// Reconcile brings one source up to date: get, look, one write of the status.
func (c *Controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	// Past the cache: by an old status the repository would be asked again.
	src := &v1alpha1.PolicySource{}
	if err := c.reader.Get(ctx, request.NamespacedName, src); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if src.DeletionTimestamp != nil {
		return ctrl.Result{}, c.finalize(ctx, src)
	}
	if err := c.hold(ctx, src); err != nil {
		return again(err)
	}
	before, start := src.DeepCopy(), c.clock.Now()
	writer := kube.NewStatusWriter(c.client, src)
	seen, failed, err := c.sync(ctx, src)
	if err != nil {
		return again(err)
	}
	wait := conclude(src, seen, failed, start)
	if seen.waits > 0 {
		wait = min(wait, seen.waits)
	}
	if err := writer.Write(ctx, src, v1alpha1.FieldManager); err != nil {
		return again(err)
	}
	if spent(src, seen) {
		if err := c.forgetAcceptance(ctx, src); err != nil {
			return again(err)
		}
	}
	c.metrics.looked(seen, failed, c.clock.Since(start))
	c.announce(before, src, seen)
	if failed != nil && !failed.stalled {
		log.FromContext(ctx).Info("A policy source waits", "reason", failed.reason, "message", failed.message)
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// again tries again after an error of the API server: quietly when somebody else
// wrote meanwhile, and not at all when the source is gone.
func again(err error) (ctrl.Result, error) {
	if errors.Is(err, errConflict) || kube.Classify(err) == kube.Conflict {
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}
